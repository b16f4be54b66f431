"""Facts asked for after the server was stopped and started again."""

from ..result import Row
from ..run import Run
from . import facts

_TITLE = "Facts after a restart of the server"


def check(run: Run) -> list[Row]:
    if run.restart is None:
        return [Row("restart", _TITLE, goal=facts.GOAL, note="skipped: no restart command given")]
    run.tell((fact.statement for fact in run.facts), run.memory(facts.PURPOSE))
    run.restart()
    return [facts.asked(run, "restart", _TITLE)]
