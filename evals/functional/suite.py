"""Runs the checks one after the other."""

import datetime
import time
from collections.abc import Sequence

from .checks import CHECKS
from .client import RequestRefused, SuiteError
from .result import Result, Row
from .run import Run


def run_checks(run: Run, names: Sequence[str] = tuple(CHECKS)) -> Result:
    """The rows of the named checks, in the suite's own order.

    A request refused by the server fails its check, and the suite goes on; a server that is gone ends the run, with the
    rows so far and `Result.stopped`. Raises KeyError for an unknown name.
    """
    for name in names:
        CHECKS[name]
    started, date = time.monotonic(), datetime.datetime.now(datetime.UTC).date().isoformat()
    rows: list[Row] = []
    stopped = None
    for name in (name for name in CHECKS if name in names):
        run.watcher.check_started(name)
        try:
            rows += CHECKS[name](run)
        except RequestRefused as error:
            rows.append(Row(name, name, goal="runs", met=False, note=f"failed: {error}"))
        except SuiteError as error:
            rows.append(Row(name, name, goal="runs", met=False, note="failed: see below"))
            stopped = f"in check {name}: {error}"
            break
        run.watcher.check_ended()
    return Result(
        base_url=run.client.root,
        model=run.client.model,
        date=date,
        plan=run.plan,
        seconds=time.monotonic() - started,
        namespace=run.base_namespace,
        rows=tuple(rows),
        stopped=stopped,
    )
