"""A V14 directory from a safetensors checkpoint, and everything that is refused."""

import errno
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from sglang_v14.options import memory_options
from sglang_v14.upgrade import directory, linking
from sglang_v14.upgrade.check import check_directory
from sglang_v14.upgrade.command import upgrade
from sglang_v14.upgrade.directory import Settings, make_directory
from sglang_v14.upgrade.errors import UpgradeError
from sglang_v14.upgrade.linking import Link
from sglang_v14.upgrade.neutral_bank import NEUTRAL_BANK

FAST = Settings(calibration=False)
APP = typer.Typer()
APP.command()(upgrade)


def digest(path: Path) -> str:
    content = hashlib.sha256()
    for file in sorted(path.rglob("*")):
        content.update(f"{file.name} {file.stat().st_mode}".encode())
        content.update(file.read_bytes() if file.is_file() else b"")
    return content.hexdigest()


def left_in(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


@pytest.fixture
def checkpoint(tiny_llama: Path, tmp_path: Path) -> Path:
    """A checkpoint of the test's own that it may damage."""
    return Path(shutil.copytree(tiny_llama, tmp_path / "source" / "tiny"))


def edit(file: Path, **changes: Any) -> None:
    content = json.loads(file.read_text())
    file.write_text(json.dumps({**content, **changes}))


def test_a_whole_directory(tiny_llama: Path, tmp_path: Path) -> None:
    before = digest(tiny_llama)
    steps: list[tuple[int, int]] = []
    out = tmp_path / "deep" / "out"
    report = make_directory(tiny_llama, out, Settings(heads=3), advance=lambda *step: steps.append(step))
    assert digest(tiny_llama) == before
    assert left_in(out.parent) == ["out"]
    config = json.loads((out / "config.json").read_text())
    assert config["architectures"] == ["LlamaV14ForCausalLM"]
    assert config["model_type"] == "llama"
    written = {"version", "voting_heads", "neutral_bank", "markers", "begin", "question_ends", "sentence_ends"}
    assert written == set(config["memory"])
    options = memory_options(config["memory"], source="config.json")
    assert len(options.voting_heads) == 3
    assert options.neutral_bank == NEUTRAL_BANK
    assert set(options.markers) == {"system", "user", "assistant"}
    assert report.calibration is not None
    assert steps[-1][0] == steps[-1][1] == len(steps)
    assert (out / "LICENSE").read_text() == "A licence.\n"
    assert "sglang-v14 serve --model-path" in (out / "README.md").read_text()
    assert "LlamaV14ForCausalLM" in check_directory(out)
    assert (
        oct(os.stat(out / "memory" / "bank.safetensors").st_mode)[-3:] == oct(os.stat(out / "README.md").st_mode)[-3:]
    )


@pytest.mark.parametrize("link", Link)
def test_how_the_weights_get_there(tiny_llama: Path, tmp_path: Path, link: Link) -> None:
    out = tmp_path / "out"
    make_directory(tiny_llama, out, Settings(link=link, calibration=False))
    for source in tiny_llama.glob("*.safetensors"):
        placed = out / source.name
        assert placed.read_bytes() == source.read_bytes()
        assert placed.samefile(source) is (link is not Link.COPY)
        assert placed.is_symlink() is (link is Link.SYMLINK)
    # Editing a small file of the new directory must not reach the checkpoint.
    assert not (out / "tokenizer.json").samefile(tiny_llama / "tokenizer.json")


def test_a_linked_file_of_the_source_is_followed(checkpoint: Path, tmp_path: Path) -> None:
    """Model hubs keep weights as symbolic links into a store of blobs."""
    weight = next(checkpoint.glob("*.safetensors"))
    blob = tmp_path / "blob"
    weight.rename(blob)
    weight.symlink_to(blob)
    make_directory(checkpoint, tmp_path / "out", FAST)
    assert (tmp_path / "out" / weight.name).samefile(blob)
    assert not (tmp_path / "out" / weight.name).is_symlink()


def test_an_empty_target_is_taken(tiny_llama: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    make_directory(tiny_llama, tmp_path / "out", FAST)
    assert "no voting heads" in check_directory(tmp_path / "out")


def refusal(source: Path, target: Path, **settings: Any) -> str:
    """The sentence of a refused upgrade, which must leave no trace."""
    neighbours = left_in(target.parent) if target.parent.exists() else None
    with pytest.raises(UpgradeError) as error:
        make_directory(source, target, Settings(calibration=False, **settings))
    assert (left_in(target.parent) if target.parent.exists() else None) == neighbours
    sentence = str(error.value)
    assert sentence.endswith(".") and "\n" not in sentence
    return sentence


def test_a_target_that_is_not_empty(tiny_llama: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("keep")
    assert "is not empty" in refusal(tiny_llama, tmp_path / "out")
    assert (tmp_path / "out" / "mine").read_text() == "keep"
    assert "not a directory" in refusal(tiny_llama, tmp_path / "out" / "mine")


def test_a_target_inside_the_source(checkpoint: Path) -> None:
    assert "inside the checkpoint" in refusal(checkpoint, checkpoint / "out")


def test_a_source_that_is_not_there(tmp_path: Path) -> None:
    assert "does not exist" in refusal(tmp_path / "none", tmp_path / "out")


def test_unknown_models(checkpoint: Path, tmp_path: Path) -> None:
    edit(checkpoint / "config.json", model_type="bert")
    sentence = refusal(checkpoint, tmp_path / "out")
    assert "'bert'" in sentence and "llama, qwen3_5, qwen3_5_text" in sentence
    edit(checkpoint / "config.json", model_type="llama", architectures=["LlamaForSequenceClassification"])
    assert "LlamaForSequenceClassification" in refusal(checkpoint, tmp_path / "out")


def test_a_v14_directory_is_not_upgraded_again(tiny_llama: Path, tmp_path: Path) -> None:
    make_directory(tiny_llama, tmp_path / "out", FAST)
    assert "already" in refusal(tmp_path / "out", tmp_path / "again")


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors.index.json"])
def test_missing_files(checkpoint: Path, tmp_path: Path, name: str) -> None:
    (checkpoint / name).unlink()
    sentence = refusal(checkpoint, tmp_path / "out")
    assert ("no weight file model.safetensors" if "index" in name else name) in sentence


def test_a_missing_shard(checkpoint: Path, tmp_path: Path) -> None:
    shard = sorted(checkpoint.glob("*.safetensors"))[0]
    shard.unlink()
    assert shard.name in refusal(checkpoint, tmp_path / "out")


def test_an_index_that_points_outside(checkpoint: Path, tmp_path: Path) -> None:
    edit(checkpoint / "model.safetensors.index.json", weight_map={"a": "../../secret.safetensors"})
    assert "outside" in refusal(checkpoint, tmp_path / "out")


def test_a_truncated_weight_file(checkpoint: Path, tmp_path: Path) -> None:
    shard = sorted(checkpoint.glob("*.safetensors"))[0]
    os.truncate(shard, shard.stat().st_size - 1)
    assert "cut short" in refusal(checkpoint, tmp_path / "out")


def test_a_broken_tokenizer(checkpoint: Path, tmp_path: Path) -> None:
    (checkpoint / "tokenizer.json").write_text("{}")
    assert "tokenizer" in refusal(checkpoint, tmp_path / "out")


def test_hard_links_across_devices(tiny_llama: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def other_device(source: Path, target: Path) -> None:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    monkeypatch.setattr(linking.os, "link", other_device)
    assert "--link symlink or --link copy" in refusal(tiny_llama, tmp_path / "out")
    make_directory(tiny_llama, tmp_path / "out", Settings(link=Link.SYMLINK, calibration=False))


def test_a_full_disk(tiny_llama: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = sum(file.stat().st_size for file in tiny_llama.glob("*.safetensors"))
    usage = shutil.disk_usage(tmp_path)
    room = (64 << 20) + weights // 2
    monkeypatch.setattr(linking.shutil, "disk_usage", lambda path: usage._replace(free=room))
    assert "free" in refusal(tiny_llama, tmp_path / "out", link=Link.COPY)


def test_whatever_fails_leaves_nothing(tiny_llama: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(tokenizer: Any) -> Any:
        assert left_in(tmp_path) != []
        raise KeyboardInterrupt

    monkeypatch.setattr(directory, "find_markers", interrupted)
    with pytest.raises(KeyboardInterrupt):
        make_directory(tiny_llama, tmp_path / "out", FAST)
    assert left_in(tmp_path) == []


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_stopped_command_leaves_nothing(tiny_llama: Path, tmp_path: Path, stop: signal.Signals) -> None:
    command = [sys.executable, "-m", "sglang_v14.upgrade", str(tiny_llama), str(tmp_path / "out")]
    # A shell's background jobs ignore SIGINT, and so would what they start.
    heed = partial(signal.signal, stop, signal.SIG_DFL)
    process = subprocess.Popen(command, stderr=subprocess.PIPE, preexec_fn=heed)
    deadline = time.monotonic() + 120
    while not left_in(tmp_path) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(stop)
    process.communicate(timeout=120)
    assert process.returncode != 0
    assert left_in(tmp_path) == []


def test_the_command(tiny_llama: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    made = CliRunner().invoke(APP, [str(tiny_llama), out, "--link", "copy", "--heads", "2", "--dtype", "float16"])
    assert made.exit_code == 0, made.output
    assert "2 in" in made.output and "markers: system, user, assistant" in made.output
    assert json.loads((tmp_path / "out" / "config.json").read_text())["dtype"] == "float16"
    checked = CliRunner().invoke(APP, ["--check", out])
    assert checked.exit_code == 0, checked.output
    refused = CliRunner().invoke(APP, [str(tiny_llama), out])
    assert refused.exit_code == 2
    assert "is not empty" in refused.output and "Traceback" not in refused.output
    assert CliRunner().invoke(APP, [str(tiny_llama)]).exit_code == 2
    assert CliRunner().invoke(APP, [str(tiny_llama), out + "2", "--dtype", "int3"]).exit_code == 2


def test_the_check_sees_what_is_wrong(tiny_llama: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    make_directory(tiny_llama, out, Settings(heads=2, link=Link.SYMLINK))
    config = out / "config.json"
    good = json.loads(config.read_text())

    def fault(message: str) -> None:
        with pytest.raises(UpgradeError, match=message):
            check_directory(out)
        config.write_text(json.dumps(good))

    edit(config, architectures=["LlamaForCausalLM"])
    fault("not a V14 directory")
    edit(config, memory={**good["memory"], "recall_floor": 7})
    fault("recall_floor")
    edit(config, memory={**good["memory"], "voting_heads": [[9, 0]]})
    fault("does not exist")
    edit(config, memory={**good["memory"], "voting_heads": [[0, 0], [0, 2], [1, 0]]})
    fault("other voting heads")
    edit(config, memory={**good["memory"], "neutral_bank": ["One."]})
    fault("texts")
    user = {"start": [1, 2, 3], "end": [4]}
    edit(config, memory={**good["memory"], "markers": {**good["memory"]["markers"], "user": user}})
    fault("markers")
    assert "2 voting heads" in check_directory(out)
    next(out.glob("model*.safetensors")).unlink()
    fault("no weight file")
