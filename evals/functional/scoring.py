"""Whether a reply contains an accepted answer."""

import re
from collections.abc import Iterable


def contains_any(text: str, answers: Iterable[str]) -> bool:
    """Whether one of `answers` stands in `text` as whole words, whatever the case."""
    return any(re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", text, re.IGNORECASE) for answer in answers)
