"""SGLang's own source text, read out of its wheels: nothing of it is installed or run."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tempfile
import zipfile
from functools import cache
from pathlib import Path

import pytest

_DOWNLOAD_SECONDS = 120


def _wheel(version: str) -> Path:
    """The wheel of a version, downloaded once. Skips the test when it cannot be had."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sglang-v14" / "wheels"
    folder.mkdir(parents=True, exist_ok=True)
    if found := sorted(folder.glob(f"sglang-{version}-*.whl")):
        return found[0]
    # From 0.5.23 on there are wheels for each Python and platform only, and the sources in them are the same.
    platform = ["--only-binary", ":all:", "--python-version", "3.11", "--platform", "manylinux_2_34_x86_64"]
    with tempfile.TemporaryDirectory(dir=folder) as part:
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "-q",
            "--no-deps",
            *platform,
            f"sglang=={version}",
            "-d",
            part,
        ]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_DOWNLOAD_SECONDS)
        except subprocess.TimeoutExpired:
            pytest.skip(f"SGLang {version} could not be downloaded in {_DOWNLOAD_SECONDS} s")
        found = sorted(Path(part).glob("*.whl"))
        if done.returncode or not found:
            pytest.skip(f"SGLang {version} cannot be downloaded: {done.stderr.strip().splitlines()[-1:]}")
        return found[0].replace(folder / found[0].name)


@cache
def module(version: str, name: str) -> ast.Module | None:
    """The module `name` of SGLang `version`; None when there is no such file."""
    path = name.replace(".", "/")
    with zipfile.ZipFile(_wheel(version)) as wheel:
        for file in (f"{path}.py", f"{path}/__init__.py"):
            if file in wheel.namelist():
                return ast.parse(wheel.read(file))
    return None


def function(version: str, path: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The definition at a dotted path through modules and classes."""
    names = path.split(".")
    for count in range(len(names) - 1, 0, -1):
        node: ast.AST | None = module(version, ".".join(names[:count]))
        if node is None:
            continue
        for name in names[count:]:
            node = next((n for n in getattr(node, "body", ()) if getattr(n, "name", None) == name), None)
        return node if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else None
    return None


def parameters(definition: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[str, ...]:
    """Parameter names in the order of `inspect.signature`."""
    given = definition.args
    stars = [given.vararg, *given.kwonlyargs, given.kwarg]
    return tuple(one.arg for one in (*given.posonlyargs, *given.args, *stars) if one is not None)


def dataclass_fields(version: str, path: str) -> set[str]:
    """Names with an annotation in the body of a class."""
    name, _, class_name = path.rpartition(".")
    parsed = module(version, name)
    assert parsed is not None, f"SGLang {version} has no {name}"
    (definition,) = (n for n in parsed.body if isinstance(n, ast.ClassDef) and n.name == class_name)
    return {n.target.id for n in definition.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)}
