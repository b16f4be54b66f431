"""The command line and the environment that a server is started with."""

import json
import os
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sglang_v14 import cli, launch
from sglang_v14.cpu_engine import SITE


@pytest.fixture
def model(tmp_path: Path) -> str:
    config = {"num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 32, "max_position_embeddings": 4096}
    (tmp_path / "config.json").write_text(json.dumps(config))
    return str(tmp_path)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list:
    """What would have been executed: the arguments and the environment."""
    seen: list = []

    def execv(program: str, arguments: list[str]) -> None:
        seen.append((arguments, dict(os.environ)))
        raise SystemExit(0)

    monkeypatch.setattr(launch, "check_sglang", lambda: "0.5.23")
    monkeypatch.setattr(launch, "_has_accelerator", lambda: False)
    monkeypatch.setattr(os, "execv", execv)
    for name in (*launch._FORCED, "OMP_NUM_THREADS", "OMP_WAIT_POLICY", "SGLANG_MAMBA_CONV_DTYPE"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    return seen


def serve(*arguments: str) -> None:
    result = CliRunner().invoke(cli.app, ["serve", *arguments])
    assert result.exit_code == 0, result.output


def test_cpu_defaults_follow_the_users_own_arguments(model: str, started: list) -> None:
    """Every argument arrives in its place, and flags that were given are not given again."""
    own = ["--model-path", model, "-tp", "1", "--dtype=bfloat16", "--attention-backend", "intel_amx", "--port", "31000"]
    serve(*own)
    ((arguments, environment),) = started
    assert arguments[0] == sys.executable and Path(arguments[1]).name == "sglang"
    assert arguments[2 : 3 + len(own)] == ["serve", *own]
    added = arguments[3 + len(own) :]
    assert "--device" in added and added[added.index("--device") + 1] == "cpu"
    assert "--max-total-tokens" in added and "--sleep-on-idle" in added
    assert not {"--dtype", "--attention-backend", "--mamba-radix-cache-strategy"} & set(added)
    assert environment["PYTHONPATH"].split(os.pathsep)[0] == str(SITE)
    assert environment["SGLANG_USE_CPU_ENGINE"] == "1"
    assert environment["SGLANG_MAMBA_CONV_DTYPE"] == "bfloat16"


def test_the_users_environment_wins(model: str, started: list, monkeypatch: pytest.MonkeyPatch) -> None:
    """Defaults stay defaults, and an existing search path is kept behind the stand-in kernels."""
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    serve(model)
    ((_, environment),) = started
    assert environment["OMP_NUM_THREADS"] == "3"
    assert environment["PYTHONPATH"] == f"{SITE}{os.pathsep}/somewhere"


def test_with_an_accelerator_nothing_is_added(model: str, started: list, monkeypatch: pytest.MonkeyPatch) -> None:
    """SGLang's own defaults hold there."""
    monkeypatch.setattr(launch, "_has_accelerator", lambda: True)
    serve(model, "--port", "1")
    ((arguments, environment),) = started
    assert arguments[2:] == ["serve", model, "--port", "1"]
    assert "SGLANG_USE_CPU_ENGINE" not in environment
    serve(model, "--device", "cpu")
    assert started[1][1]["SGLANG_USE_CPU_ENGINE"] == "1"


@pytest.mark.parametrize("path", ["/no/such/model", "./none", "~/none"])
def test_a_missing_model_is_one_sentence(path: str, started: list) -> None:
    """Before anything is started."""
    result = CliRunner().invoke(cli.app, ["serve", "--model-path", path])
    assert result.exit_code == 2 and not started
    assert result.output == f"sglang-v14: There is no model at {path}.\n"


def test_a_folder_without_a_model_is_one_sentence(tmp_path: Path, started: list) -> None:
    """Such as the folder above the model's."""
    result = CliRunner().invoke(cli.app, ["serve", str(tmp_path)])
    assert result.exit_code == 2 and "holds no config.json" in result.output


def test_names_on_a_hub_are_passed_on(started: list) -> None:
    """Only SGLang can tell whether they exist."""
    serve("some/model")
    assert started[0][0][3] == "some/model"


def test_missing_and_untested_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence each; an untested version still serves without memory."""
    monkeypatch.delenv("SGLANG_V14_MEMORY", raising=False)
    monkeypatch.setattr("importlib.metadata.version", lambda name: "9.9.9")
    with pytest.raises(launch.LaunchError, match=r"SGLang 9\.9\.9 is installed"):
        launch.check_sglang()
    monkeypatch.setenv("SGLANG_V14_MEMORY", "0")
    assert launch.check_sglang() == "9.9.9"

    def missing(name: str) -> str:
        raise launch.importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.version", missing)
    with pytest.raises(launch.LaunchError, match="SGLang is not installed"):
        launch.check_sglang()


def test_engine_defaults_are_the_servers(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same values, as keyword arguments."""
    monkeypatch.setattr(launch, "_has_accelerator", lambda: False)
    environment, arguments = launch.engine_defaults(model)
    assert environment["SGLANG_USE_CPU_ENGINE"] == "1"
    assert arguments["device"] == "cpu" and arguments["sleep_on_idle"] is True
    assert launch.as_flags({"page_size": 1, "sleep_on_idle": True}, ["--page-size=16"]) == ["--sleep-on-idle"]
