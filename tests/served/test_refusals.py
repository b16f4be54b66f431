"""What would be silently wrong stops the server with one sentence."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from sglang_v14.evals.server import Server, ServerFailed


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--pp-size", "2"), "pipeline parallelism"),
        (("--attention-backend", "triton"), "attention back end"),
    ],
)
def test_arguments(
    start_server: Callable[..., Server], tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    server = start_server(tmp_path, *arguments)
    with pytest.raises(ServerFailed, match=sentence):
        server.start()


def test_unwritable_home(start_server: Callable[..., Server], tmp_path: Path) -> None:
    """The path lies under a regular file."""
    (tmp_path / "file").write_text("")
    server = start_server(tmp_path / "file" / "memory")
    with pytest.raises(ServerFailed, match="sglang-v14"):
        server.start()


def test_a_store_of_another_model(start_server: Callable[..., Server], server: Server, tmp_path: Path) -> None:
    """Its folder carries this model's name, its identity another one's."""
    home = Path(server._environment["SGLANG_V14_MEMORY_HOME"])
    (folder,) = [path for path in home.iterdir() if path.is_dir()]
    copy = tmp_path / folder.name
    shutil.copytree(folder, copy)
    identity = (copy / "identity.json").read_text()
    (copy / "identity.json").write_text(identity.replace('"head_dim": 64', '"head_dim": 128'))
    with pytest.raises(ServerFailed, match="head_dim"):
        start_server(tmp_path).start()
