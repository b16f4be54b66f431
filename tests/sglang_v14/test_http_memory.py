"""The `memory` field around a small app that answers as SGLang does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from sglang_v14.http_memory import MemoryField, hear

CHAT, COMPLETIONS, GENERATE = "/v1/chat/completions", "/v1/completions", "/generate"
REPORT = {"recalled": [{"text": "Die Katze heißt Minka."}], "readings": 2}
DONE = b"data: [DONE]\n\n"
GONE = {"type": "http.disconnect", "from": "the server"}


class App:
    """Reads the body, lets `hear` know of `report`, and answers with `pieces`."""

    def __init__(
        self,
        pieces: Sequence[bytes] = (b'{"id": "x"}',),
        *,
        content_type: bytes = b"application/json",
        status: int = 200,
        report: Any = None,
        others: Sequence[Any] = (),
    ) -> None:
        self.pieces, self.content_type, self.status, self.reports = pieces, content_type, status, [report, *others]
        self.called = False
        self.body = b""
        self.next: dict[str, Any] | None = None

    async def __call__(self, scope: Any, receive: Callable[[], Any], send: Callable[[Any], Any]) -> None:
        self.called = True
        while True:
            message = await receive()
            if message["type"] != "http.request":
                break
            self.body += message["body"]
            if not message.get("more_body"):
                break
        for n, report in enumerate(self.reports):
            hear({"meta_info": {"memory": report}}, SimpleNamespace(scope=scope), n)
        headers = [(b"content-type", self.content_type)]
        if self.content_type == b"application/json":
            headers.append((b"content-length", str(sum(map(len, self.pieces))).encode()))
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        for piece in self.pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
        self.next = await receive()


class Answer:
    """What a client gets."""

    def __init__(self, sent: list[Any]) -> None:
        self.starts = [message for message in sent if message["type"] == "http.response.start"]
        self.pieces = [message["body"] for message in sent if message["type"] == "http.response.body"]
        self.body = b"".join(self.pieces)
        self.headers = dict(self.starts[0]["headers"]) if self.starts else {}

    @property
    def status(self) -> int:
        (start,) = self.starts
        return int(start["status"])


def post(app: App, path: str, body: Any, *, pieces: int = 1, cut: bool = False, **scope: Any) -> Answer:
    """Send `body` (JSON unless bytes) in so many pieces; `cut` disconnects before the last one."""
    whole = body if isinstance(body, bytes) else json.dumps(body).encode()
    step = -(-len(whole) // pieces) or 1
    chunks = [whole[i : i + step] for i in range(0, len(whole), step)] or [b""]
    messages = [{"type": "http.request", "body": c, "more_body": i + 1 < len(chunks)} for i, c in enumerate(chunks)]
    if cut:
        messages = messages[:-1]
    sent: list[Any] = []

    messages.append(GONE)

    async def receive() -> Any:
        assert messages, "asked again after the disconnect"
        return messages.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(MemoryField(app)({"type": "http", "method": "POST", "path": path, **scope}, receive, send))
    return Answer(sent)


# What SGLang gets


@pytest.mark.parametrize("path", [CHAT, COMPLETIONS])
def test_the_field_moves_to_custom_params(path: str) -> None:
    """At the top of OpenAI bodies, beside what stands there already; nothing else changes."""
    app = App()
    body = {"model": "m", "messages": ["Grüße 🐈"], "temperature": 0.1, "custom_params": {"other": 1}}
    post(app, path, {**body, "memory": {"namespace": "älice"}})
    assert json.loads(app.body) == {**body, "custom_params": {"other": 1, "memory": {"namespace": "älice"}}}


def test_generate() -> None:
    """Native requests keep their custom params inside the sampling params."""
    app = App()
    post(app, GENERATE, {"text": "a", "sampling_params": {"temperature": 0}, "memory": {"mode": "read"}})
    params = {"temperature": 0, "custom_params": {"memory": {"mode": "read"}}}
    assert json.loads(app.body) == {"text": "a", "sampling_params": params}
    app = App()
    post(app, GENERATE, {"text": "a", "memory": {"mode": "off"}})
    assert json.loads(app.body)["sampling_params"] == {"custom_params": {"memory": {"mode": "off"}}}


def test_generate_with_several_sampling_params() -> None:
    """Each of them gets the field."""
    app = App()
    params = [{"n": 1}, {"custom_params": {"other": 1}}]
    post(app, GENERATE, {"text": ["a", "b"], "sampling_params": params, "memory": {"namespace": "x"}})
    memory = {"namespace": "x"}
    expected = [{"n": 1, "custom_params": {"memory": memory}}, {"custom_params": {"other": 1, "memory": memory}}]
    assert json.loads(app.body)["sampling_params"] == expected


@pytest.mark.parametrize("field", [None, {}])
def test_an_empty_field(field: Any) -> None:
    """It asks for the defaults."""
    app = App()
    post(app, CHAT, {"model": "m", "memory": field})
    assert json.loads(app.body) == {"model": "m", "custom_params": {"memory": {}}}


def test_a_body_in_pieces() -> None:
    """The field is found across the pieces of a body, and the app gets one body."""
    app = App()
    post(app, CHAT, {"model": "m", "memory": {"namespace": "alice"}}, pieces=9)
    assert json.loads(app.body) == {"model": "m", "custom_params": {"memory": {"namespace": "alice"}}}


@pytest.mark.parametrize(
    "body",
    [
        b'{"model":  "m" , "x": 1.50}',
        b'{"messages": [{"memory": {"mode": 5}}], "n":  1}',
        b'{"prompt": "say \\"memory\\" twice", "memory": 3',
        b'["memory"]',
        b'"memory"',
        b"\xff\xfe\x00",
        b"",
    ],
    ids=["no field", "not at the top", "no JSON", "a list", "a string", "no text", "empty"],
)
def test_bodies_that_are_left_alone(body: bytes) -> None:
    """They reach the app byte for byte: SGLang answers them as it always does."""
    app = App()
    answer = post(app, CHAT, body, pieces=2)
    assert app.body == body
    assert answer.body == b'{"id": "x"}'


@pytest.mark.parametrize(
    ("path", "method", "kind"),
    [
        ("/v1/embeddings", "POST", "http"),
        ("/health", "POST", "http"),
        (CHAT, "PUT", "http"),
        (CHAT, "POST", "websocket"),
    ],
)
def test_other_requests_are_left_alone(path: str, method: str, kind: str) -> None:
    """Other paths, methods and protocols are handed on with the very same functions."""
    seen: list[Any] = []

    async def app(*given: Any) -> None:
        seen.extend(given)

    async def receive() -> Any:
        raise AssertionError("read by the middleware")

    async def send(message: Any) -> None:
        raise AssertionError("answered by the middleware")

    scope = {"type": kind, "method": method, "path": path}
    asyncio.run(MemoryField(app)(scope, receive, send))
    assert seen == [scope, receive, send]


def test_lifespan() -> None:
    """A scope without a path is handed on."""
    seen: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope)

    asyncio.run(MemoryField(app)({"type": "lifespan"}, None, None))  # type: ignore[arg-type]
    assert seen == [{"type": "lifespan"}]


# Faults


@pytest.mark.parametrize(
    ("path", "body", "named"),
    [
        (CHAT, {"memory": {"mode": "sometimes"}}, "mode"),
        (CHAT, {"memory": "alice"}, "memory"),
        (COMPLETIONS, {"memory": {"namespace": "\ud800"}}, "namespace"),
        (GENERATE, {"memory": {"user": "alice"}}, "user"),
        (GENERATE, {"memory": {}, "sampling_params": [1]}, "sampling_params"),
        (GENERATE, {"memory": {}, "sampling_params": "x"}, "sampling_params"),
    ],
)
def test_a_wrong_field_is_a_bad_request(path: str, body: Any, named: str) -> None:
    """The client gets 400 in OpenAI's form, and the app never hears of it."""
    app = App()
    answer = post(app, path, body)
    assert not app.called
    assert answer.status == 400
    assert answer.headers[b"content-type"] == b"application/json"
    assert answer.headers[b"content-length"] == str(len(answer.body)).encode()
    error = json.loads(answer.body)["error"]
    assert named in error["message"]
    assert (error["param"], error["code"]) == ("memory", 400)


def test_generate_without_sampling_params() -> None:
    """SGLang takes null for none, with a `memory` as without."""
    app = App()
    assert post(app, GENERATE, {"text": "a", "sampling_params": None, "memory": {}}).status == 200


@pytest.mark.parametrize("custom_params", [5, "abc", [1]])
def test_custom_params_of_another_type(custom_params: Any) -> None:
    """It is the client's fault, and no crash of the request."""
    assert post(App(), CHAT, {"memory": {}, "custom_params": custom_params}).status == 400


def test_a_surrogate_in_the_mode() -> None:
    """It is the client's fault too."""
    assert post(App(), CHAT, b'{"memory": {"mode": "\\ud800"}}').status == 400


def test_disconnect_before_the_body_is_whole() -> None:
    """The app learns that the client is gone."""
    app = App()
    post(app, CHAT, {"model": "m", "memory": {"namespace": "alice"}}, pieces=3, cut=True)
    assert app.next == {"type": "http.disconnect"}


def test_disconnect_while_answering() -> None:
    """What comes behind the body reaches the app."""
    app = App()
    post(app, CHAT, {"model": "m", "memory": {"namespace": "alice"}})
    assert app.next is GONE


# The report

ASKING = {"model": "m", "memory": {"report": True}}


@pytest.mark.parametrize("path", [CHAT, COMPLETIONS])
def test_report_in_a_response(path: str) -> None:
    """It stands in the extension object, and the length says so."""
    answer = post(App([b'{"id": "x", "sglext": {"a": 1}, ', b'"t": "\xc3\xbc"}'], report=[REPORT, None]), path, ASKING)
    assert json.loads(answer.body) == {"id": "x", "sglext": {"a": 1, "memory": REPORT}, "t": "ü"}
    assert answer.headers[b"content-length"] == str(len(answer.body)).encode()
    assert answer.headers[b"content-type"] == b"application/json"
    assert answer.status == 200


@pytest.mark.parametrize("path", [CHAT, COMPLETIONS])
def test_report_in_a_stream(path: str) -> None:
    """It is an event of its own right before the end; all other pieces come through one by one, unchanged."""
    pieces = [b'data: {"choices": [1]}\n\n', b'data: {"choices": [2]}\n\n', DONE]
    answer = post(App(pieces, content_type=b"text/event-stream; charset=utf-8", report=[REPORT]), path, ASKING)
    assert answer.pieces[:2] == pieces[:2]
    *events, last = answer.body.decode().split("\n\n")[:-1]
    assert last == "data: [DONE]"
    report = json.loads(events[-1].removeprefix("data: "))
    assert report["sglext"] == {"memory": REPORT}
    assert report["choices"] == []
    assert len(events) == 3


def test_an_end_that_shares_a_piece() -> None:
    """SGLang sends the end alone; what does not look like that is left as it is."""
    pieces = [b'data: {"choices": [1]}\n\n' + DONE]
    answer = post(App(pieces, content_type=b"text/event-stream", report=[REPORT]), CHAT, ASKING)
    assert answer.body == pieces[0]


def test_an_answer_that_speaks_of_the_end() -> None:
    """A model that writes about event streams must not break its own."""
    pieces = [b'data: {"text": "it ends with data: [DONE]"}\n\n', DONE]
    answer = post(App(pieces, content_type=b"text/event-stream", report=[REPORT]), CHAT, ASKING)
    assert answer.pieces[0] == pieces[0]
    assert answer.body.count(b"Minka") == 1


@pytest.mark.parametrize(
    ("path", "body", "report"),
    [
        (CHAT, {"model": "m", "memory": {}}, [REPORT]),
        (CHAT, {"model": "m"}, [REPORT]),
        (CHAT, ASKING, None),
        (CHAT, ASKING, []),
        (CHAT, ASKING, [None]),
        (GENERATE, ASKING, [REPORT]),
    ],
    ids=["not asked for", "no field", "no report", "empty", "of a later token", "in the response's own meta_info"],
)
@pytest.mark.parametrize("content_type", [b"application/json", b"text/event-stream"])
def test_no_report(path: str, body: Any, report: Any, content_type: bytes) -> None:
    """The response comes through as it is."""
    pieces = [b'{"id": "x", ', b'"t":  "y"}'] if content_type == b"application/json" else [b"data: 1\n\n", DONE]
    answer = post(App(pieces, content_type=content_type, report=report), path, body)
    assert answer.body == b"".join(pieces)
    if content_type == b"application/json":
        assert answer.headers[b"content-length"] == str(len(answer.body)).encode()


def test_error_responses_carry_no_report() -> None:
    """SGLang's own errors come through as they are."""
    answer = post(App([b'{"error": 1}'], status=400, report=[REPORT]), CHAT, ASKING)
    assert answer.status == 400
    assert answer.body == b'{"error": 1}'


def test_several_choices_or_prompts() -> None:
    """Each has a report of its own, in order; null where nothing was decided."""
    other = {"recalled": [], "readings": 1}
    answer = post(App(report=[None, REPORT], others=[None, [other, None]]), CHAT, ASKING)
    assert json.loads(answer.body)["sglext"]["memory"] == [REPORT, None, other]


def test_hear_without_a_request() -> None:
    """Offline use and requests that did not ask keep nothing and are no error."""
    response = {"meta_info": {"memory": [REPORT]}}
    hear(response, None, 0)
    hear(response, SimpleNamespace(scope={}), 0)
    hear({}, SimpleNamespace(scope={}), 0)
