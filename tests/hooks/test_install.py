"""A seam that is not what the hooks were written for stops the server with a sentence."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from sglang_v14.hooks import install as install_module
from sglang_v14.hooks.install import Hook, SeamError, check_signature, check_version, install
from sglang_v14.hooks.targets import V17, V23, Target

SOURCE = """
import functools

def wrapped(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        return function(*args, **kwargs)
    return inner

class Engine:
    def step(self, batch, *, last=False):
        return ("step", batch, last)

    @wrapped
    def stop(self, reason):
        return ("stop", reason)

def start(port):
    return ("start", port)
"""


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A module to hook, of this test alone."""
    (tmp_path / "an_engine_to_hook.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    import an_engine_to_hook  # type: ignore[import-not-found]

    yield an_engine_to_hook
    del sys.modules["an_engine_to_hook"]


STEP = Target("an_engine_to_hook.Engine.step", {V23: ("self", "batch", "last"), V17: ("self", "batch")})
STOP = Target("an_engine_to_hook.Engine.stop", {V23: ("self", "reason")})
START = Target("an_engine_to_hook.start", {V23: ("port",), V17: ("port",)})


@pytest.mark.parametrize("version", ["0.5.22", "0.5.24", "", "0.5.23.post1"])
def test_an_untested_version(version: str) -> None:
    """The sentence names both the version and those that were tested."""
    with pytest.raises(SeamError, match=r"is not a version.*0\.5\.23, 0\.5\.17.*SGLANG_V14_MEMORY=0") as error:
        check_version(version)
    assert f"SGLang {version} " in str(error.value)


def test_tested_versions() -> None:
    """Both are fine."""
    check_version(V23)
    check_version(V17)


@pytest.mark.usefixtures("engine")
def test_signatures_that_match() -> None:
    """Functions, methods, and what is wrapped by a decorator that says so."""
    for target in (STEP, STOP, START):
        check_signature(target, V23)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("path", ["an_engine_to_hook.Engine.pause", "an_engine_to_hook.Motor.step", "no_such_module.f"])
def test_a_missing_target(path: str) -> None:
    """The sentence names it and the version."""
    with pytest.raises(SeamError, match=r"0\.5\.23 has no") as error:
        check_signature(Target(path, {V23: ()}), V23)
    assert path in str(error.value)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    "expected", [("self", "batch"), ("self", "batch", "last", "more"), ("self", "last", "batch"), ("batch", "last")]
)
def test_a_changed_signature(expected: tuple[str, ...]) -> None:
    """A parameter more, less, elsewhere: the sentence tells what was found and what was expected."""
    with pytest.raises(SeamError) as error:
        check_signature(Target(STEP.path, {V23: expected}), V23)
    assert "(self, batch, last)" in str(error.value)
    assert f"({', '.join(expected)})" in str(error.value)
    assert STEP.path in str(error.value)


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Any:
    """SGLang's own hook registry, empty, and a table of this test's targets."""
    hook_registry = pytest.importorskip("sglang.srt.plugins.hook_registry", reason="SGLang is not installed")
    monkeypatch.setattr(hook_registry.HookRegistry, "_hooks", type(hook_registry.HookRegistry._hooks)(list))
    monkeypatch.setattr(hook_registry.HookRegistry, "_patched", set())
    table = (STEP, STOP, START)
    monkeypatch.setattr(
        install_module, "of_version", lambda version: tuple(t for t in table if version in t.parameters)
    )
    return hook_registry.HookRegistry


def every_hook(seen: list[Any]) -> list[Hook]:
    def stepping(original: Any, engine: Any, batch: Any, *, last: bool = False) -> Any:
        seen.append(("stepping", batch, last))
        return original(engine, batch + 1, last=True)

    return [
        Hook(STEP, "around", stepping),
        Hook(STOP, "before", lambda engine, reason: seen.append(("stopping", reason))),
        Hook(START, "after", lambda result, port: (*result, "hooked")),
    ]


@pytest.mark.usefixtures("registry")
def test_install(engine: ModuleType) -> None:
    """All hooks are called as they are told to be."""
    seen: list[Any] = []
    install(every_hook(seen), V23)
    assert engine.Engine().step(4) == ("step", 5, True)
    assert engine.Engine().stop("enough") == ("stop", "enough")
    assert engine.start(80) == ("start", 80, "hooked")
    assert seen == [("stepping", 4, False), ("stopping", "enough")]


@pytest.mark.usefixtures("registry")
def test_hooks_of_another_version_are_left_out(engine: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hook whose target a version does not have is no fault."""
    monkeypatch.setitem(STEP.parameters, V17, ("self", "batch", "last"))
    seen: list[Any] = []
    install(every_hook(seen), V17)
    engine.Engine().stop("enough")
    assert seen == []
    assert engine.start(80) == ("start", 80, "hooked")


@pytest.mark.usefixtures("engine")
def test_a_seam_without_a_hook(registry: Any) -> None:
    """A forgotten seam is an error before anything is hooked."""
    with pytest.raises(SeamError, match=STOP.path):
        install([hook for hook in every_hook([]) if hook.target is not STOP], V23)
    assert not registry._hooks


def test_nothing_is_hooked_when_a_seam_has_changed(registry: Any, engine: ModuleType) -> None:
    """The check of all comes first."""
    with pytest.raises(SeamError, match=r"Engine\.step"):
        install(every_hook([]), V17)
    assert not registry._hooks
    assert engine.start(80) == ("start", 80)


@pytest.mark.usefixtures("engine")
def test_a_hook_that_the_registry_did_not_apply(registry: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The registry only logs what fails; here it is an error."""
    applied = registry._apply_target.__func__

    def failing(cls: Any, target: str, hooks: Any) -> None:
        if target == STOP.path:
            raise RuntimeError("no")
        applied(cls, target, hooks)

    monkeypatch.setattr(registry, "_apply_target", classmethod(failing))
    with pytest.raises(SeamError, match=r"did not apply.*Engine\.stop"):
        install(every_hook([]), V23)


@pytest.mark.usefixtures("registry")
def test_install_checks_the_version_first() -> None:
    """Nothing is looked at in a version that nobody tested."""
    with pytest.raises(SeamError, match="is not a version"):
        install([], "0.6.0")
