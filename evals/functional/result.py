"""What a run of the suite yields: rows of three columns, with every single case behind them."""

import statistics
from collections.abc import Sequence

import msgspec

from .client import Recalled
from .plan import Plan


class Score(msgspec.Struct, frozen=True, tag="score"):
    """So many of so many."""

    count: int
    of: int

    @property
    def fraction(self) -> float:
        return self.count / self.of if self.of else 0.0

    def __str__(self) -> str:
        return f"{self.count} / {self.of}"


class Measure(msgspec.Struct, frozen=True, tag="measure"):
    """The median of a measured quantity."""

    value: float
    unit: str

    def __str__(self) -> str:
        digits = 0 if self.value >= 100 else 1 if self.value >= 10 else 2 if self.value >= 1 else 3
        return f"{self.value:,.{digits}f} {self.unit}"


Cell = Score | Measure


class Case(msgspec.Struct, frozen=True):
    """One question of a check: what was accepted, and what was answered in each column."""

    question: str
    accepted: tuple[str, ...]
    memory: str
    same_prompt: str | None = None
    off: str | None = None
    recalled: tuple[Recalled, ...] | None = None


class Row(msgspec.Struct, frozen=True):
    """One line of the table. `met` is None where no goal is set or it could not be judged; `note` then says why."""

    check: str
    title: str
    memory: Cell | None = None
    same_prompt: Cell | None = None
    off: Cell | None = None
    goal: str | None = None
    met: bool | None = None
    note: str = ""
    cases: tuple[Case, ...] = ()


class Result(msgspec.Struct, frozen=True):
    """A whole run. `stopped` holds the error that ended it early."""

    base_url: str
    model: str
    date: str
    plan: Plan
    seconds: float
    namespace: str
    rows: tuple[Row, ...]
    stopped: str | None = None

    def missed(self, checks: Sequence[str]) -> list[Row]:
        """Rows of these checks whose goal was missed or could not be judged."""
        return [row for row in self.rows if row.check in checks and row.goal and row.met is not True]


def median(values: Sequence[float], unit: str) -> Measure | None:
    """The median as a cell, None of nothing."""
    return Measure(statistics.median(values), unit) if values else None
