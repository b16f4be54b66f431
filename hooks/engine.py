"""What the hooks tell, and whom: the interface between SGLang and whoever listens."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from torch import Tensor

    from .forward import Forward
    from .model_view import ModelView
    from .recurrent_layers import RecurrentInputs


class Wait(Protocol):
    """Something that a request waits for before it may be read."""

    @property
    def done(self) -> bool: ...

    def wait(self, timeout_seconds: float) -> bool:
        """Block until done; False when the time ran out."""
        ...


class Listener(Protocol):
    """Receives what happens in the engine. Every call is made on the thread of the engine that it concerns."""

    def config_parsed(self, config: Any) -> None:
        """A model's config.json was parsed; `config` may be changed in place."""

    def server_args_checked(self, server_args: Any) -> None:
        """The server's arguments are resolved and checked. Raising stops the server."""

    def http_starting(self, app: Any, server_args: Any) -> None:
        """The FastAPI app is about to run."""

    def tokenized(self, tokenized: Any, *, warming_up: bool) -> None:
        """A request was tokenised; `warming_up` while the server sends requests to itself before it is up."""

    def responded(self, response: dict[str, Any], http_request: Any, place: int) -> None:
        """A piece of a response, with its `meta_info`, is about to be sent to the client of `http_request` (None
        offline); `place` counts the prompts and choices of one request."""

    def model_ready(self, model: ModelView) -> None:
        """The target model's weights and pools are in place. Raising stops the server."""

    def request_arrived(self, req: Any) -> Wait | None:
        """A request reached the scheduler. What is returned is waited for before `request_queued`."""

    def request_queued(self, req: Any) -> None:
        """The request is about to enter the waiting queue."""

    def prefix_limit(self, req: Any) -> int | None:
        """How many of the request's tokens may be taken from the prefix cache (None: all)."""

    def insert_limit(self, req: Any) -> int | None:
        """How many of the request's tokens may enter the prefix cache (None: all)."""

    def forward(self, forward: Forward) -> Any:
        """A forward of the target model is due; call `forward.run()` and return its result, or another of its kind."""

    def attended(self, layer_id: int, queries: Tensor, output: Tensor, lse: Tensor | None) -> None:
        """An attention layer of the forward in progress was computed.

        `queries` `[tokens, heads, dim]` are rotated; `output` `[tokens, heads, dim]` may be changed in place. `lse`
        `[tokens, heads]` is the natural log-sum-exp of the scaled scores, None where the back end has none (layers with
        a sliding window).
        """

    def recurred(self, layer_id: int, inputs: RecurrentInputs) -> None:
        """A recurrent layer of the prefill in progress is about to be computed over `inputs`, all its tokens."""

    def closed(self) -> None:
        """The scheduler is shutting down."""


Original = Callable[..., Any]
