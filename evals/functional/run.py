"""One run of the suite: its namespaces, what was told in them, and the ways to tell and ask."""

import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from .client import ChatClient, Memory, Reply
from .plan import Plan
from .progress import Silent, Watcher
from .texts import ENGLISH, Texts
from .texts.facts import Fact

_STOP = ["\n"]
_SETTLE_SECONDS = 0.3


class Abilities(msgspec.Struct, frozen=True):
    """What the server was found to understand beyond plain chat completions."""

    token_ids: bool = False
    ignore_eos: bool = False
    memory_reports: bool = False


class Run:
    """What the checks work with.

    Every purpose has a namespace of its own (one for all with `shared_namespace`), named at random, thus empty.
    `restart` restarts the server and returns when it answers again.
    """

    def __init__(
        self,
        client: ChatClient,
        plan: Plan,
        *,
        texts: Texts = ENGLISH,
        abilities: Abilities = Abilities(),  # noqa: B008 - frozen
        concurrency: int = 4,
        shared_namespace: bool = False,
        restart: Callable[[], None] | None = None,
        server_log: Path | None = None,
        watcher: Watcher | None = None,
    ) -> None:
        self.client = client
        self.plan = plan
        self.texts = texts
        self.abilities = abilities
        self.restart = restart
        self.server_log = server_log
        self.watcher = watcher or Silent()
        self.base_namespace = f"suite-{secrets.token_hex(6)}"
        self.log_start_bytes = server_log.stat().st_size if server_log and server_log.exists() else 0
        self._shared_namespace = shared_namespace
        self._pool = ThreadPoolExecutor(max_workers=max(1, concurrency))
        self._without_memory: dict[str, dict[str, Reply]] = {}
        self._told: set[tuple[str, str]] = set()
        self._numbers = iter(range(101, 1_000_000))

    def close(self) -> None:
        self._pool.shutdown()

    def memory(self, purpose: str) -> Memory:
        """The memory of one purpose, read and written."""
        return Memory(self.base_namespace if self._shared_namespace else f"{self.base_namespace}-{purpose}")

    @property
    def can_be_off(self) -> bool:
        """Whether the memory can be switched off per request."""
        return self.client.memory_field

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The facts that this run tells."""
        return self.texts.facts[: self.plan.facts]

    def next_number(self) -> int:
        """A number that no earlier prompt of this run began with: prompts behind two numbers share no prefix cache."""
        return next(self._numbers)

    def settle(self) -> None:
        """Let background work of the last request end, before a time is measured."""
        time.sleep(_SETTLE_SECONDS)

    def tell(self, statements: Iterable[str], memory: Memory) -> None:
        """Tell each statement in a chat of its own, several at once, and return when all were answered.

        What this run has told in the namespace already is not told again.
        """
        new = [text for text in statements if (memory.namespace, text) not in self._told]
        list(self._pool.map(lambda text: self.ask(text, memory, max_tokens=self.plan.told_tokens), new))
        self._told.update((memory.namespace, text) for text in new)

    def ask(self, content: str | list[dict[str, str]], memory: Memory, **body: object) -> Reply:
        """One chat of its own."""
        reply = self.client.chat(
            content, memory=memory, **{"max_tokens": self.plan.reply_tokens, "stop": _STOP, **body}
        )
        self.watcher.request_ended()
        return reply

    def ask_all(self, prompts: Sequence[str], memory: Memory) -> list[Reply]:
        """A chat for each prompt, several at once."""
        return list(self._pool.map(lambda prompt: self.ask(prompt, memory), prompts))

    def ask_all_without_memory(self, prompts: Sequence[str], memory: Memory) -> list[Reply]:
        """As `ask_all` in the same namespace with the memory off.

        A prompt asked so before is not sent again: whatever was told since, the answer is the same.
        """
        known = self._without_memory.setdefault(memory.namespace, {})
        new = [prompt for prompt in dict.fromkeys(prompts) if prompt not in known]
        known.update(zip(new, self.ask_all(new, memory.off), strict=True))
        return [known[prompt] for prompt in prompts]

    def stream(self, content: str | list[dict[str, str]], memory: Memory, **body: object) -> Reply:
        """One streamed chat, for its times."""
        reply = self.client.stream(content, memory=memory, **{"max_tokens": self.plan.reply_tokens, **body})
        self.watcher.request_ended()
        return reply
