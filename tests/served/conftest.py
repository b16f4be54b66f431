"""One real SGLang server on the CPU with a real small language model, and an empty memory, for all tests here."""

import importlib.util
import os
import socket
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sglang_v14.evals.functional.client import ChatClient, Memory
from sglang_v14.evals.server import Server, serve_command
from sglang_v14.evals.tiny_hybrid import CHECKPOINT
from sglang_v14.upgrade.directory import Settings, make_directory
from sglang_v14.upgrade.linking import Link
from sglang_v14.upgrade.set_options import parse


@pytest.fixture(scope="session")
def model_directory() -> Path:
    """The V14 directory named by SGLANG_V14_TEST_MODEL, which `make test` makes."""
    named = os.environ.get("SGLANG_V14_TEST_MODEL")
    if not named or importlib.util.find_spec("sglang") is None:
        pytest.skip("needs SGLang and SGLANG_V14_TEST_MODEL; `make test` provides both")
    return Path(named)


@pytest.fixture(scope="session")
def hybrid_directory(model_directory: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The V14 directory of the trained tiny hybrid, made as `docs/tiny-hybrid.md` says."""
    out = tmp_path_factory.mktemp("hybrid") / "tiny-hybrid-v14"
    options = parse(["recall_floor=0.2", "cue_floor=0.1"])
    make_directory(CHECKPOINT, out, Settings(Link.SYMLINK, options=options))
    return out


@pytest.fixture(scope="session")
def start_server(model_directory: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Server]:
    """Makes a server (not yet started) over a memory home, with further arguments and environment."""

    def make(memory_home: Path, *arguments: str, model: Path = model_directory, **environment: str) -> Server:
        port = _free_port()
        return Server(
            serve_command(model, port, *arguments),
            port=port,
            log=tmp_path_factory.mktemp("log") / "server.log",
            environment={"SGLANG_V14_MEMORY_HOME": str(memory_home), "SGLANG_V14_TRACE": "json", **environment},
        )

    return make


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def server(start_server: Callable[..., Server], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The server that the tests of this folder share; each uses namespaces of its own."""
    with start_server(tmp_path_factory.mktemp("memory")) as running:
        yield running
        assert "Traceback" not in running.log.read_text(errors="replace")


@pytest.fixture(scope="session")
def client(server: Server) -> Iterator[ChatClient]:
    client = ChatClient(server.base_url)
    yield client
    client.close()


@pytest.fixture
def memory() -> Memory:
    """A namespace that is used by one test only."""
    return Memory(f"test-{uuid.uuid4().hex}")
