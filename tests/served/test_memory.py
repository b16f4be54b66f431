"""The main job on the real server: what one chat tells, another one is answered."""

import json
from typing import Any

import httpx
import pytest

from sglang_v14.evals.functional.client import ChatClient, Memory, Reply
from sglang_v14.evals.functional.texts.facts import FACTS
from sglang_v14.evals.functional.texts.unrelated import UNRELATED
from sglang_v14.evals.server import Server

SHORT = {"max_tokens": 24}
TOLD = "The code of the garage is 4417."
ASKED = "What is the code of the garage?"


def tell(client: ChatClient, text: str, memory: Memory) -> None:
    client.chat(text, memory=memory, max_tokens=1)


def recalled(reply: Reply) -> list[str]:
    assert reply.memory is not None
    return [event.text for event in reply.memory.recalled]


def test_a_fact_told_in_one_chat_is_answered_in_another(client: ChatClient, memory: Memory) -> None:
    """With memory off, the same question has no answer."""
    tell(client, TOLD, memory)
    reply = client.chat(ASKED, memory=memory, **SHORT)
    assert "4417" in reply.text
    assert recalled(reply) == [TOLD]
    assert "4417" not in client.chat(ASKED, memory=memory.off, **SHORT).text


def test_with_nothing_recalled_the_output_is_that_of_memory_off(client: ChatClient, memory: Memory) -> None:
    """Token by token, with twenty facts in the memory."""
    for fact in FACTS[:20]:
        tell(client, fact.statement, memory)
    untouched = 0
    for unrelated in UNRELATED[:8]:
        with_memory = client.chat(unrelated.question, memory=memory, logprobs=True, **SHORT)
        without = client.chat(unrelated.question, memory=memory.off, logprobs=True, **SHORT)
        if not recalled(with_memory):
            untouched += 1
            assert with_memory.text == without.text
            assert with_memory.token_ids == without.token_ids
    assert untouched >= 6


def test_ask_tell_ask(client: ChatClient, memory: Memory) -> None:
    """A question that was answered from the prefix cache before is read anew once its answer was told elsewhere."""
    before = [client.chat(ASKED, memory=memory, **SHORT) for _ in range(2)]
    assert all("4417" not in reply.text and not recalled(reply) for reply in before)
    tell(client, TOLD, memory)
    after = [client.chat(ASKED, memory=memory, **SHORT) for _ in range(2)]
    assert all("4417" in reply.text and recalled(reply) == [TOLD] for reply in after)


_OLD, _NEW = "The password of the cellar is Heron.", "The password of the cellar is Falcon."
_PASSWORD = "What is the password of the cellar?"


def _chat(*turns: str, system: str | None = None) -> list[dict[str, str]]:
    """The user's turns, with short answers between them."""
    messages = [{"role": "system", "content": system}] if system else []
    for turn in turns:
        messages += [{"role": "user", "content": turn}, {"role": "assistant", "content": "Okay, noted."}]
    return messages[:-1]


@pytest.mark.parametrize(
    "chats",
    [
        [*(_chat(greeting, _OLD) for greeting in ("Hello!", "Good day.", "Hey.", "Good morning.")), _chat("Hi!", _NEW)],
        [_chat(_OLD, _NEW)],
        [_chat(_OLD), _chat(_OLD, _NEW)],
        [
            _chat(_OLD, system="You help. It is 10:00."),
            _chat(_NEW),
            _chat(_OLD, "Thank you!", system="You help. It is 10:01 now."),
        ],
    ],
    ids=["told often", "in one chat", "turn by turn", "history under another system prompt"],
)
def test_the_newest_value_is_answered(client: ChatClient, memory: Memory, chats: list[list[dict[str, str]]]) -> None:
    """However the older one was told."""
    for chat in chats:
        client.chat(chat, memory=memory, max_tokens=1)
    reply = client.chat(_PASSWORD, memory=Memory(memory.namespace, "read"), **SHORT)
    assert "Falcon" in reply.text and "Heron" not in reply.text
    assert recalled(reply)[0] == _NEW


def test_facts_of_one_kind_are_kept_apart(client: ChatClient, memory: Memory) -> None:
    """Codes that share digits and words; none is a correction of another, nor the second step of a question."""
    doors = ("garage", "attic", "shed", "cellar", "barn", "tower")
    for number, door in enumerate(doors):
        tell(client, f"The code of the {door} is 2{number}{number}7.", memory)
    for number, door in enumerate(doors):
        asked = Memory(memory.namespace, "read")
        assert f"2{number}{number}7" in client.chat(f"What is the code of the {door}?", memory=asked, **SHORT).text


def test_what_was_computed_under_a_recall_is_nobody_elses_prefix(client: ChatClient, memory: Memory) -> None:
    """The same question with memory off, before and after it was answered with a recall, is answered alike."""
    before = client.chat(ASKED, memory=memory.off, **SHORT)
    tell(client, TOLD, memory)
    assert "4417" in client.chat(ASKED, memory=memory, **SHORT).text
    assert client.chat(ASKED, memory=memory.off, **SHORT).text == before.text
    other = Memory(memory.namespace + "-other")
    assert "4417" not in client.chat(ASKED, memory=other, **SHORT).text


def test_namespaces_are_apart(client: ChatClient, memory: Memory) -> None:
    """Nothing of one namespace is recalled in another, even under a name that begins alike."""
    tell(client, TOLD, memory)
    for name in (memory.namespace + "x", memory.namespace[:-1], memory.namespace.upper()):
        reply = client.chat(ASKED, memory=Memory(name), **SHORT)
        assert not recalled(reply) and "4417" not in reply.text


def test_modes(client: ChatClient, memory: Memory) -> None:
    """`read` stores nothing, `write` recalls nothing, `off` does neither."""
    tell(client, TOLD, Memory(memory.namespace, "read"))
    tell(client, TOLD, memory.off)
    assert not recalled(client.chat(ASKED, memory=Memory(memory.namespace, "read"), **SHORT))
    tell(client, TOLD, Memory(memory.namespace, "write"))
    written = client.chat(ASKED, memory=Memory(memory.namespace, "write"), **SHORT)
    assert written.memory is None and "4417" not in written.text
    assert recalled(client.chat(ASKED, memory=Memory(memory.namespace, "read"), **SHORT)) == [TOLD]


def test_a_conversation_goes_on(client: ChatClient, memory: Memory) -> None:
    """Earlier turns are not stored again, and what stands in the prompt is not recalled into it."""
    messages = [{"role": "user", "content": TOLD}, {"role": "assistant", "content": "I will remember it."}]
    tell(client, TOLD, memory)
    before = client.store_stats()
    reply = client.chat([*messages, {"role": "user", "content": ASKED}], memory=memory, **SHORT)
    assert recalled(reply) == []
    client.chat("Good morning!", memory=memory.off, max_tokens=1)
    after = client.store_stats()
    assert before is not None and after is not None
    assert after.events == before.events + 1


def test_completions_and_generate(server: Server, memory: Memory) -> None:
    """The memory field works on all three routes, and the report comes back."""
    tell_field = {"namespace": memory.namespace}
    field = {**tell_field, "report": True}
    told = "Note: the lighthouse keeper is called Berthold.\n"
    asked = "Note: the lighthouse keeper is called"
    model = httpx.get(f"{server.base_url}/v1/models").json()["data"][0]["id"]

    def post(path: str, body: dict[str, Any]) -> dict[str, Any]:
        response = httpx.post(f"{server.base_url}{path}", json=body, timeout=120)
        assert response.status_code == 200, response.text
        return dict(response.json())

    post("/v1/completions", {"model": model, "prompt": told, "max_tokens": 1, "memory": tell_field})
    body = {"model": model, "prompt": asked, "max_tokens": 6, "temperature": 0, "memory": field}
    answer = post("/v1/completions", body)
    assert "Berthold" in answer["choices"][0]["text"]
    assert "Berthold" in answer["sglext"]["memory"]["recalled"][0]["text"]
    native = {"text": asked, "sampling_params": {"max_new_tokens": 6, "temperature": 0}, "memory": field}
    generated = post("/generate", native)
    assert "Berthold" in generated["text"]
    assert "Berthold" in generated["meta_info"]["memory"][0]["recalled"][0]["text"]


def test_a_streamed_answer_reports_its_recall(client: ChatClient, memory: Memory) -> None:
    tell(client, TOLD, memory)
    reply = client.stream(ASKED, memory=memory, **SHORT)
    assert "4417" in reply.text
    assert recalled(reply) == [TOLD]


@pytest.mark.parametrize(
    ("field", "named"),
    [
        ({"mode": "sometimes"}, "mode"),
        ({"namespace": ""}, "namespace"),
        ({"namespace": "x" * 201}, "namespace"),
        ({"namespaces": "a"}, "namespaces"),
        ("on", "memory"),
    ],
)
def test_a_wrong_memory_field_is_refused(server: Server, field: Any, named: str) -> None:
    """With status 400 and the field's name; nothing is stored."""
    body = {"model": "x", "messages": [{"role": "user", "content": TOLD}], "memory": field}
    response = httpx.post(f"{server.base_url}/v1/chat/completions", json=body, timeout=60)
    assert response.status_code == 400
    assert named in json.dumps(response.json())


def test_a_long_prompt_is_read_in_chunks_and_remembered(client: ChatClient, memory: Memory) -> None:
    """A fact in the middle of a document is answered in a new chat."""
    filler = " ".join(f"On day {n} the crew loaded {3 * n} crates and sailed on." for n in range(1, 60))
    tell(client, f"{filler} The name of the harbour cat is Quibble. {filler}", memory)
    reply = client.chat("What is the name of the harbour cat?", memory=memory, **SHORT)
    assert any("Quibble" in text for text in recalled(reply))
