"""Whole words, any case."""

import pytest

from sglang_v14.evals.functional.scoring import contains_any


@pytest.mark.parametrize(
    ("text", "answer", "found"),
    [
        ("It is called rumba!", "Rumba", True),
        ("It is called Rumbas.", "Rumba", False),
        ("The code is 8352.", "8352", True),
        ("The code is 83521.", "8352", False),
        ("At 22:45.", "22:45", True),
        ("A blue\nwhale", "whale", True),
        ("", "Rumba", False),
    ],
)
def test_contains(text, answer, found):
    assert contains_any(text, (answer,)) is found
