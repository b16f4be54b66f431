"""The `memory` field of HTTP requests, and the report in their responses.

SGLang's request models drop unknown fields, but all of them carry `custom_params` to the scheduler. An ASGI layer
moves `memory` there before SGLang reads the body, and puts what was recalled into the response's `sglext` when the
client asked for it.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from .options import OptionError, RequestMemory, request_memory

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_OPENAI_PATHS = frozenset({"/v1/chat/completions", "/v1/completions"})
_NATIVE_PATHS = frozenset({"/generate"})
_SCOPE_KEY = "sglang_v14.reports"
_DONE = b"data: [DONE]"


class MemoryField:
    """ASGI middleware around SGLang's app."""

    def __init__(self, app: Callable[[Scope, Receive, Send], Awaitable[None]]) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if scope["type"] != "http" or scope.get("method") != "POST" or path not in _OPENAI_PATHS | _NATIVE_PATHS:
            await self._app(scope, receive, send)
            return
        body, disconnected = await _whole_body(receive)
        memory = None
        # A name may be escaped, too.
        if b'"memory"' in body or b"\\u" in body:
            try:
                body, memory = _moved(body, native=path in _NATIVE_PATHS)
            except OptionError as error:
                await _refuse(send, str(error))
                return
        replay = _Replay(body, disconnected, receive)
        if memory is None or not memory.report or path in _NATIVE_PATHS:
            await self._app(scope, replay, send)
            return
        reports: dict[int, Any] = {}
        scope[_SCOPE_KEY] = reports
        await self._app(scope, replay, _Reporting(send, reports))


def hear(response: MutableMapping[str, Any], http_request: Any, place: int) -> None:
    """Keep the report of a response's `meta_info` for the HTTP request that it answers; `place` counts its prompts and
    choices."""
    report = (response.get("meta_info") or {}).get("memory") or ()
    reports = getattr(http_request, "scope", {}).get(_SCOPE_KEY)
    if reports is not None:
        # A later piece of a stream says more than an earlier one, or nothing.
        said = next((item for item in reversed(report) if item is not None), None)
        reports[place] = said or reports.get(place)


async def _whole_body(receive: Receive) -> tuple[bytes, bool]:
    chunks = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return b"".join(chunks), True
        chunks.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(chunks), False


def _moved(body: bytes, *, native: bool) -> tuple[bytes, RequestMemory | None]:
    """Move the top-level `memory` into `custom_params`. A body that is not a JSON object is left for SGLang to
    refuse."""
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        return body, None
    if not isinstance(fields, dict) or "memory" not in fields:
        return body, None
    field = fields.pop("memory")
    memory = request_memory(field)
    holders = [fields]
    if native:
        sampling = fields["sampling_params"] = fields.get("sampling_params") or {}
        holders = sampling if isinstance(sampling, list) else [sampling]
    for holder in holders:
        if not isinstance(holder, dict):
            raise OptionError("`sampling_params` must be an object, or a list of objects, to take a `memory` with it.")
        custom = holder.get("custom_params") or {}
        if not isinstance(custom, dict):
            raise OptionError("`custom_params` must be an object to take a `memory` with it.")
        holder["custom_params"] = {**custom, "memory": field or {}}
    return json.dumps(fields).encode(), memory


async def _refuse(send: Send, message: str) -> None:
    body = json.dumps(
        {"error": {"message": message, "type": "BadRequestError", "param": "memory", "code": 400}}
    ).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 400, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class _Replay:
    """Hands a body that was read already to the app, then what else comes."""

    def __init__(self, body: bytes, disconnected: bool, receive: Receive) -> None:
        self._first: Message | None = {"type": "http.request", "body": body, "more_body": False}
        self._disconnected, self._receive = disconnected, receive

    async def __call__(self) -> Message:
        if (message := self._first) is not None:
            self._first = None
            return message
        return {"type": "http.disconnect"} if self._disconnected else await self._receive()


class _Reporting:
    """Puts the report into a JSON response, or in front of the end of an event stream."""

    def __init__(self, send: Send, reports: dict[int, Any]) -> None:
        self._send, self._reports = send, reports
        self._start: Message | None = None
        self._body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = dict(message.get("headers", ()))
            if headers.get(b"content-type", b"").startswith(b"application/json"):
                self._start = message
            else:
                await self._send(message)
            return
        if message["type"] != "http.response.body":
            await self._send(message)
        elif self._start is not None:
            self._body += message.get("body", b"")
            if not message.get("more_body"):
                await self._answer(self._start)
        else:
            await self._send({**message, "body": self._with_event(message.get("body", b""))})

    async def _answer(self, start: Message) -> None:
        body = self._body
        if any(self._reports.values()) and start["status"] == 200:
            answer = json.loads(body)
            answer["sglext"] = {**(answer.get("sglext") or {}), "memory": self._report()}
            body = json.dumps(answer, ensure_ascii=False).encode()
        headers = [(name, value) for name, value in start.get("headers", ()) if name.lower() != b"content-length"]
        await self._send({**start, "headers": [*headers, (b"content-length", str(len(body)).encode())]})
        await self._send({"type": "http.response.body", "body": body})

    def _with_event(self, body: bytes) -> bytes:
        # SGLang sends the end as a piece of its own, so that these words inside an answer are not taken for it.
        if not body.startswith(_DONE) or not any(self._reports.values()):
            return body
        event = json.dumps(
            {"object": "memory", "choices": [], "sglext": {"memory": self._report()}}, ensure_ascii=False
        )
        return f"data: {event}\n\n".encode() + body

    def _report(self) -> Any:
        reports = [self._reports[place] for place in sorted(self._reports)]
        return reports[0] if len(reports) == 1 else reports
