"""``python -m sglang_v14.evals.functional``: the suite's command line."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markdown import Markdown
from rich.markup import escape

from . import report
from .checks import CHECKS
from .client import ChatClient, ServerUnreachable, SuiteError
from .plan import FULL, QUICK
from .preflight import examine
from .progress import ProgressBar
from .run import Run
from .suite import run_checks
from .texts import ENGLISH, Texts

_RESTART_SECONDS = 900.0
_USAGE_ERROR = 2

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


class MemoryField(StrEnum):
    """Whether requests carry the `memory` field, and whether the server must report on it."""

    REQUIRED = "required"
    OPTIONAL = "optional"
    ABSENT = "absent"


class TextSet(StrEnum):
    """The sets of texts: plain English, or the language that the tiny hybrid was trained on."""

    ENGLISH = "english"
    TINY_HYBRID = "tiny-hybrid"


@app.command()
def main(
    base_url: Annotated[str, typer.Option(help="The server, with or without /v1.")] = "http://127.0.0.1:8000",
    quick: Annotated[bool, typer.Option("--quick", help="A small slice of every check.")] = False,
    texts: Annotated[TextSet, typer.Option(help="What is told and asked.")] = TextSet.ENGLISH,
    texts_seed: Annotated[int, typer.Option(help="Of the tiny hybrid's texts, which are drawn at random.")] = 1,
    checks: Annotated[str, typer.Option(help=f"Comma-separated, of: {', '.join(CHECKS)}.")] = "",
    json_path: Annotated[Path | None, typer.Option("--json", help="Write everything, with every reply.")] = None,
    markdown_path: Annotated[Path | None, typer.Option("--markdown", help="Write the table.")] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Questions asked at once.")] = 4,
    server_log: Annotated[Path | None, typer.Option(exists=True, help="Look for tracebacks in this file.")] = None,
    restart_command: Annotated[str, typer.Option(help="A shell command that restarts the server.")] = "",
    model: Annotated[str | None, typer.Option(help="Default: the first model that the server lists.")] = None,
    api_key: Annotated[str | None, typer.Option(envvar="OPENAI_API_KEY", show_envvar=True)] = None,
    memory: Annotated[
        MemoryField,
        typer.Option(help="required: stop if no memory is reported; optional: go on; absent: never send the field."),
    ] = MemoryField.REQUIRED,
    shared_namespace: Annotated[bool, typer.Option("--shared-namespace", help="One memory for all checks.")] = False,
    chatter: Annotated[int | None, typer.Option(min=1, help="Unrelated chats before `later` asks.")] = None,
    long_prompt_tokens: Annotated[int | None, typer.Option(min=100, help="Length of the long prompts.")] = None,
    reply_tokens: Annotated[int | None, typer.Option(min=1, help="Most tokens of a reply.")] = None,
    extra_body: Annotated[str, typer.Option(help="JSON object that goes into every request.")] = "{}",
    require: Annotated[str, typer.Option(help="Checks whose goals must be met, else exit with 1.")] = "",
) -> None:
    """Check a server's memory over its OpenAI-compatible API and print a table.

    Exit codes: 0 done, 1 a goal of a required check was missed, 2 the run could not start or ended early.
    """
    console = Console(stderr=True)
    names = _names(checks) or list(CHECKS)
    required = _names(require)
    changes = {"chatter": chatter, "long_prompt_tokens": long_prompt_tokens, "reply_tokens": reply_tokens}
    plan = (QUICK if quick else FULL).changed(**{name: value for name, value in changes.items() if value is not None})
    client = ChatClient(
        base_url,
        model=model,
        api_key=api_key,
        extra_body=_object(extra_body),
        memory_field=memory is not MemoryField.ABSENT,
    )
    try:
        abilities = examine(client, require_report=memory is MemoryField.REQUIRED)
    except SuiteError as error:
        console.print(f"[red]error:[/red] {escape(str(error))}", highlight=False, soft_wrap=True)
        raise typer.Exit(_USAGE_ERROR) from error
    with ProgressBar(len(names)) as bar:
        run = Run(
            client,
            plan,
            texts=_texts(texts, texts_seed),
            abilities=abilities,
            concurrency=concurrency,
            shared_namespace=shared_namespace,
            restart=_restarter(client, restart_command) if restart_command else None,
            server_log=server_log,
            watcher=bar,
        )
        result = run_checks(run, names)
        run.close()
    client.close()
    table = report.markdown(result, quick=quick)
    if json_path:
        json_path.write_bytes(report.to_json(result))
    if markdown_path:
        markdown_path.write_text(table)
    if sys.stdout.isatty():
        Console().print(Markdown(table))
    else:
        print(table)
    if result.stopped:
        raise typer.Exit(_USAGE_ERROR)
    if missed := result.missed(required):
        console.print(f"[red]goal missed:[/red] {'; '.join(row.title for row in missed)}", highlight=False)
        raise typer.Exit(1)


def _texts(name: TextSet, seed: int) -> Texts:
    if name is TextSet.ENGLISH:
        return ENGLISH
    from ..tiny_hybrid.suite_texts import suite

    return suite(seed)


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if unknown := [name for name in names if name not in CHECKS]:
        raise typer.BadParameter(f"no check is called {', '.join(unknown)}; there are {', '.join(CHECKS)}")
    return names


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise typer.BadParameter(f"--extra-body is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise typer.BadParameter("--extra-body must be a JSON object")
    return value


def _restarter(client: ChatClient, command: str) -> Callable[[], None]:
    """Runs the command, then waits until the server answers a chat again."""

    def restart() -> None:
        done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
        if done.returncode:
            last = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["(no output)"]
            raise ServerUnreachable(f"the restart command ended with {done.returncode}: {last[0]}")
        deadline = time.monotonic() + _RESTART_SECONDS
        while True:
            try:
                client.chat("Say hello.", max_tokens=1)
                return
            except SuiteError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(1.0)

    return restart


if __name__ == "__main__":
    app()
