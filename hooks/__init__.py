"""The engine hooks: what the memory needs to reach inside SGLang, one module a seam.

This package knows SGLang and nothing of memory. `targets` is the table of what is hooked in which SGLang version,
`install` applies hooks and checks them, `engine` is the interface that the other side implements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .engine import Listener
    from .install import Hook

# A request goes on without the writes queued before it after this long.
WAIT_SECONDS = 120.0


def all_hooks(listener: Listener) -> list[Hook]:
    """Every hook, telling `listener`."""
    from . import attention, config, forward, http, prefix_cache, recurrent_layers, requests

    return [
        *config.hooks(listener),
        *http.hooks(listener),
        *requests.hooks(listener, WAIT_SECONDS),
        *prefix_cache.hooks(listener),
        *forward.hooks(listener),
        *attention.hooks(listener),
        *recurrent_layers.hooks(listener),
    ]
