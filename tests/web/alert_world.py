"""Alerts in the small cluster, and a collector that does nothing but carry out what people ask of them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from alerts.machine import Phase, Standing
from alerts.record import Alert, RuleState, Silence, standings_json
from alerts.rulebook import Rulebook
from alerts.view import View
from pipeline.alarms import alarms_of
from pipeline.inbox import Inbox
from storage.records import Batch
from telemetry.frame import empty
from tests.web.world import World, tick

VALUES = (
    {
        "metric": "gpu_temperature_celsius",
        "label": "GPU temperature",
        "value": 88.0,
        "text": "88.0 °C",
        "corroborates": False,
    },
)


def alert(number: int, rule: str, key: tuple[str, ...], fired: int, **more: Any) -> Alert:
    """An alert that fired at a tick; it had been wrong for ten seconds."""
    plain = {
        "severity": "warning",
        "deployment": "Kimi-K3",
        "title": rule,
        "place": "gpu",
        "message": f"{rule} {number}",
    }
    return Alert(number, rule=rule, key=key, began_ms=tick(fired - 10), fired_ms=tick(fired), **{**plain, **more})


SILENT = alert(1, "node_silent", ("spark-01",), 20, severity="critical", deployment="", place="node")
HOT = alert(2, "gpu_hot", ("spark-01", "0"), 25, cause=1, values=VALUES)
SLOW = alert(3, "straggler", ("spark-02", "0"), 30, acknowledged_ms=tick(33), acknowledged_by="ann", run=7)
OVER = alert(4, "kv_full", ("head", "0", "Kimi-K3"), 12, ended_ms=tick(40), ended="it is well again", place="engine")
FAR = alert(5, "gpu_hot", ("spark-03", "0"), 31)
QUIET = Silence(1, tick(0), tick(500), node="spark-03", comment="fan", by="ann", made_ms=tick(0))


def raise_alerts(world: World) -> None:
    """Put them into the store, as the collector does."""
    states = [
        RuleState("gpu_hot", standings_json({HOT.key: _stands(holds=False), FAR.key: _stands(holds=True)})),
        RuleState("gpu_too_hot", standings_json({("spark-02", "0"): Standing(Phase.PENDING, tick(50), tick(50))})),
    ]
    batch = Batch(alerts=[SILENT, HOT, SLOW, OVER, FAR], silences=[QUIET], standings=states)
    world.writer.commit(batch, world.now)


def _stands(*, holds: bool) -> Standing:
    return Standing(Phase.FIRING, tick(25), tick(15), holds=holds, known=holds)


@contextmanager
def collecting(world: World) -> Iterator[None]:
    """A collector's alarms, without a single sample."""
    alarms = alarms_of(world.writer, Rulebook({}, world.writer.rule_changes()), world.now)
    inbox, stop = Inbox(world.writer), threading.Event()

    def tick_on() -> None:
        while not stop.wait(0.02):
            inbox.fetch()
            raised = alarms.tick(world.now, View(empty()), {}, inbox.take_alerts())
            batch = Batch(
                alerts=list(raised.alerts.values()),
                standings=raised.standings,
                rule_changes=raised.changes,
                silences=raised.silences,
                commands=raised.commands,
            )
            world.writer.commit(batch, world.now)

    thread = threading.Thread(target=tick_on)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
