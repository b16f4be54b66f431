"""How much of each check is run."""

import msgspec


class Plan(msgspec.Struct, frozen=True):
    """Numbers of items per check, and token limits.

    `latency_pairs` are pairs of runs (with memory, without), `long_runs` repetitions of checks that send long prompts.
    """

    facts: int = 49
    unrelated: int = 21
    paraphrases: int = 30
    chatter: int = 40
    concurrent_rounds: int = 3
    long_prompts: int = 6
    long_prompt_tokens: int = 2000
    dropped_streams: int = 4
    corrections: int = 16
    two_steps: int = 14
    asked_twice: int = 8
    tenants: int = 6
    latency_pairs: int = 9
    decode_tokens: int = 64
    long_runs: int = 3
    reply_tokens: int = 24
    told_tokens: int = 4

    def changed(self, **values: int) -> "Plan":
        """This plan with other numbers."""
        return msgspec.structs.replace(self, **values)


FULL = Plan()

QUICK = Plan(
    facts=6,
    unrelated=4,
    paraphrases=3,
    chatter=6,
    concurrent_rounds=1,
    long_prompts=2,
    long_prompt_tokens=500,
    dropped_streams=1,
    corrections=3,
    two_steps=2,
    asked_twice=2,
    tenants=1,
    latency_pairs=2,
    decode_tokens=20,
    long_runs=1,
    told_tokens=2,
)
