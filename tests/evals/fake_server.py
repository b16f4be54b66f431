"""A chat server with a made-up model that knows exactly what it is shown, and memories of every quality."""

import json
import threading
import time
import zlib
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from sglang_v14.evals.functional.texts.corrections import CORRECTIONS
from sglang_v14.evals.functional.texts.facts import FACTS
from sglang_v14.evals.functional.texts.tenants import TENANTS
from sglang_v14.evals.functional.texts.two_steps import TWO_STEPS
from sglang_v14.evals.functional.texts.unrelated import UNRELATED


@dataclass
class Behaviour:
    """How the fake server's memory behaves; the defaults are a perfect memory."""

    remembers: bool = True
    leaks: bool = False  # every namespace reads every other one's
    leaks_recall_only: bool = False  # recalled across namespaces, though never answered from
    answers_unasked: bool = False  # uses the memory with mode "off"
    recalls_always: bool = False
    prefers_old: bool = False  # of two versions of a fact
    one_hop: bool = False  # never finds the second of two facts
    same_words_only: bool = False  # finds no paraphrase
    caches_replies: bool = False  # a dishonest prefix cache: the same prompt gets the same reply
    forgets_on_restart: bool = False
    forgets_after: int | None = None  # so many later chats
    loses_concurrent: bool = False  # a chat is not stored while another is being answered
    longest_event: int | None = None  # characters of a message that are stored
    drops_dropped: bool = False  # dies for a while when a stream is dropped
    altered_output: bool = False  # with memory on, unrelated answers get another wording
    reports: bool = True
    refuses_memory: bool = False
    refuses_extras: bool = False
    stats: bool = True
    read_seconds: float = 0.0  # more time to the first token with memory on
    recall_seconds: float = 0.0  # more time to the first token with a recall
    token_seconds: float = 0.0  # more time for each token with a recall
    store_seconds: float = 0.0  # a stored long message delays the next chat of its namespace
    cold_seconds: float = 0.0  # time to read a long prompt that was not read before
    warm_prefix: bool = True


@dataclass
class FakeServer:
    """Runs on a free port from entering to leaving the context."""

    behaviour: Behaviour = field(default_factory=Behaviour)
    stored: list[tuple[str, str]] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    port: int = 0

    def __enter__(self) -> Self:
        self._lock = threading.Lock()
        self._busy = 0
        self._replies: dict[str, str] = {}
        self._read: set[str] = set()
        self._ready_at: dict[str, float] = {}
        self.broken = False
        fake = self

        class Handler(_Handler):
            server_state = fake

        self._http = _Listener(("127.0.0.1", self.port), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def restart(self) -> None:
        if self.behaviour.forgets_on_restart:
            self.stored.clear()

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        """The reply to one request body: text, what was recalled, and times."""
        how = self.behaviour
        memory = body.get("memory") or {"mode": "off", "namespace": ""}
        namespace, mode = memory["namespace"], memory["mode"]
        users = [message["content"] for message in body["messages"] if message["role"] == "user"]
        prompt = " ".join(users)
        with self._lock:
            self.requests.append(body)
            alone = self._busy == 0
            self._busy += 1
            reads = how.remembers and (mode in ("on", "read") or how.answers_unasked)
            known = [
                text
                for i, (owner, text) in enumerate(self.stored)
                if (owner == namespace or how.leaks)
                and (how.forgets_after is None or len(self.stored) - i <= how.forgets_after)
            ]
            wait = max(0.0, self._ready_at.get(namespace, 0.0) - time.monotonic()) if mode != "off" else 0.0
        recalled = self._recalled(prompt, known) if reads else []
        shown = [*recalled, *users]
        text = self._replies.get(prompt) if how.caches_replies and mode != "off" else None
        if text is None:
            text = _say(prompt, " ".join(shown), how)
        if how.altered_output and mode != "off" and not recalled:
            text = f"Well. {text}"
        if reads and how.leaks_recall_only:
            recalled = [stored for _, stored in self.stored if stored not in prompt][:40]
        delay = wait + self._reading_seconds(prompt) + (how.read_seconds if mode != "off" else 0)
        delay += how.recall_seconds if recalled else 0
        time.sleep(delay)
        with self._lock:
            self._busy -= 1
            alone = alone and self._busy == 0
            self._replies.setdefault(prompt, text)
            if mode in ("on", "write") and (alone or not how.loses_concurrent):
                self.stored.append((namespace, prompt[: how.longest_event]))
            if mode != "off" and len(prompt) > 500:
                self._ready_at[namespace] = time.monotonic() + how.store_seconds
        return {"text": text, "recalled": recalled, "per_token": how.token_seconds if recalled else 0.0}

    def _recalled(self, prompt: str, known: list[str]) -> list[str]:
        how = self.behaviour
        if how.recalls_always and known:
            return known[:1]
        wanted = _wanted(prompt, how)
        found = [text for text in known if text not in prompt and any(statement in text for statement in wanted)]
        return found

    def _reading_seconds(self, prompt: str) -> float:
        if len(prompt) < 500:
            return 0.0
        known = self.behaviour.warm_prefix and prompt in self._read
        self._read.add(prompt)
        return 0.0 if known else self.behaviour.cold_seconds


def _wanted(prompt: str, how: Behaviour) -> list[str]:
    """The statements that a question in the prompt asks for."""
    wanted: list[str] = []
    for fact in FACTS:
        if fact.question in prompt or (fact.paraphrase and fact.paraphrase in prompt and not how.same_words_only):
            wanted.append(fact.statement)
    for item in CORRECTIONS:
        if item.question in prompt:
            wanted += [item.old_statement, item.new_statement]
    for step in TWO_STEPS:
        if step.question in prompt:
            wanted += [step.first] if how.one_hop else [step.first, step.second]
    for tenants in TENANTS:
        if tenants.question in prompt:
            wanted += tenants.statements
    return wanted


def _say(prompt: str, shown: str, how: Behaviour) -> str:
    """The answer to the question in `prompt`, from what is shown."""
    for item in UNRELATED:
        if item.question in prompt:
            return f"It is {item.answers[0]}."
    for fact in FACTS:
        asked = fact.question in prompt or (fact.paraphrase and fact.paraphrase in prompt)
        if asked and fact.statement in shown:
            return f"That would be {fact.answers[0]}."
    for item in CORRECTIONS:
        if item.question in prompt:
            versions = [(item.old_statement, item.old_answers[0]), (item.new_statement, item.new_answers[0])]
            present = [value for statement, value in versions if statement in shown]
            if present:
                oldest = how.prefers_old and item.old_statement not in prompt
                return f"It is {present[0] if oldest else present[-1]}."
    for step in TWO_STEPS:
        if step.question in prompt and step.first in shown and step.second in shown:
            return f"It is {step.answers[0]}."
    for tenants in TENANTS:
        if tenants.question in prompt:
            values = [a[0] for s, a in zip(tenants.statements, tenants.answers, strict=True) if s in shown]
            if values:
                return f"It is {' or '.join(values)}."
    return "I do not know that."


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    # The default of 5 loses connections of a machine under load, each of which is tried again seconds later.
    request_queue_size = 128


class _Handler(BaseHTTPRequestHandler):
    server_state: FakeServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None: ...

    def do_GET(self) -> None:
        state = self.server_state
        if self.path == "/v1/models":
            self._send(200, {"data": [{"id": "fake"}]})
        elif self.path == "/health":
            self._send(200, {})
        elif self.path == "/v14/stats" and state.behaviour.stats:
            tokens = sum(len(text.split()) for _, text in state.stored)
            self._send(200, {"events": len(state.stored), "tokens": tokens, "bytes": tokens * 2000})
        else:
            self._send(404, {"detail": "Not Found"})

    def do_POST(self) -> None:
        state = self.server_state
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if state.broken:
            self._send(503, {"error": {"message": "the engine has died"}})
        elif state.behaviour.refuses_memory and "memory" in body:
            self._send(400, {"error": {"message": "unknown field memory"}})
        elif state.behaviour.refuses_extras and body.keys() & {"ignore_eos", "return_output_ids_in_sglext"}:
            self._send(422, {"message": "extra fields not permitted"})
        elif body.get("stream"):
            self._stream(body)
        else:
            self._complete(body)

    def _complete(self, body: dict[str, Any]) -> None:
        answer = self.server_state.answer(body)
        payload: dict[str, Any] = {
            "choices": [{"message": {"role": "assistant", "content": answer["text"]}}],
            "usage": _usage(body, answer["text"]),
        }
        extension = self._extension(body, answer)
        if body.get("return_output_ids_in_sglext"):
            extension["output_ids"] = [[zlib.crc32(word.encode()) for word in answer["text"].split()]]
        if extension:
            payload["sglext"] = extension
        self._send(200, payload)

    def _stream(self, body: dict[str, Any]) -> None:
        answer = self.server_state.answer(body)
        words = answer["text"].split()
        if body.get("ignore_eos") or body["max_tokens"] > 200:
            words = (words * body["max_tokens"])[: body["max_tokens"]]
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            for word in words[: body["max_tokens"]]:
                self._event({"choices": [{"delta": {"content": f"{word} "}}]})
                time.sleep(answer["per_token"] + 0.001)
            self._event({"choices": [], "usage": _usage(body, " ".join(words[: body["max_tokens"]]))})
            self._event({"choices": [], "sglext": self._extension(body, answer)})
            self.wfile.write(b"data: [DONE]\n\n")
        except OSError:
            if self.server_state.behaviour.drops_dropped:
                self.server_state.broken = True
        self.close_connection = True

    def _extension(self, body: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
        if not self.server_state.behaviour.reports or not (body.get("memory") or {}).get("report"):
            return {}
        recalled = [{"event": f"{i:032x}", "vote": 0.3, "text": text} for i, text in enumerate(answer["recalled"])]
        best = [{"vote": 0.3, "text": text} for text in answer["recalled"]]
        return {"memory": {"recalled": recalled, "readings": 1 + bool(recalled), "best_votes": best}}

    def _event(self, payload: dict[str, Any]) -> None:
        self.wfile.write(f"data: {json.dumps(payload)}\n\n".encode())
        self.wfile.flush()

    def _send(self, status: int, payload: dict[str, Any]) -> None:
        data = json.dumps(payload).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _usage(body: dict[str, Any], text: str) -> dict[str, Any]:
    prompt = sum(len(message["content"].split()) for message in body["messages"])
    return {
        "prompt_tokens": prompt,
        "completion_tokens": len(text.split()),
        "prompt_tokens_details": {"cached_tokens": 0},
    }
