"""Starting, awaiting, stopping and restarting a server that runs in processes of its own."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

import httpx

_LAST_LINES = 25
_POLL_SECONDS = 0.5
_KILL_SECONDS = 5.0


class ServerFailed(Exception):
    """The server ended, or did not answer in time; the message ends with the last lines of its log."""


class Server:
    """A server command in its own process group, its output in a log file.

    `command` is started as it is and expected to listen on `port` of 127.0.0.1 and to answer 200 at `health_path` once
    it is ready. `on_log_line` is called with the newest line of the log while the start is awaited. Used as a context
    manager it starts on entering and stops on leaving.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        port: int,
        log: Path,
        environment: Mapping[str, str] | None = None,
        health_path: str = "/health",
        start_seconds: float = 900.0,
        stop_seconds: float = 60.0,
        on_log_line: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.command = list(command)
        self.base_url = f"http://127.0.0.1:{port}"
        self.log = log
        self._environment = {**os.environ, **(environment or {})}
        self._health_url = self.base_url + health_path
        self._start_seconds = start_seconds
        self._stop_seconds = stop_seconds
        self._on_log_line = on_log_line
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def pid(self) -> int | None:
        """The first process's id, which is also the group's; None when nothing runs."""
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Start the command and return when it answers. The log is appended to.

        Raises ServerFailed when something else answers at the port already, when the command cannot be run, ends early,
        or is not ready in time; then nothing of it is left running.
        """
        if self._process is not None:
            raise ServerFailed("the server is running already")
        if self._answers():
            raise ServerFailed(f"something else answers at {self._health_url} already: choose another port")
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            seen = log.tell()
            self._process = self._spawn(log)
        try:
            self._await_ready(seen)
        except BaseException:
            self.kill()
            raise

    def stop(self) -> None:
        """Ask the server to end (SIGTERM), wait, and end by force what is left of its process group."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End the whole process group at once (SIGKILL), as a crash would."""
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        """Stop and start again."""
        self.stop()
        self.start()

    def log_tail(self, lines: int = _LAST_LINES) -> str:
        """The last lines of the log."""
        return "\n".join(_text_from(self.log, 0).splitlines()[-lines:])

    def _spawn(self, log: BinaryIO) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._environment,
                start_new_session=True,
            )
        except OSError as error:
            raise ServerFailed(f"cannot run {self.command[0]}: {error}") from error

    def _await_ready(self, seen_bytes: int) -> None:
        assert self._process is not None
        deadline = time.monotonic() + self._start_seconds
        newest = ""
        while not self._answers():
            code = self._process.poll()
            if code is not None:
                raise ServerFailed(
                    f"the server ended with {code} while starting; its log {self.log} ends:\n{self.log_tail()}"
                )
            if time.monotonic() > deadline:
                waited = f"{self._start_seconds:.0f} s"
                raise ServerFailed(
                    f"the server is not ready after {waited}; its log {self.log} ends:\n{self.log_tail()}"
                )
            lines = [line for line in _text_from(self.log, seen_bytes).splitlines() if line.strip()]
            if lines and lines[-1] != newest:
                newest = lines[-1]
                self._on_log_line(newest)
            time.sleep(_POLL_SECONDS)

    def _answers(self) -> bool:
        try:
            return httpx.get(self._health_url, timeout=5.0, trust_env=False).status_code == httpx.codes.OK
        except httpx.HTTPError:
            return False

    def _end(self, first_signal: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        _signal_group(process.pid, first_signal)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(self._stop_seconds)
        # Workers may outlive the first process; the group's id stays theirs until the last one is gone. The next server
        # needs their locks and ports, so their end is awaited.
        _signal_group(process.pid, signal.SIGKILL)
        process.wait()
        deadline = time.monotonic() + _KILL_SECONDS
        while _signal_group(process.pid, signal.SIGKILL) and time.monotonic() < deadline:
            time.sleep(0.02)


def serve_command(model: Path, port: int, *arguments: str) -> list[str]:
    """The command that serves a model directory with this installation's `sglang-v14 serve` on 127.0.0.1."""
    beside = Path(sys.executable).with_name("sglang-v14")
    program = str(beside) if beside.exists() else "sglang-v14"
    return [program, "serve", "--model-path", str(model), "--host", "127.0.0.1", "--port", str(port), *arguments]


def _signal_group(group: int, number: signal.Signals) -> bool:
    """Signal every process of the group; False when none is left."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    return True


def _text_from(log: Path, start_bytes: int) -> str:
    with log.open("rb") as stream:
        stream.seek(start_bytes)
        return stream.read().decode(errors="replace")
