"""The suite's tables: enough of everything, and no value that could be right by accident."""

import re

import pytest

from sglang_v14.evals.functional.plan import FULL, QUICK
from sglang_v14.evals.functional.scoring import contains_any
from sglang_v14.evals.functional.texts.chatter import CHATTER
from sglang_v14.evals.functional.texts.corrections import CORRECTIONS
from sglang_v14.evals.functional.texts.documents import harbour_log
from sglang_v14.evals.functional.texts.facts import FACTS
from sglang_v14.evals.functional.texts.tenants import TENANTS
from sglang_v14.evals.functional.texts.two_steps import TWO_STEPS
from sglang_v14.evals.functional.texts.unrelated import UNRELATED

VALUES = [
    *(fact.answers for fact in FACTS),
    *(answers for item in CORRECTIONS for answers in (item.old_answers, item.new_answers)),
    *(item.answers for item in TWO_STEPS),
    *(answers for item in TENANTS for answers in item.answers),
]
QUESTIONS = [
    *((fact.question, fact.answers) for fact in FACTS),
    *((fact.paraphrase, fact.answers) for fact in FACTS if fact.paraphrase),
    *((item.question, item.old_answers + item.new_answers) for item in CORRECTIONS),
    *((item.question, item.answers) for item in TWO_STEPS),
    *((item.question, item.answers[0] + item.answers[1]) for item in TENANTS),
    *((item.question, item.answers) for item in UNRELATED),
]
SMALL_WORDS = """
a an the my our me i do does did is are was be of in on at to from with for what which who where how
"""
STATEMENTS = [
    *(fact.statement for fact in FACTS),
    *(text for item in CORRECTIONS for text in (item.old_statement, item.new_statement)),
    *(text for item in TWO_STEPS for text in (item.first, item.second)),
    *(text for item in TENANTS for text in item.statements),
]


def test_there_is_enough_of_everything():
    assert len(FACTS) >= 40
    assert len(UNRELATED) >= 20
    assert len(CORRECTIONS) >= 16
    assert len(TWO_STEPS) >= 14
    assert sum(fact.paraphrase is not None for fact in FACTS) >= 25
    assert len(CHATTER) >= 40


def test_the_full_plan_uses_all_of_it():
    assert (FULL.facts, FULL.unrelated, FULL.corrections) == (len(FACTS), len(UNRELATED), len(CORRECTIONS))
    assert (FULL.two_steps, FULL.tenants, FULL.chatter) == (len(TWO_STEPS), len(TENANTS), len(CHATTER))
    assert FULL.paraphrases == sum(fact.paraphrase is not None for fact in FACTS)


def test_the_quick_plan_has_a_paraphrase_for_each_that_it_asks():
    assert sum(fact.paraphrase is not None for fact in FACTS[: QUICK.facts]) >= QUICK.paraphrases


def test_no_two_facts_share_a_value():
    flat = [answer.lower() for answers in VALUES for answer in answers]
    assert len(flat) == len(set(flat))


@pytest.mark.parametrize(("question", "answers"), QUESTIONS)
def test_no_question_contains_its_answer(question, answers):
    assert not contains_any(question, answers)


@pytest.mark.parametrize("answers", VALUES)
def test_a_value_stands_in_the_statements_that_tell_it_and_in_no_other_text(answers):
    telling = [text for text in STATEMENTS if contains_any(text, answers)]
    assert len(telling) == 1
    log = harbour_log(60_000, seed=5)
    assert not any(contains_any(text, answers) for text in (*CHATTER, *(q for q, _ in QUESTIONS), log))


def test_a_paraphrase_uses_other_words():
    """At most half of the words that carry meaning are those of the statement or the question."""
    small = set(re.findall(r"\w+", SMALL_WORDS))
    for fact in FACTS:
        if fact.paraphrase:
            told = set(re.findall(r"\w+", f"{fact.statement} {fact.question}".lower())) - small
            asked = set(re.findall(r"\w+", fact.paraphrase.lower())) - small
            assert len(asked & told) <= len(asked) / 2, fact.paraphrase


def test_two_step_questions_name_neither_the_link_nor_the_value():
    for item in TWO_STEPS:
        name = item.second.split()[0].removesuffix("'s")
        link = item.second.split()[1] if name in ("The", "Mr.") else name
        assert link in item.first
        assert link not in item.question


def test_texts_are_told_and_asked_once():
    questions = [question for question, _ in QUESTIONS]
    assert len(questions) == len(set(questions))
    assert len(STATEMENTS) == len(set(STATEMENTS))
    assert len(CHATTER) == len(set(CHATTER))


def test_a_log_has_its_sentence_in_the_middle_and_the_length_asked_for():
    text = harbour_log(2000, seed=1, sentence="My dog is called Rumba.")
    assert 0.4 < text.index("My dog") / len(text) < 0.6
    assert 1200 < len(text.split()) < 2000
    assert len(harbour_log(4000, seed=1)) > 1.8 * len(text)


def test_logs_of_two_seeds_differ_from_the_start():
    first, second = harbour_log(500, seed=1), harbour_log(500, seed=2)
    assert first[:40] != second[:40]
    assert harbour_log(500, seed=1) == first
