"""Progress of a run: which check is on, and how many requests are done."""

from types import TracebackType
from typing import Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


class Watcher(Protocol):
    """Told about every check and every request."""

    def check_started(self, name: str) -> None: ...

    def check_ended(self) -> None: ...

    def request_ended(self) -> None: ...


class Silent:
    """Shows nothing."""

    def check_started(self, name: str) -> None: ...

    def check_ended(self) -> None: ...

    def request_ended(self) -> None: ...


class ProgressBar:
    """A bar on standard error: checks done of all, the present check's name, requests so far."""

    def __init__(self, checks: int) -> None:
        self._requests = 0
        self._progress = Progress(
            TextColumn("{task.description:16}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[requests]} requests"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
        )
        self._task = self._progress.add_task("starting", total=checks, requests=0)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def check_started(self, name: str) -> None:
        self._progress.update(self._task, description=name)

    def check_ended(self) -> None:
        self._progress.advance(self._task)

    def request_ended(self) -> None:
        self._requests += 1
        self._progress.update(self._task, requests=self._requests)
