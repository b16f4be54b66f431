"""Markers found by sentinels, and messages found by markers."""

from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sglang_v14.content import find_messages
from sglang_v14.upgrade.template import Template, find_markers

from .conftest import tokenizer_for
from .templates import CASES, CHATML_DEFAULT, HEADERS, TOOLS_IN_USER_TURN, TemplateCase

TEXTS = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Cc"), include_characters="\n"), min_size=1, max_size=40
).filter(lambda text: text.strip() and "<" not in text and "[" not in text)
PLAIN = TEXTS.filter(lambda text: text == text.strip())


@cache
def markers_for(case: TemplateCase) -> Any:
    return find_markers(tokenizer_for(case))[0]


def texts_of(tokenizer: Any, tokens: list[int], role: str, markers: Any) -> list[str]:
    return [tokenizer.decode(tokens[m.start : m.end]) for m in find_messages(tokens, markers) if m.role == role]


def chat_of(case: TemplateCase, texts: list[str], with_system: bool) -> list[tuple[str, str]]:
    chat = [("system", texts[0])] if with_system and "system" in case.roles else []
    return [*chat, *((("user", "assistant")[n % 2], text) for n, text in enumerate(texts[1:]))]


@pytest.mark.parametrize("name", CASES)
def test_the_roles_of_each_template_are_found(name: str) -> None:
    markers, begin = find_markers(tokenizer_for(CASES[name]))
    assert set(markers) == set(CASES[name].roles)
    assert all(marker["start"] and marker["end"] for marker in markers.values())
    tokenizer = tokenizer_for(CASES[name])
    assert tokenizer.decode(begin) == CASES[name].bos


def test_markers_hold_the_template_tokens_and_no_more() -> None:
    tokenizer = tokenizer_for(HEADERS)
    markers, _ = find_markers(tokenizer)
    assert tokenizer.decode(markers["user"]["start"]) == "<|start_header_id|>user<|end_header_id|>\n\n"
    assert tokenizer.decode(markers["user"]["end"]) == "<|eot_id|>"
    tokenizer = tokenizer_for(CHATML_DEFAULT)
    markers, _ = find_markers(tokenizer)
    assert tokenizer.decode(markers["assistant"]["start"]) == "<|im_start|>assistant\n"
    assert tokenizer.decode(markers["system"]["end"]) == "<|im_end|>\n"


@pytest.mark.parametrize("name", CASES)
@given(texts=st.lists(PLAIN, min_size=2, max_size=6), with_system=st.booleans(), ask=st.booleans())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_message_of_a_random_chat_is_found(name: str, texts: list[str], with_system: bool, ask: bool) -> None:
    """Rendered, tokenised and found again, a chat gives back exactly its own texts."""
    case = CASES[name]
    tokenizer = tokenizer_for(case)
    markers = markers_for(case)
    chat = chat_of(case, texts, with_system)
    tokens = Template(tokenizer).render(tuple(chat), ask)
    assert tokens is not None
    for role in ("system", "user", "assistant"):
        expected = [text for speaker, text in chat if speaker == role]
        found = [text.strip() for text in texts_of(tokenizer, tokens, role, markers)]
        if ask and role == "assistant":
            found = [text for text in found if text.replace("\n", "") != "<think></think>"]
        if role == "system" and case is CHATML_DEFAULT and not expected:
            expected = ["Be brief."]
        assert found == expected


@pytest.mark.parametrize("name", CASES)
@given(text=TEXTS)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_white_space_at_the_edges_loses_no_message(name: str, text: str) -> None:
    """A text's first white space may be merged with the template's last: the message is found all the same."""
    tokenizer = tokenizer_for(CASES[name])
    markers = markers_for(CASES[name])
    tokens = Template(tokenizer).render((("user", text), ("assistant", "Yes."), ("user", "More.")), True)
    assert tokens is not None
    assert [found.strip() for found in texts_of(tokenizer, tokens, "user", markers)] == [text.strip(), "More."]


@given(results=st.lists(PLAIN, min_size=1, max_size=3))
@settings(max_examples=40, deadline=None)
def test_tool_results_inside_a_user_turn(results: list[str]) -> None:
    tokenizer = tokenizer_for(TOOLS_IN_USER_TURN)
    markers = markers_for(TOOLS_IN_USER_TURN)
    chat = (("user", "Look it up."), ("call", "A moment."), *(("tool", text) for text in results))
    tokens = Template(tokenizer).render(chat, True)
    assert tokens is not None
    assert [text.strip() for text in texts_of(tokenizer, tokens, "tool", markers)] == results
    assert [text.strip() for text in texts_of(tokenizer, tokens, "user", markers)] == ["Look it up."]


def test_without_a_template_there_are_no_markers() -> None:
    tokenizer = tokenizer_for(TemplateCase("", ("<s>",), (), "<s>"))
    assert find_markers(tokenizer) == ({}, [])


def test_a_template_that_takes_nothing_gives_no_markers() -> None:
    tokenizer = tokenizer_for(TemplateCase("{{ raise_exception('closed') }}", ("<s>",), ()))
    assert find_markers(tokenizer) == ({}, [])


def test_the_tool_role_is_left_out_where_the_template_does_not_name_it() -> None:
    tokenizer = tokenizer_for(CHATML_DEFAULT)
    assert Template(tokenizer).render((("user", "a"), ("tool", "b"))) is not None
    assert "tool" not in find_markers(tokenizer)[0]


def test_a_template_that_trims() -> None:
    """The header template trims its texts; the markers must come from what it prints, not from what was put in."""
    tokenizer = tokenizer_for(HEADERS)
    markers, _ = find_markers(tokenizer)
    tokens = Template(tokenizer).render((("user", "  padded  "),), True)
    assert tokens is not None
    assert texts_of(tokenizer, tokens, "user", markers) == ["padded"]
