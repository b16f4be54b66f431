"""The tiny model's chats: nothing held out is trained on, every gold answer is right, and nothing is ambiguous."""

import random

import jinja2
import pytest

from sglang_v14.evals.functional.scoring import contains_any
from sglang_v14.evals.tiny_hybrid import chats, frames, words
from sglang_v14.evals.tiny_hybrid.knowledge import KNOWLEDGE
from sglang_v14.evals.tiny_hybrid.relations import RELATIONS
from sglang_v14.evals.tiny_hybrid.suite_texts import suite
from sglang_v14.evals.tiny_hybrid.telling import UNKNOWN_MARKS
from sglang_v14.evals.tiny_hybrid.template import CHAT_TEMPLATE, DEFAULT_SYSTEM, render
from sglang_v14.evals.tiny_hybrid.words import HELDOUT, TRAIN

DRAWS = 40
CHATS = [chats.training_chat(random.Random(seed)) for seed in range(300)]
JUDGED = [(sample, *judged) for sample in CHATS for judged in sample.judged]


def drawn(split: str, task: str) -> list[chats.Sample]:
    rng = random.Random(f"{split} {task}")
    return [chats.sample(rng, split, task) for _ in range(8 if task == "document" else DRAWS)]


def told_before(sample: chats.Sample, index: int) -> str:
    return " ".join(message["content"] for message in sample.messages[:index] if message["role"] == "user")


def test_there_is_enough_of_everything():
    assert len(RELATIONS) >= 36
    assert len(KNOWLEDGE) >= 90
    for relation in RELATIONS:
        assert len(relation.wordings) >= 3, relation.key
        for wording in relation.wordings:
            for style in range(3):
                for split in (TRAIN, HELDOUT):
                    assert wording.tell[split][style], wording.templates
                    assert wording.ask[split][style] + wording.indirect[split][style], wording.templates


@pytest.mark.parametrize("kind", words.VALUES)
def test_values_of_the_splits_never_overlap(kind):
    rng = random.Random(kind)
    train, heldout = ({words.VALUES[kind](rng, split).accept for _ in range(400)} for split in (TRAIN, HELDOUT))
    assert len(heldout) >= 2
    assert not train & heldout


def test_names_of_the_splits_never_overlap():
    rng = random.Random(1)
    train, heldout = ({words.name(rng, split) for _ in range(2000)} for split in (TRAIN, HELDOUT))
    assert not train & heldout
    assert len(heldout) > 1500


def test_templates_and_frames_of_the_splits_never_overlap():
    for table in (frames.STATEMENTS, frames.CORRECTIONS, frames.DIRECT, frames.INDIRECT):
        assert not set(table[TRAIN]) & set(table[HELDOUT])
    for relation in RELATIONS:
        for wording in relation.wordings:
            for table in (wording.tell, wording.ask, wording.indirect):
                for style in range(3):
                    assert not set(table[TRAIN][style]) & set(table[HELDOUT][style])
    for known in KNOWLEDGE:
        assert len(set(known.questions[TRAIN])) >= 3
        assert len(set(known.questions[HELDOUT]) - set(known.questions[TRAIN])) == 1


def test_held_out_phrasings_are_made_of_words_that_training_has():
    """A tiny model knows no word that it never saw."""

    def seen(texts):
        return {word.strip(".,:?{}").lower() for text in texts for word in text.split()}

    tables = [
        [text for r in RELATIONS for w in r.wordings for t in (w.tell, w.ask, w.indirect) for text in sum(t[split], ())]
        + [text for table in (frames.STATEMENTS, frames.CORRECTIONS, frames.INDIRECT) for text in table[split]]
        + [text for text, _ in frames.DIRECT[split]]
        + [text for known in KNOWLEDGE for text in known.questions[split]]
        for split in (TRAIN, HELDOUT)
    ]
    assert seen(tables[1]) - seen(tables[0]) == set()


@pytest.mark.parametrize("task", chats.TASKS)
def test_the_same_seed_gives_the_same_chat(task):
    first, second, other = (chats.sample(random.Random(seed), HELDOUT, task) for seed in (5, 5, 6))
    assert first == second != other


def test_training_is_deterministic():
    for make in (chats.training_chat, chats.training_document):
        assert make(random.Random(3)) == make(random.Random(3))


@pytest.mark.parametrize("split", [TRAIN, HELDOUT])
@pytest.mark.parametrize("task", chats.TASKS)
def test_gold_answers_are_right(split, task):
    for sample in drawn(split, task):
        ((index, accepted, wrong),) = sample.judged
        answer = sample.messages[index]["content"]
        assert index == len(sample.messages) - 1
        assert contains_any(answer, accepted), answer
        assert not contains_any(answer, wrong), answer
        told = contains_any(told_before(sample, index), accepted)
        if task == "unknown":
            assert contains_any(answer, UNKNOWN_MARKS)
        elif task != "knowledge":
            assert told, sample.messages
        if task == "correction":
            assert wrong and contains_any(told_before(sample, index), wrong)


def test_gold_answers_in_training_are_right():
    for sample, index, accepted, wrong in JUDGED:
        answer = sample.messages[index]["content"]
        assert sample.messages[index]["role"] == "assistant"
        assert contains_any(answer, accepted), answer
        assert not contains_any(answer, wrong), answer


def test_nothing_told_answers_an_unknown_question():
    """In one chat the same question is answered or not, by what was told: its words return in an answer only later."""
    for sample, index, accepted, _ in JUDGED:
        if accepted == UNKNOWN_MARKS:
            question = sample.messages[index - 1]["content"].split(". ")[-1]
            before = [message["content"] for message in sample.messages[:index]]
            answered = [j for j, known, _ in sample.judged if j < index and known != UNKNOWN_MARKS]
            assert not any(before[j - 1].split(". ")[-1] == question for j in answered)


def test_acknowledgements_tell_nothing():
    values = {value for _, _, accepted, _ in JUDGED for value in accepted}
    for text in (*frames.ACKNOWLEDGEMENTS, *frames.CORRECTED):
        assert not contains_any(text, values - set(UNKNOWN_MARKS))


def test_messages_are_whole_sentences():
    for sample in CHATS:
        roles = [message["role"] for message in sample.messages if message["role"] != "system"]
        assert roles == ["user", "assistant"] * (len(roles) // 2)
        for message in sample.messages:
            text = message["content"]
            assert text[-1] in ".?" and text[0] == text[0].upper(), text
            assert not set("{}[]|") & set(text) and "  " not in text, text


def test_training_shares():
    unknown = sum(accepted == UNKNOWN_MARKS for _, _, accepted, _ in JUDGED) / len(JUDGED)
    assert 0.05 < unknown < 0.14
    systems = [sample.messages[0]["content"] if sample.messages[0]["role"] == "system" else None for sample in CHATS]
    assert 0.6 < systems.count(DEFAULT_SYSTEM) / len(systems) < 0.8
    assert 0.05 < systems.count(None) / len(systems) < 0.16


def test_training_documents_are_long():
    drawn = [chats.training_document(random.Random(seed)) for seed in range(12)]
    words = [sum(len(message["content"].split()) for message in sample.messages) for sample in drawn]
    assert all(100 < number < 1630 for number in words)
    assert sum(number > 1050 for number in words) > 2
    assert all(len(sample.judged) >= 3 for sample in drawn)


@pytest.mark.parametrize("prompt", [False, True])
def test_rendering_is_the_template(prompt):
    template = jinja2.Environment(keep_trailing_newline=True).from_string(CHAT_TEMPLATE)
    bare = [{"role": "user", "content": "Marlo lives in Oslin."}]
    for messages in [bare, *(sample.messages for sample in CHATS[:40])]:
        assert render(messages, prompt) == template.render(messages=messages, add_generation_prompt=prompt)
    assert DEFAULT_SYSTEM in render(bare)
    assert render(bare, default_system=False) == "<|im_start|>user\nMarlo lives in Oslin.<|im_end|>\n"


def test_the_suite_is_complete_and_nothing_in_it_clashes():
    texts = suite(1)
    assert texts == suite(1) != suite(2)
    assert (len(texts.facts), len(texts.corrections), len(texts.two_steps), len(texts.unrelated)) == (49, 16, 14, 21)
    assert (len(texts.tenants), len(texts.chatter)) == (12, 400)
    assert sum(fact.paraphrase is not None for fact in texts.facts) == 30
    told = [
        *((fact.statement, fact.question, fact.answers) for fact in texts.facts),
        *((item.new_statement, item.question, item.new_answers) for item in texts.corrections),
        *((f"{item.first} {item.second}", item.question, item.answers) for item in texts.two_steps),
        *((item.statements[i], item.question, item.answers[i]) for item in texts.tenants for i in range(2)),
    ]
    for statement, question, answers in told:
        assert contains_any(statement, answers), statement
        assert not contains_any(question, answers), question
        assert sum(contains_any(other, answers) for other, _, _ in told) == 1, answers
        assert not any(contains_any(text, answers) for text in texts.chatter), answers
    for item in texts.corrections:
        assert contains_any(item.old_statement, item.old_answers)
        assert not contains_any(item.new_statement, item.old_answers)
    sentence = texts.facts[0].statement
    document = texts.document(2000, 1, sentence)
    assert 0.4 < document.index(sentence) / len(document) < 0.6
    assert document == texts.document(2000, 1, sentence) != texts.document(2000, 2, sentence)
