"""The entry point that SGLang calls in each of its processes."""

from __future__ import annotations

import atexit
import multiprocessing


def register() -> None:
    """Hook the memory into SGLang.

    Ends the process with one sentence when it cannot: SGLang itself would log the error and serve without memory.
    """
    if _detokenizes():
        return
    from . import hooks as seams
    from .cpu_engine.hooks import register_cpu_hooks
    from .hooks import install
    from .listener import MemoryListener
    from .options import Environment, OptionError

    try:
        import sglang

        environment = Environment.read()
        listener = MemoryListener(environment)
        cpu_hooks = register_cpu_hooks()
        install.install(seams.all_hooks(listener), sglang.__version__)
        install.require_applied([hook.target for hook in cpu_hooks], sglang.__version__)
    except (install.SeamError, OptionError) as error:
        raise SystemExit(f"sglang-v14: {error}") from error
    except Exception as error:
        # SGLang logs what a plugin raises and serves without it.
        raise SystemExit(f"sglang-v14: could not be hooked into SGLang ({type(error).__name__}: {error}).") from error
    atexit.register(listener.closed)


def _detokenizes() -> bool:
    """Whether this is the process that only turns tokens into text: hooking it would import the whole engine there."""
    target = getattr(multiprocessing.current_process(), "_target", None)
    return getattr(target, "__name__", "") == "run_detokenizer_process"
