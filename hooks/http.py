"""Seam: the HTTP app and what goes through the tokenizer manager."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from . import targets
from .engine import Listener, Original
from .install import Hook

# What `http_server._execute_server_warmup` sends; nothing else marks these requests, and clients may already send
# theirs.
_WARM_UP_TEXT = "The capital city of France is"
_WARM_UP_IDS = [10, 11, 12]


def _is_warm_up(obj: Any) -> bool:
    return (
        obj.text == _WARM_UP_TEXT
        or obj.input_ids == _WARM_UP_IDS
        or (obj.text is not None and "Describe the image." in obj.text)
    )


def hooks(listener: Listener) -> list[Hook]:
    """Tells `listener` when the app starts, of every tokenised request and of every piece of a response."""

    def starting(server_args: Any, *args: Any, **kwargs: Any) -> None:
        from sglang.srt.entrypoints.http_server import app

        listener.http_starting(app, server_args)

    def tokenized(result: Any, manager: Any, obj: Any, *args: Any, **kwargs: Any) -> None:
        starting_up = getattr(manager.server_status, "name", "") == "Starting"
        listener.tokenized(result, warming_up=starting_up and _is_warm_up(obj))

    def generate(original: Original, manager: Any, obj: Any, request: Any = None) -> AsyncIterator[Any]:
        async def pieces() -> AsyncIterator[Any]:
            async for piece in original(manager, obj, request):
                if isinstance(piece, list):
                    for place, response in enumerate(piece):
                        listener.responded(response, request, place)
                else:
                    listener.responded(piece, request, piece.get("index") or 0)
                yield piece

        return pieces()

    return [
        Hook(targets.HTTP_START, "before", starting),
        Hook(targets.TOKENIZED, "after", tokenized),
        Hook(targets.GENERATE, "around", generate),
    ]
