"""What was decided and why: one line a decision in the log, and the report that a client may ask for."""

from __future__ import annotations

import json
import logging
from typing import Any, Literal

from .request import MemoryRequest

logger = logging.getLogger("sglang_v14.trace")

_SHOWN_CHARACTERS = 80


class Trace:
    """Writes decisions to the log, as text for people or as JSON lines (`SGLANG_V14_TRACE`)."""

    def __init__(self, style: Literal["off", "text", "json"]) -> None:
        self._style = style

    def decided(self, req: Any, request: MemoryRequest, on: str, reading_seconds: float, vote_seconds: float) -> None:
        """A decision on the `prompt`'s first reading, on a later `reading` or on the `answer` so far was taken."""
        if self._style == "off" and not request.memory.report:
            return
        report = _report(req, request)
        if request.memory.report:
            self._answer(req, request, report)
        if self._style == "off":
            return
        line = {
            "request": req.rid,
            "namespace": request.memory.namespace,
            "on": on,
            **report,
            "reading_ms": round(1000 * reading_seconds, 1),
            "vote_ms": round(1000 * vote_seconds, 1),
        }
        logger.info("%s", json.dumps(line, ensure_ascii=False) if self._style == "json" else _as_text(line))

    def _answer(self, req: Any, request: MemoryRequest, report: dict[str, Any]) -> None:
        if request.report is None:
            request.report = report
            # One entry an output token, of which the first carries the report into the response's `meta_info`.
            req.customized_info = {**(req.customized_info or {}), "memory": [request.report]}
        request.report.update(report)


def _report(req: Any, request: MemoryRequest) -> dict[str, Any]:
    def text(token_ids: tuple[int, ...]) -> str:
        return "" if req.tokenizer is None else str(req.tokenizer.decode(list(token_ids)))

    decision = request.decision
    return {
        "recalled": [
            {
                "event": one.entry.id.hex(),
                "vote": round(one.vote, 4),
                "bias": one.bias,
                "found_by": one.found_by,
                "text": text(one.entry.token_ids),
            }
            for one in reversed(decision.recalled)
        ],
        "best_votes": [{"vote": round(vote, 4), "text": text(entry.token_ids)} for entry, vote in decision.best],
        "readings": request.readings + (request.placed is not None and request.readings == 1),
    }


def _as_text(line: dict[str, Any]) -> str:
    def quoted(item: dict[str, Any]) -> str:
        text = " ".join(item["text"].split())
        return f"{item['vote']:.2f} “{text[:_SHOWN_CHARACTERS]}{'…' if len(text) > _SHOWN_CHARACTERS else ''}”"

    recalled = "; ".join(f"{quoted(one)} by {one['found_by']}" for one in line["recalled"]) or "nothing"
    best = "; ".join(quoted(one) for one in line["best_votes"]) or "none"
    return (
        f"V14 {line['request'][:8]} [{line['namespace']}] {line['on']}: recalled {recalled} | best votes: {best} | "
        f"readings {line['readings']} | read {line['reading_ms']} ms, vote {line['vote_ms']} ms"
    )
