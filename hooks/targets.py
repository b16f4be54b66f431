"""The seams: every SGLang function that is hooked, with its parameters in each supported version."""

from __future__ import annotations

from dataclasses import dataclass

V17 = "0.5.17"
V23 = "0.5.23"
VERSIONS = (V23, V17)


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """A function of SGLang: `path` as the hook registry resolves it, and its parameter names in each version that has
    it."""

    path: str
    parameters: dict[str, tuple[str, ...]]

    def versions(self) -> tuple[str, ...]:
        return tuple(self.parameters)


def _in_both(path: str, *parameters: str) -> Target:
    return Target(path, {V23: parameters, V17: parameters})


CONFIG_PARSE = _in_both(
    "sglang.srt.utils.hf_transformers.config.HfModelConfigParser.parse",
    "self", "model", "trust_remote_code", "revision", "kwargs",
)  # fmt: skip
SERVER_ARGS_CHECK = _in_both("sglang.srt.server_args.ServerArgs.check_server_args", "self")
HTTP_START = _in_both(
    "sglang.srt.entrypoints.http_server._setup_and_run_http_server",
    "server_args", "tokenizer_manager", "template_manager", "port_args", "scheduler_infos", "subprocess_watchdog",
    "execute_warmup_func", "launch_callback",
)  # fmt: skip
GENERATE = _in_both("sglang.srt.managers.tokenizer_manager.TokenizerManager.generate_request", "self", "obj", "request")
TOKENIZED = _in_both(
    "sglang.srt.managers.tokenizer_manager.TokenizerManager._create_tokenized_object",
    "self", "obj", "input_text", "input_ids", "input_embeds", "mm_inputs", "token_type_ids",
)  # fmt: skip
REQUEST_QUEUED = _in_both(
    "sglang.srt.managers.scheduler.Scheduler._add_request_to_queue", "self", "req", "is_retracted"
)
REQUEST_ABORTED = _in_both("sglang.srt.managers.scheduler.Scheduler.abort_request", "self", "recv_req")
INPUT_PROCESSED = _in_both("sglang.srt.managers.scheduler.Scheduler.process_input_requests", "self", "recv_reqs")
PREFIX_LIMIT = _in_both("sglang.srt.managers.schedule_batch.Req._compute_max_prefix_len", "self", "input_len")
PREFIX_INSERT = Target(
    "sglang.srt.mem_cache.unified_radix_cache.UnifiedRadixCache.checkpoint", {V23: ("self", "req", "up_to", "kwargs")}
)
PREFIX_SKIP = Target("sglang.srt.mem_cache.common.maybe_cache_unfinished_req", {V17: ("req", "tree_cache", "kwargs")})
BATCH_FORWARD = Target(
    "sglang.srt.managers.tp_worker.TpModelWorker.forward_batch_generation",
    {
        V23: (
            "self", "batch", "forward_batch", "pp_proxy_tensors", "is_verify", "skip_attn_backend_init",
            "capture_hidden_mode", "return_kv_loc_plan",
        ),
        V17: (
            "self", "batch", "forward_batch", "pp_proxy_tensors", "is_verify", "skip_attn_backend_init",
            "capture_hidden_mode",
        ),
    },
)  # fmt: skip
MODEL_FORWARD = _in_both(
    "sglang.srt.model_executor.model_runner.ModelRunner._forward_raw",
    "self", "forward_batch", "pp_proxy_tensors", "reinit_attn_backend", "split_forward_count",
)  # fmt: skip
ATTENTION_BUILT = _in_both(
    "sglang.srt.model_executor.model_runner_components.attention_backend_setup._build_full_attention_backend_from_str",
    "model_runner", "backend_str", "init_new_workspace",
)  # fmt: skip
DELTA_LAYER = _in_both(
    "sglang.srt.layers.attention.linear.gdn_backend.GDNAttnBackend.forward_extend",
    "self", "layer", "forward_batch", "mixed_qkv", "a", "b", "kwargs",
)  # fmt: skip
DELTA_EXTEND = _in_both(
    "sglang.srt.layers.attention.linear.gdn_backend.GDNKernelDispatcher.extend",
    "self", "q", "k", "v", "g", "beta", "ssm_states", "cache_indices", "query_start_loc", "kwargs",
)  # fmt: skip
SCHEDULER_CLOSED = _in_both("sglang.srt.managers.scheduler.Scheduler.release_host_resources", "self")

ALL = (
    CONFIG_PARSE, SERVER_ARGS_CHECK, HTTP_START, GENERATE, TOKENIZED, REQUEST_QUEUED, REQUEST_ABORTED, INPUT_PROCESSED,
    PREFIX_LIMIT, PREFIX_INSERT, PREFIX_SKIP, BATCH_FORWARD, MODEL_FORWARD, ATTENTION_BUILT, DELTA_LAYER,
    DELTA_EXTEND, SCHEDULER_CLOSED,
)  # fmt: skip


def of_version(version: str) -> tuple[Target, ...]:
    """The targets that exist in SGLang `version`."""
    return tuple(target for target in ALL if version in target.parameters)
