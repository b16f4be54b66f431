"""Starting SGLang with what this machine and this model need.

``sglang-v14 serve`` and users of ``sglang.Engine`` get the same defaults from ``engine_defaults``. On a machine with an
accelerator there are none: SGLang's own hold.
"""

from __future__ import annotations

import importlib.metadata
import os
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from sglang_v14 import cpu_engine
from sglang_v14.cpu_engine.sizing import NotEnoughMemory
from sglang_v14.hooks.targets import VERSIONS

_MODEL_FLAGS = ("--model-path", "--model")
# Other spellings of the flags for which there is a default.
_ALIASES = {"mamba_radix_cache_strategy": ("--mamba-scheduler-strategy",)}
# Values that are always set: the server does not run without them.
_FORCED = ("PYTHONPATH", "SGLANG_USE_CPU_ENGINE", "CUDA_VISIBLE_DEVICES")


class LaunchError(RuntimeError):
    """The server cannot be started. The message is one sentence for the operator."""


def engine_defaults(model_path: str, *, device: str | None = None) -> tuple[dict[str, str], dict[str, Any]]:
    """Environment variables and ``sglang.Engine`` arguments for ``model_path`` on this machine.

    Args:
        model_path: a model folder or the name of a model on a hub.
        device: as in ``--device``; None to look whether there is an accelerator.

    Raises:
        LaunchError: if the model does not exist or does not fit.
    """
    return _defaults(model_path, device, "float32")


def prepare_engine(model_path: str, *, device: str | None = None) -> dict[str, Any]:
    """Apply the environment of ``engine_defaults`` to this process and return the arguments.

    To be called before anything of SGLang is imported::

        arguments = prepare_engine(path)
        import sglang
        engine = sglang.Engine(model_path=path, **arguments)

    Raises:
        LaunchError: as ``engine_defaults``.
    """
    environment, arguments = engine_defaults(model_path, device=device)
    _apply(environment)
    if environment.get("SGLANG_USE_CPU_ENGINE") == "1" and str(cpu_engine.SITE) not in sys.path:
        sys.path.insert(0, str(cpu_engine.SITE))
    return arguments


def serve(arguments: Sequence[str]) -> NoReturn:
    """Replace this process by ``sglang serve`` with ``arguments`` and the defaults that they leave open.

    Raises:
        LaunchError: if SGLang is missing or of an untested version, or the model does not exist or does not fit.
    """
    check_sglang()
    arguments = list(arguments)
    model_path = find_model_path(arguments)
    if model_path is not None and not {"-h", "--help"} & set(arguments):
        environment, defaults = _defaults(
            model_path, find_value(arguments, "--device"), find_value(arguments, "--dtype") or "float32"
        )
        _apply(environment)
        arguments += as_flags(defaults, arguments)
    script = Path(sysconfig.get_path("scripts")) / "sglang"
    os.execv(sys.executable, [sys.executable, str(script), "serve", *arguments])


def check_sglang() -> str:
    """The installed SGLang's version.

    Raises:
        LaunchError: if there is none, or one that the memory was not tested with while the memory is on.
    """
    try:
        version = importlib.metadata.version("sglang")
    except importlib.metadata.PackageNotFoundError as error:
        raise LaunchError(
            f"SGLang is not installed; pip install 'sglang-v14[sglang]' brings the tested version {VERSIONS[0]}."
        ) from error
    if version not in VERSIONS and os.environ.get("SGLANG_V14_MEMORY") != "0":
        raise LaunchError(
            f"SGLang {version} is installed, and sglang-v14 was tested with {', '.join(VERSIONS)}; install one of "
            "them, or set SGLANG_V14_MEMORY=0 to serve without memory."
        )
    return version


def find_model_path(arguments: Sequence[str]) -> str | None:
    """The model named in the arguments of ``sglang serve``: a flag, or the first argument."""
    for flag in _MODEL_FLAGS:
        if (value := find_value(arguments, flag)) is not None:
            return value
    return arguments[0] if arguments and not arguments[0].startswith("-") else None


def find_value(arguments: Sequence[str], flag: str) -> str | None:
    """The value given to ``flag``, as ``flag value`` or ``flag=value``; the last one counts."""
    value = None
    for index, argument in enumerate(arguments):
        if argument == flag and index + 1 < len(arguments):
            value = arguments[index + 1]
        elif argument.startswith(f"{flag}="):
            value = argument[len(flag) + 1 :]
    return value


def as_flags(defaults: Mapping[str, Any], arguments: Sequence[str]) -> list[str]:
    """Spell ``defaults`` as flags, without those that ``arguments`` already give."""
    given = {argument.partition("=")[0] for argument in arguments if argument.startswith("--")}
    flags: list[str] = []
    for name, value in defaults.items():
        flag = f"--{name.replace('_', '-')}"
        if given & {flag, *_ALIASES.get(name, ())}:
            continue
        flags += [flag] if value is True else [flag, str(value)]
    return flags


def _defaults(model_path: str, device: str | None, dtype: str) -> tuple[dict[str, str], dict[str, Any]]:
    check_model_path(model_path)
    if device is None:
        device = "cpu" if cpu_engine.in_use() or not _has_accelerator() else "accelerator"
    if device != "cpu":
        return {}, {}
    from sglang_v14.cpu_engine.defaults import cpu_arguments, cpu_environment

    if dtype == "auto":
        dtype = "float32"
    try:
        return cpu_environment(dtype), cpu_arguments(model_path, dtype)
    except NotEnoughMemory as error:
        raise LaunchError(str(error)) from error


def check_model_path(model_path: str) -> None:
    """Raises `LaunchError` when ``model_path`` can only be a folder and is none, or has no ``config.json``.

    Names with at most one slash may be those of models on a hub, which SGLang looks up itself.
    """
    folder = Path(model_path).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").is_file() and not any(folder.glob("*.gguf")):
            raise LaunchError(f"{model_path} holds no config.json, so it is not a model folder.")
        return
    a_path = model_path.startswith((".", "~", os.sep)) or model_path.count("/") > 1
    if a_path and "://" not in model_path and not folder.is_file():
        raise LaunchError(f"There is no model at {model_path}.")


def _apply(environment: Mapping[str, str]) -> None:
    for name, value in environment.items():
        if name in _FORCED:
            os.environ[name] = value
        else:
            os.environ.setdefault(name, value)


def _has_accelerator() -> bool:
    import torch

    return bool(torch.accelerator.is_available())
