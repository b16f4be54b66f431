"""Facts and unrelated questions again, after many unrelated chats."""

from ..result import Row
from ..run import Run
from . import facts, unrelated


def check(run: Run) -> list[Row]:
    memory = run.memory(facts.PURPOSE)
    chats = run.texts.chatter[: run.plan.chatter]
    run.tell((fact.statement for fact in run.facts), memory)
    run.tell(chats, memory)
    after = f"after {len(chats)} unrelated chats"
    return [
        facts.asked(run, "later", f"Facts {after}"),
        *unrelated.asked(run, "later", f"Unrelated questions {after}"),
    ]
