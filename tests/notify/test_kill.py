"""kill -9 of whoever decides and of whoever delivers, at random: each transition is told, and a repeat is rare."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from alerts.outbox import State
from storage.store import open_store
from tests.notify.receivers import Hook, hook

ROOT = Path(__file__).parent.parent.parent


def start(role: str, path: Path, start_ms: int, receiver: Hook) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.notify.mortal", role, str(path), str(start_ms), receiver.url()]
    made = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert made.stdout is not None
    assert made.stdout.readline() == "ready\n"
    return made


def kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


def story(path: Path, kills: int, seed: int) -> None:
    """Both are killed so often, in turn; at the end what waits is delivered."""
    chance = random.Random(seed)
    start_ms = time.time_ns() // 1_000_000 - 3_600_000
    with hook() as receiver:
        running = {"collector": start("collector", path, start_ms, receiver)}
        running["sender"] = start("sender", path, start_ms, receiver)
        for turn in range(kills):
            role = ("sender", "collector")[turn % 2]
            receiver.heard.clear()
            if role == "sender" and chance.random() < 0.5:
                receiver.heard.wait(5)  # right behind a message that arrived
            else:
                time.sleep(chance.uniform(0.05, 0.4))
            kill(running[role])
            running[role] = start(role, path, start_ms, receiver)
        kill(running["collector"])
        store = open_store(str(path), writer=False, now_ms=0)
        deadline = time.monotonic() + 60
        while store.outgoing(state=State.WAITING) and time.monotonic() < deadline:
            time.sleep(0.05)
        kill(running["sender"])
        outgoing, alerts = store.outgoing(), store.alerts()
        store.close()
    assert {one.state for one in outgoing} <= {State.SENT, State.DROPPED}
    decided = Counter((number, word.value) for one in outgoing for number, word in one.words or ())
    expected = {(one.id, "firing") for one in alerts} | {(one.id, "resolved") for one in alerts if not one.firing}
    assert decided == dict.fromkeys(expected, 1)
    times = Counter(body["id"] for body in receiver.bodies())
    assert {one.id for one in outgoing if one.state is State.SENT} <= set(times)
    assert sum(times.values()) - len(times) <= (kills + 1) // 2 + 1


def test_transitions_are_told_whoever_is_killed(tmp_path: Path) -> None:
    story(tmp_path / "store.db", 5, seed=5)


@pytest.mark.live
def test_transitions_are_told_whoever_is_killed_fifty_times(tmp_path: Path) -> None:
    story(tmp_path / "store.db", 50, seed=50)
