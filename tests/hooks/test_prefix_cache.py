"""What a request takes from the prefix cache and what it leaves there."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from sglang_v14.hooks import prefix_cache, targets
from sglang_v14.hooks.targets import Target


def hook(target: Target, *, prefix: int | None = None, insert: int | None = None) -> Any:
    listener = SimpleNamespace(prefix_limit=lambda req: prefix, insert_limit=lambda req: insert)
    return {one.target: one.function for one in prefix_cache.hooks(listener)}[target]  # type: ignore[arg-type]


@pytest.mark.parametrize(("found", "limit", "expected"), [(9, None, 9), (9, 5, 5), (9, 12, 9), (9, 0, 0)])
def test_prefix_limit(found: int, limit: int | None, expected: int) -> None:
    """The smaller of SGLang's limit and the listener's."""
    assert hook(targets.PREFIX_LIMIT, prefix=limit)(found, "req", 10) == expected


@pytest.mark.parametrize(("up_to", "limit", "expected"), [(9, None, 9), (9, 5, 5), (9, 12, 9), (9, 0, 0)])
def test_insert_limit(up_to: int, limit: int | None, expected: int) -> None:
    """0.5.23 inserts up to a token; everything else is handed on, and the result back."""
    seen: list[Any] = []

    def original(*args: Any, **kwargs: Any) -> str:
        seen.append((args, kwargs))
        return "result"

    result = hook(targets.PREFIX_INSERT, insert=limit)(original, "tree", "req", up_to=up_to, chunked=True)
    assert result == "result"
    assert seen == [(("tree", "req"), {"up_to": expected, "chunked": True})]


def chunked_request() -> tuple[Any, Any]:
    """A request of row 1 whose first 4 tokens were computed, and its tree."""
    table = torch.arange(20, dtype=torch.int32).view(2, 10)
    tree = SimpleNamespace(req_to_token_pool=SimpleNamespace(req_to_token=table))
    return SimpleNamespace(req_pool_idx=1, extend_range=SimpleNamespace(end=4), prefix_indices=None), tree


def test_skipping_the_insert() -> None:
    """0.5.17 inserts all or nothing: a limited request inserts nothing; its next chunk begins behind this one."""
    req, tree = chunked_request()
    assert hook(targets.PREFIX_SKIP, insert=2)(lambda *a, **k: pytest.fail("inserted"), req, tree, chunked=True) is None
    assert req.skip_radix_cache_insert is True
    assert req.prefix_indices.tolist() == [10, 11, 12, 13]
    assert req.prefix_indices.dtype == torch.int64
    tree.req_to_token_pool.req_to_token.zero_()
    assert req.prefix_indices.tolist() == [10, 11, 12, 13]


def test_not_skipping_the_insert() -> None:
    """A request without a limit is SGLang's alone."""
    req, tree = chunked_request()
    seen: list[Any] = []
    hook(targets.PREFIX_SKIP)(lambda *args, **kwargs: seen.append((args, kwargs)), req, tree, chunked=True)
    assert seen == [((req, tree), {"chunked": True})]
    assert not hasattr(req, "skip_radix_cache_insert")
    assert req.prefix_indices is None
