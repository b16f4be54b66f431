"""Seam: a model's configuration and the server's arguments, when they are read."""

from __future__ import annotations

from typing import Any

from . import targets
from .engine import Listener
from .install import Hook


def hooks(listener: Listener) -> list[Hook]:
    """Tells `listener` of every parsed config and of the checked server arguments."""

    def parsed(result: Any, *args: Any, **kwargs: Any) -> None:
        # Some releases return (config dict, config).
        for part in result if isinstance(result, tuple) else (result,):
            if hasattr(part, "architectures"):
                listener.config_parsed(part)

    def checked(result: Any, server_args: Any) -> None:
        listener.server_args_checked(server_args)

    return [Hook(targets.CONFIG_PARSE, "after", parsed), Hook(targets.SERVER_ARGS_CHECK, "after", checked)]
