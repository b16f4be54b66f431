"""The plugin's side of the hooks: what SGLang tells is handed to the memory."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from torch import Tensor

from memory_store import LmdbStore, StoreError, Ticket

from . import http_memory, refusals
from .architectures import native
from .bank import load_bank
from .episodic import EpisodicMemory
from .hooks.forward import Forward
from .hooks.model_view import ModelView
from .hooks.recurrent_layers import RecurrentInputs
from .http_stats import StoreStatsRoute
from .identity import identity
from .options import Environment, MemoryOptions, OptionError, RequestMemory, memory_options, request_memory
from .profile import Profile
from .readings import Readings
from .request import MemoryRequest
from .trace import Trace

logger = logging.getLogger("sglang_v14")

_STATE = "sglang_v14_memory"
_WARM_UP = "sglang_v14_warm_up"


class MemoryListener:
    """Implements `hooks.engine.Listener`. Without a V14 directory, or with `SGLANG_V14_MEMORY=0`, it does nothing."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._is_v14 = False
        self._memory: EpisodicMemory | None = None
        self._readings: Readings | None = None

    # Start

    def config_parsed(self, config: Any) -> None:
        for part in (config, getattr(config, "text_config", None)):
            names = getattr(part, "architectures", None)
            if not names:
                continue
            plain = [native(name) for name in names]
            if plain != list(names):
                part.architectures = plain
                self._is_v14 = True

    @property
    def _active(self) -> bool:
        return self._is_v14 and self._environment.memory

    def server_args_checked(self, server_args: Any) -> None:
        if self._active:
            _stop_on_refusal(lambda: refusals.check(server_args))

    def http_starting(self, app: Any, server_args: Any) -> None:
        if self._active:
            app.add_middleware(http_memory.MemoryField)
            route = StoreStatsRoute(self._environment.memory_home, str(server_args.model_path))
            app.add_api_route("/v14/stats", route.stats, methods=["GET"])

    def model_ready(self, model: ModelView) -> None:
        if self._active:
            _stop_on_refusal(lambda: self._open(model))

    def _open(self, model: ModelView) -> None:
        options = memory_options(getattr(model.config, "memory", None), source=f"{model.model_path}/config.json")
        store = LmdbStore.open(self._environment.memory_home, identity(model))
        recalled_tokens = self._recalled_tokens(model, options)
        self._memory = EpisodicMemory(
            model, options, store, lambda heads: load_bank(model.model_path, heads), max_recalled_tokens=recalled_tokens
        )
        self._readings = Readings(
            self._memory, Trace(self._environment.trace), Profile(enabled=self._environment.profile)
        )
        stats = store.stats()
        logger.info(
            "V14 memory: %d events (%d tokens) in %s; a request may recall %d tokens.",
            stats.events, stats.tokens, self._environment.memory_home, recalled_tokens,
        )  # fmt: skip

    def _recalled_tokens(self, model: ModelView, options: MemoryOptions) -> int:
        bytes_per_token = sum(2 * layer.key_heads * layer.head_dim * 4 for layer in model.layers.values())
        room = int(self._environment.max_buffer_gb * 1e9 / (bytes_per_token * model.max_running_requests))
        if room < options.event_tokens:
            raise refusals.Refusal(
                f"SGLANG_V14_MAX_BUFFER_GB={self._environment.max_buffer_gb:g} leaves {room} recalled tokens for each "
                f"of {model.max_running_requests} requests, less than one event of {options.event_tokens}: raise it, "
                "or lower --max-running-requests."
            )
        return min(options.max_recalled_tokens, room)

    # Requests

    def tokenized(self, tokenized: Any, *, warming_up: bool) -> None:
        if not self._active:
            return
        params = tokenized.sampling_params
        custom = getattr(params, "custom_params", None)
        if not isinstance(custom, dict | None):
            raise OptionError("`custom_params` must be an object.")
        # Offline users reach the engine without the HTTP layer that checks this field.
        request_memory((custom or {}).get("memory"))
        if warming_up:
            params.custom_params = {**(custom or {}), _WARM_UP: True}

    def responded(self, response: dict[str, Any], http_request: Any, place: int) -> None:
        if self._active:
            http_memory.hear(response, http_request, place)

    def request_arrived(self, req: Any) -> Ticket | None:
        if self._memory is None or _memory_of(req) is None or self._memory.writer.counters.paused:
            return None
        return self._memory.writer.barrier()

    def request_queued(self, req: Any) -> None:
        if self._memory is None or (memory := _memory_of(req)) is None:
            return
        if memory.namespace != RequestMemory().namespace:
            # Even a clean prefix is not shared: how fast it is read would tell that another namespace holds it.
            req.extra_key = f"{req.extra_key or ''}\x1f{memory.namespace}"
        if memory.mode != "off":
            setattr(req, _STATE, self._memory.expect(memory, list(req.origin_input_ids)))

    def prefix_limit(self, req: Any) -> int | None:
        request = _request(req)
        return None if request is None else request.prefix_limit

    def insert_limit(self, req: Any) -> int | None:
        request = _request(req)
        if request is None or self._memory is None or self._memory.view.is_hybrid:
            # A hybrid is read again from its last chunk on, and then keeps all to itself (`Forward.keep_private`).
            return None
        return request.insert_limit

    # Forwards

    def forward(self, forward: Forward) -> Any:
        if self._readings is None:
            return forward.run()
        return self._readings.forward(forward, [_request(req) for req in forward.reqs])

    def attended(self, layer_id: int, queries: Tensor, output: Tensor, lse: Tensor | None) -> None:
        if self._readings is not None:
            self._readings.attended(layer_id, queries, output, lse)

    def recurred(self, layer_id: int, inputs: RecurrentInputs) -> None:
        if self._readings is not None:
            self._readings.recurred(layer_id, inputs)

    def closed(self) -> None:
        if self._memory is not None:
            self._memory.close()
            self._memory = None


def _request(req: Any) -> MemoryRequest | None:
    return getattr(req, _STATE, None)


def _memory_of(req: Any) -> RequestMemory | None:
    """How a request uses the memory; None for health checks, warm-ups and requests that are not text alone."""
    custom = getattr(req.sampling_params, "custom_params", None) or {}
    if req.rid.startswith("HEALTH_CHECK") or _WARM_UP in custom or req.multimodal_inputs is not None:
        return None
    return request_memory(custom.get("memory"))


def _stop_on_refusal(step: Callable[[], None]) -> None:
    """SGLang logs what a hook raises; only the end of the server stops one that would be silently wrong."""
    try:
        step()
    except Exception as error:
        expected = isinstance(error, refusals.Refusal | OptionError | StoreError | ValueError)
        sentence = f"sglang-v14: {error}" if expected else f"sglang-v14: the memory cannot be opened ({error!r})."
        if multiprocessing.parent_process() is None:
            raise SystemExit(sentence) from error
        # In the scheduler's process: the signal by which SGLang's processes tell the main one to end them all.
        print(sentence, file=sys.stderr, flush=True)
        os.kill(os.getppid(), signal.SIGQUIT)
        os._exit(1)
