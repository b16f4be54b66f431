"""The fake server as a command: ``served_fake.py PORT BEHAVIOUR``; its memory is kept in SGLANG_V14_MEMORY_HOME."""

import json
import os
import signal
import sys
import threading
from pathlib import Path

from fake_server import Behaviour, FakeServer


def main() -> None:
    port, behaviour = int(sys.argv[1]), Behaviour(**json.loads(sys.argv[2]))
    kept = Path(os.environ["SGLANG_V14_MEMORY_HOME"]) / "stored.json"
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    print("loading the model", flush=True)
    with FakeServer(behaviour, port=port) as server:
        if kept.exists() and not behaviour.forgets_on_restart:
            server.stored += [tuple(item) for item in json.loads(kept.read_text())]
        print("ready", flush=True)
        while not ended.wait(0.05):
            pass
        kept.write_text(json.dumps(server.stored))


if __name__ == "__main__":
    main()
