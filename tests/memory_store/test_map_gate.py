"""LMDB's map must not change under an open transaction."""

from __future__ import annotations

import threading

from memory_store.map_gate import MapGate

LONG_SECONDS = 30
SHORT_SECONDS = 0.05


def test_a_change_waits_for_transactions_and_keeps_new_ones_out() -> None:
    gate = MapGate()
    order: list[str] = []
    changed, entered = threading.Event(), threading.Event()

    def change() -> None:
        with gate.map_change():
            order.append("changed")
        changed.set()

    def enter() -> None:
        with gate.transaction():
            order.append("entered")
        entered.set()

    with gate.transaction(), gate.transaction():
        threading.Thread(target=change, daemon=True).start()
        assert not changed.wait(SHORT_SECONDS)
        threading.Thread(target=enter, daemon=True).start()
        assert not entered.wait(SHORT_SECONDS)
        order.append("left")
    assert changed.wait(LONG_SECONDS) and entered.wait(LONG_SECONDS)
    assert order == ["left", "changed", "entered"]


def test_an_error_inside_opens_the_gate_again() -> None:
    gate = MapGate()
    for use in (gate.transaction, gate.map_change):
        try:
            with use():
                raise RuntimeError
        except RuntimeError:
            pass
    with gate.map_change():
        pass
    with gate.transaction():
        pass
