"""``python -m sglang_v14.evals.demo``: the main job, shown on a real server.

Facts are told in chats of their own and asked for in others, with memory and without; then the server is stopped,
started again, and asked once more.
"""

import os
import tempfile
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.markup import escape
from rich.status import Status
from rich.table import Table
from rich.text import Text

from .functional.client import ChatClient, Memory, Reply, SuiteError
from .functional.preflight import examine
from .functional.scoring import contains_any
from .functional.texts.facts import FACTS
from .functional.texts.unrelated import UNRELATED
from .server import Server, ServerFailed, serve_command

_FACTS = ("dog", "sister", "garage", "holiday", "doctor", "bus")
_UNRELATED = UNRELATED[:2]
_BODY = {"max_tokens": 24, "stop": ["\n"]}
_LEAST_RIGHT = 0.8  # of the facts: a small model does not answer every one even with the fact in its prompt

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


class Asked(msgspec.Struct, frozen=True):
    """One question of the demonstration with its replies; `accepted` is empty for an unrelated question."""

    question: str
    accepted: tuple[str, ...]
    memory: Reply
    off: Reply

    @property
    def right(self) -> bool:
        return contains_any(self.memory.text, self.accepted)

    @property
    def guessed(self) -> bool:
        return contains_any(self.off.text, self.accepted)

    @property
    def recalled(self) -> str:
        """The recalled texts with their votes, one a line."""
        events = self.memory.memory.recalled if self.memory.memory else ()
        return "\n".join(f"{event.vote:.2f}  {event.text}" for event in events) or "nothing"


@app.command()
def main(
    model: Annotated[Path, typer.Option(exists=True, file_okay=False, help="A V14 model directory.")],
    memory_home: Annotated[Path, typer.Option(help="Where the memory is kept; made when missing.")],
    port: Annotated[int, typer.Option(help="Port of 127.0.0.1 to serve on.")] = 30014,
    log: Annotated[Path | None, typer.Option(help="The server's log. Default: a new temporary file.")] = None,
) -> None:
    """Tell facts in some chats, ask in others, restart the server, ask again.

    Exit codes: 0 the memory worked, 1 it did not or the server failed.
    """
    console = Console()
    memory_home.mkdir(parents=True, exist_ok=True)
    log = log or Path(tempfile.mkdtemp(prefix="sglang-v14-demo-")) / "server.log"
    try:
        with console.status("starting the server …") as status:
            worked = _demonstrate(console, status, _server(model, memory_home, port, log, status))
    except (ServerFailed, SuiteError) as error:
        console.print(f"[red]error:[/red] {escape(str(error))}", highlight=False, soft_wrap=True)
        console.print(f"The server's log: {log}", highlight=False, soft_wrap=True)
        raise typer.Exit(1) from error
    if not worked:
        console.print(f"[red]The memory did not work.[/red] The server's log: {log}", highlight=False, soft_wrap=True)
        raise typer.Exit(1)


def _server(model: Path, memory_home: Path, port: int, log: Path, status: Status) -> Server:
    return Server(
        serve_command(model, port),
        port=port,
        log=log,
        environment={"SGLANG_V14_MEMORY_HOME": str(memory_home), "SGLANG_V14_MEMORY": "1"},
        on_log_line=lambda line: status.update(f"starting the server … {escape(line[-90:])}"),
    )


def _demonstrate(console: Console, status: Status, server: Server) -> bool:
    """Whether facts were answered in both rounds, none with memory off."""
    memory = Memory(f"demo-{os.urandom(4).hex()}")
    with server:
        client = ChatClient(server.base_url)
        examine(client)
        facts = [fact for fact in FACTS if fact.key in _FACTS]
        for i, fact in enumerate(facts, 1):
            status.update(f"telling fact {i} of {len(facts)} in a chat of its own …")
            reply = client.chat(fact.statement, memory=memory, **_BODY)
            console.print(Text.assemble(("told: ", "dim"), fact.statement, (f" → {reply.text}", "dim")))
        first = _ask(client, memory, status)
        console.print(_table("Asked in new chats", first))
        status.update("stopping the server …")
        server.stop()
        status.update("starting the server again …")
        server.start()
        again = _ask(client, memory, status)
        console.print(_table("Asked again after a restart of the server", again))
        client.close()
        status.update("stopping the server …")
    return worked(first) and worked(again)


def _ask(client: ChatClient, memory: Memory, status: Status) -> list[Asked]:
    questions = [(fact.question, fact.answers) for fact in FACTS if fact.key in _FACTS]
    questions += [(item.question, ()) for item in _UNRELATED]
    asked = []
    for i, (question, accepted) in enumerate(questions, 1):
        status.update(f"asking question {i} of {len(questions)} in a chat of its own …")
        on = client.chat(question, memory=memory, **_BODY)
        off = client.chat(question, memory=Memory(memory.namespace, "off"), **_BODY)
        asked.append(Asked(question, accepted, on, off))
    return asked


def worked(asked: list[Asked]) -> bool:
    """Whether most facts were answered, and none of them with memory off."""
    facts = [item for item in asked if item.accepted]
    return sum(item.right for item in facts) >= _LEAST_RIGHT * len(facts) and not any(item.guessed for item in facts)


def _table(title: str, asked: list[Asked]) -> Table:
    table = Table(title=title, show_lines=True, title_justify="left")
    for heading in ("Question", "Answer with memory", "Answer with memory off", "Recalled: vote, text"):
        table.add_column(heading, overflow="fold")
    for item in asked:
        colour = "" if not item.accepted else "green" if item.right else "red"
        table.add_row(item.question, Text(item.memory.text, colour), Text(item.off.text), Text(item.recalled))
    return table


if __name__ == "__main__":
    app()
