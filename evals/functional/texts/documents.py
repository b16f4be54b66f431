"""Long prompts: a harbour log of any length, different for every seed, with a sentence put in the middle."""

import random

_SHIPS = ("cutter", "barge", "trawler", "tug", "schooner", "launch", "dredger", "steamer", "yacht", "freighter")
_CARGO = ("timber", "gravel", "wheat", "coal", "bricks", "barley", "cement", "apples", "cables", "salt")
_ACTS = (
    "came alongside and unloaded {cargo} until the tide turned",
    "left the basin with {cargo} on deck and a light wind behind her",
    "waited outside the lock because the {cargo} on the quay blocked her berth",
    "took on water and {cargo} before the crew went ashore",
    "was towed to the yard after the {cargo} had shifted in the swell",
    "signalled for a berth and reported {cargo} in the forward hold",
)
_SKIES = ("fog over the outer pier", "a clear sky", "drizzle from the west", "low cloud", "a strong ebb", "calm water")
_TOKENS_PER_ENTRY = 21  # measured with SmolLM2's tokenizer


def harbour_log(tokens: int, seed: int, sentence: str | None = None) -> str:
    """About `tokens` tokens of log entries; `sentence` stands in the middle as an entry of its own.

    The same seed gives the same text, another seed a text that differs from its first entry on (so that no prefix cache
    serves one for the other).
    """
    draw = random.Random(seed)
    entries = [f"Harbour log, volume {draw.randrange(10_000, 99_999)}."]
    for _ in range(max(1, tokens // _TOKENS_PER_ENTRY)):
        act = draw.choice(_ACTS).format(cargo=draw.choice(_CARGO))
        entries.append(f"At {draw.choice(_SKIES)} the {draw.choice(_SHIPS)} {act}.")
    if sentence is not None:
        entries.insert(1 + len(entries) // 2, sentence)
    return " ".join(entries)
