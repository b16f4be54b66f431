"""Starting and stopping servers, with nothing left behind."""

import json
import os
import socket
import sys
from pathlib import Path

import httpx
import pytest

from sglang_v14.evals.server import Server, ServerFailed, serve_command

FAKE = str(Path(__file__).with_name("served_fake.py"))


@pytest.fixture
def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def fake(tmp_path: Path, port: int, behaviour: dict | None = None, **options) -> Server:
    command = [sys.executable, FAKE, str(port), json.dumps(behaviour or {})]
    environment = {"SGLANG_V14_MEMORY_HOME": str(tmp_path)}
    return Server(command, port=port, log=tmp_path / "server.log", environment=environment, **options)


def answers(server: Server) -> bool:
    try:
        return httpx.get(f"{server.base_url}/health", trust_env=False).is_success
    except httpx.ConnectError:
        return False


def test_a_server_answers_inside_the_context_only(tmp_path, port):
    lines = []
    with fake(tmp_path, port, on_log_line=lines.append) as server:
        assert answers(server)
        assert server.pid
    assert not answers(server)
    assert server.pid is None
    assert "ready" in server.log_tail()


def test_a_restart_is_another_process(tmp_path, port):
    with fake(tmp_path, port) as server:
        first = server.pid
        server.restart()
        assert answers(server)
        assert server.pid != first
    assert (tmp_path / "stored.json").exists()


def test_a_kill_leaves_no_time_to_save(tmp_path, port):
    server = fake(tmp_path, port)
    server.start()
    server.kill()
    assert not answers(server)
    assert not (tmp_path / "stored.json").exists()


def test_a_server_that_ends_while_starting_shows_its_log(tmp_path, port):
    log = tmp_path / "server.log"
    server = Server([sys.executable, "-c", "import sys; sys.exit('no such model')"], port=port, log=log)
    with pytest.raises(ServerFailed, match=r"ended with 1 while starting(.|\n)*no such model"):
        server.start()
    assert server.pid is None


def test_a_server_that_never_gets_ready_is_ended_with_its_children(tmp_path, port):
    pids = tmp_path / "pids"
    script = f"sleep 600 & echo $! > {pids}; echo still loading; wait"
    lines = []
    server = Server(
        ["sh", "-c", script], port=port, log=tmp_path / "server.log", start_seconds=1.2, on_log_line=lines.append
    )
    with pytest.raises(ServerFailed, match=r"not ready after 1 s(.|\n)*still loading"):
        server.start()
    assert lines == ["still loading"]
    child = int(pids.read_text())
    state = Path(f"/proc/{child}/stat")
    assert not state.exists() or state.read_text().split()[2] == "Z"


def test_a_taken_port_is_refused(tmp_path, port):
    with fake(tmp_path, port) as server:
        other = fake(tmp_path, port)
        with pytest.raises(ServerFailed, match="something else answers"):
            other.start()
        assert answers(server)


def test_a_missing_command_is_named(tmp_path, port):
    with pytest.raises(ServerFailed, match="cannot run no-such-program"):
        Server(["no-such-program"], port=port, log=tmp_path / "server.log").start()


def test_starting_twice_is_refused(tmp_path, port):
    with fake(tmp_path, port) as server, pytest.raises(ServerFailed, match="running already"):
        server.start()


def test_the_serve_command():
    command = serve_command(Path("/models/m"), 32000, "--tp", "2")
    assert os.path.basename(command[0]) == "sglang-v14"
    assert command[1:] == ["serve", "--model-path", "/models/m", "--host", "127.0.0.1", "--port", "32000", "--tp", "2"]
