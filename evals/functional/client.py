"""A small client of OpenAI-compatible chat servers; the one place that knows how the memory is asked for and reported.

The memory is asked for with the body field ``"memory": {"namespace": …, "mode": …, "report": true}``; what was
recalled comes back as ``sglext.memory`` of the response or of its first choice. Where a server reports nothing,
`Reply.memory` is None.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import msgspec


class SuiteError(Exception):
    """Something that stops the suite; the message is meant for the person who started it."""


class ServerUnreachable(SuiteError):
    """Nothing answers at the base URL, or the connection broke."""


class NotAChatServer(SuiteError):
    """Something answers at the base URL, but not as an OpenAI-compatible chat server."""


class RequestRefused(SuiteError):
    """The server answered a request with an error status."""

    def __init__(self, status: int, body: str) -> None:
        super().__init__(f"the server answered {status}: {_first_line(body)}")
        self.status = status


class MemoryUnavailable(SuiteError):
    """The server does not know the `memory` field, or serves this model without a memory."""


class Memory(msgspec.Struct, frozen=True):
    """Whose memory a request uses, and how: `mode` is "off", "read", "write" or "on" (both)."""

    namespace: str
    mode: str = "on"

    @property
    def off(self) -> "Memory":
        """The same namespace, neither read nor written."""
        return Memory(self.namespace, "off")


class Recalled(msgspec.Struct, frozen=True):
    """One recalled event: its id in hexadecimal, its vote, its text."""

    event: str
    vote: float
    text: str


class Candidate(msgspec.Struct, frozen=True):
    """An event that had one of the best votes, recalled or not."""

    vote: float
    text: str


class MemoryReport(msgspec.Struct, frozen=True):
    """What the server says about one request: events recalled, best first, readings of the prompt, the best votes."""

    recalled: tuple[Recalled, ...] = ()
    readings: int = 1
    best_votes: tuple[Candidate, ...] = ()


class Reply(msgspec.Struct, frozen=True):
    """One answer. `token_ids`, `cached_tokens` and `memory` are None where the server does not report them."""

    text: str
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    first_token_seconds: float | None = None
    token_ids: tuple[int, ...] | None = None
    cached_tokens: int | None = None
    memory: MemoryReport | None = None

    @property
    def tokens_per_second(self) -> float | None:
        """Decode speed behind the first token; None when fewer than two tokens were streamed."""
        if self.first_token_seconds is None or self.completion_tokens < 2:
            return None
        return (self.completion_tokens - 1) / max(self.seconds - self.first_token_seconds, 1e-9)

    def same_output(self, other: "Reply") -> bool:
        """Whether both replies have the same tokens (the same text where the server reports no token ids)."""
        if self.token_ids is not None and other.token_ids is not None:
            return self.token_ids == other.token_ids
        return self.text == other.text


class StoreStats(msgspec.Struct, frozen=True):
    """Size of the whole store."""

    events: int
    tokens: int
    bytes: int


class ChatClient:
    """Requests to one server; safe to use from several threads.

    `extra_body` goes into every request, `memory_field` False leaves the `memory` field out of all of them.
    """

    def __init__(
        self,
        base_url: str,
        *,
        model: str | None = None,
        api_key: str | None = None,
        extra_body: dict[str, Any] | None = None,
        memory_field: bool = True,
        timeout_seconds: float = 300.0,
    ) -> None:
        self.root = base_url.rstrip("/").removesuffix("/v1")
        self.memory_field = memory_field
        self._model = model
        self._extra_body = dict(extra_body or {})
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
        # Environment proxies are ignored: a suite that measures a server's latency must talk to it directly.
        self._http = httpx.Client(headers=headers, timeout=timeout_seconds, limits=limits, trust_env=False)

    @property
    def model(self) -> str:
        """The served model's name (asked for once)."""
        if self._model is None:
            self._model = self._first_model()
        return self._model

    def close(self) -> None:
        self._http.close()

    def _first_model(self) -> str:
        url = f"{self.root}/v1/models"
        try:
            response = self._http.get(url)
        except httpx.HTTPError as error:
            raise ServerUnreachable(f"no server answers at {self.root}: {error}") from error
        try:
            return str(response.json()["data"][0]["id"])
        except (ValueError, LookupError, TypeError) as error:
            raise NotAChatServer(
                f"{url} answered {response.status_code} without a list of models: is {self.root} the base URL of an "
                "OpenAI-compatible server?"
            ) from error

    def chat(self, content: str | list[dict[str, str]], *, memory: Memory | None = None, **body: Any) -> Reply:
        """One chat completion. `content` is a user message or a list of messages; `body` goes into the request.

        Raises RequestRefused on an error status, ServerUnreachable when the connection fails, NotAChatServer on a reply
        of another shape.
        """
        started = time.perf_counter()
        try:
            response = self._http.post(self._chat_url, json=self._body(content, memory, body))
        except httpx.HTTPError as error:
            raise ServerUnreachable(f"the connection to {self.root} failed: {error!r}") from error
        seconds = time.perf_counter() - started
        if response.is_error:
            raise RequestRefused(response.status_code, response.text)
        try:
            payload = response.json()
            text = payload["choices"][0]["message"]["content"] or ""
        except (ValueError, LookupError, TypeError) as error:
            raise NotAChatServer(f"{self._chat_url} answered without a chat completion") from error
        usage = payload.get("usage") or {}
        return Reply(
            text=text,
            prompt_tokens=usage.get("prompt_tokens", 0),
            completion_tokens=usage.get("completion_tokens", 0),
            seconds=seconds,
            token_ids=_token_ids(payload),
            cached_tokens=_cached_tokens(usage),
            memory=memory_report(payload),
        )

    def stream(self, content: str | list[dict[str, str]], *, memory: Memory | None = None, **body: Any) -> Reply:
        """One streamed chat completion, with the time of its first and last token. Raises as `chat` does."""
        options = {"stream": True, "stream_options": {"include_usage": True}}
        pieces: list[str] = []
        usage: dict[str, Any] = {}
        report: MemoryReport | None = None
        first = last = None
        started = time.perf_counter()
        with self._events(self._body(content, memory, {**body, **options})) as events:
            for payload in events:
                usage = payload.get("usage") or usage
                report = memory_report(payload) or report
                piece = _delta_text(payload)
                if piece:
                    last = time.perf_counter() - started
                    first = last if first is None else first
                    pieces.append(piece)
        return Reply(
            text="".join(pieces),
            prompt_tokens=usage.get("prompt_tokens", 0),
            completion_tokens=usage.get("completion_tokens", len(pieces)),
            seconds=time.perf_counter() - started if last is None else last,
            first_token_seconds=first,
            cached_tokens=_cached_tokens(usage),
            memory=report,
        )

    def drop_stream(self, content: str, *, memory: Memory | None = None, **body: Any) -> None:
        """Start a streamed completion and close the connection after the first piece of text."""
        with self._events(self._body(content, memory, {**body, "stream": True})) as events:
            for payload in events:
                if _delta_text(payload):
                    return

    def store_stats(self) -> StoreStats | None:
        """Size of the server's store, None when the server has no `/v14/stats`."""
        try:
            response = self._http.get(f"{self.root}/v14/stats")
            if response.is_error:
                return None
            return msgspec.convert(response.json(), StoreStats, strict=False)
        except (httpx.HTTPError, ValueError):
            return None

    @property
    def _chat_url(self) -> str:
        return f"{self.root}/v1/chat/completions"

    def _body(self, content: str | list[dict[str, str]], memory: Memory | None, body: dict[str, Any]) -> dict[str, Any]:
        messages = [{"role": "user", "content": content}] if isinstance(content, str) else content
        merged = {"model": self.model, "messages": messages, "temperature": 0, **self._extra_body, **body}
        if memory is not None and self.memory_field:
            merged["memory"] = {"namespace": memory.namespace, "mode": memory.mode, "report": True}
        return merged

    @contextmanager
    def _events(self, body: dict[str, Any]) -> Iterator[Iterator[dict[str, Any]]]:
        """The payloads of a server-sent event stream; leaving the context closes the connection."""
        try:
            with self._http.stream("POST", self._chat_url, json=body) as response:
                if response.is_error:
                    response.read()
                    raise RequestRefused(response.status_code, response.text)
                yield _payloads(response.iter_lines())
        except httpx.HTTPError as error:
            raise ServerUnreachable(f"the connection to {self.root} failed: {error!r}") from error


def memory_report(payload: dict[str, Any]) -> MemoryReport | None:
    """What a response says about its memory, None when it says nothing.

    Raises NotAChatServer when it says it in another shape, so that a change of the shape is not mistaken for silence.
    """
    choices = payload.get("choices") or [{}]
    for holder in (payload, choices[0]):
        extension = holder.get("sglext") or {}
        if extension.get("memory") is not None:
            try:
                return msgspec.convert(extension["memory"], MemoryReport, strict=False)
            except msgspec.ValidationError as error:
                raise NotAChatServer(f"the server's memory report has an unknown shape: {error}") from error
    return None


def _payloads(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        data = line.removeprefix("data:").strip()
        if not line.startswith("data:") or not data or data == "[DONE]":
            continue
        try:
            payload = json.loads(data)
        except ValueError as error:
            raise NotAChatServer(f"the stream holds something that is not JSON: {data[:80]!r}") from error
        if "error" in payload:
            raise RequestRefused(int((payload["error"] or {}).get("code") or 500), json.dumps(payload["error"]))
        yield payload


def _delta_text(payload: dict[str, Any]) -> str:
    choices = payload.get("choices") or []
    return (choices[0].get("delta") or {}).get("content") or "" if choices else ""


def _token_ids(payload: dict[str, Any]) -> tuple[int, ...] | None:
    ids = (payload.get("sglext") or {}).get("output_ids")
    return tuple(ids[0]) if ids else None


def _cached_tokens(usage: dict[str, Any]) -> int | None:
    return (usage.get("prompt_tokens_details") or {}).get("cached_tokens")


def _first_line(body: str) -> str:
    try:
        payload = json.loads(body)
        error = payload.get("error") or payload
        return str(error.get("message") or error)[:300]
    except (ValueError, AttributeError):
        return body.strip().splitlines()[0][:300] if body.strip() else "(no explanation)"
