"""Seam: what a request takes from the prefix cache and what it leaves there."""

from __future__ import annotations

from typing import Any

from . import targets
from .engine import Listener, Original
from .install import Hook


def hooks(listener: Listener) -> list[Hook]:
    """Asks `listener` for both limits."""

    def limited(result: int, req: Any, input_len: int) -> int:
        limit = listener.prefix_limit(req)
        return result if limit is None else min(result, limit)

    def insert(original: Original, tree: Any, req: Any, *, up_to: int, **kwargs: Any) -> Any:
        limit = listener.insert_limit(req)
        return original(tree, req, up_to=up_to if limit is None else min(up_to, limit), **kwargs)

    def insert_unfinished(original: Original, req: Any, tree_cache: Any, **kwargs: Any) -> Any:
        if listener.insert_limit(req) is None:
            return original(req, tree_cache, **kwargs)
        # 0.5.17 has no partial insert, and one that is skipped must still advance the prefix, or the next chunk of a
        # chunked prefill begins at the start again.
        req.skip_radix_cache_insert = True
        row = tree_cache.req_to_token_pool.req_to_token[req.req_pool_idx, : req.extend_range.end]
        req.prefix_indices = row.long().clone()
        return None

    return [
        Hook(targets.PREFIX_LIMIT, "after", limited),
        Hook(targets.PREFIX_INSERT, "around", insert),
        Hook(targets.PREFIX_SKIP, "around", insert_unfinished),
    ]
