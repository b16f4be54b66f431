"""Tracebacks that the server logged while the suite ran."""

from ..result import Row, Score
from ..run import Run

_TITLE = "Tracebacks in the server's log"


def check(run: Run) -> list[Row]:
    if run.server_log is None:
        return [Row("server-log", _TITLE, goal="none", note="skipped: no log given")]
    with run.server_log.open("rb") as log:
        log.seek(run.log_start_bytes)
        lines = log.read().decode(errors="replace").splitlines()
    found = sum("Traceback (most recent call last)" in line for line in lines)
    return [Row("server-log", _TITLE, Score(found, len(lines)), goal="none", met=found == 0, note="of so many lines")]
