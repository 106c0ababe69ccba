"""A store with alerts of a test's making: what a collector would commit, told and delivered with a clock in hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from alerts.defaults import defaults
from alerts.machine import Phase, Standing
from alerts.notices import Channel
from alerts.record import Alert, Silence
from alerts.rule import Rule, rules
from pipeline.notify.destination import Destination
from pipeline.notify.sender import Sender
from pipeline.notify.teller import Teller
from pipeline.notify.transport import Transport
from storage.records import Batch
from storage.store import Store, open_store

RULES = rules(defaults())
START_MS = 1_790_000_000_000
OPS = Channel("ops", gather_ms=0)


class Watch:
    """Alerts of nodes that are told and delivered; seconds are counted from the beginning."""

    def __init__(self, path: Path, destinations: Sequence[Destination], start_ms: int = START_MS) -> None:
        self.start_ms = start_ms
        self.store: Store = open_store(str(path), writer=True, now_ms=start_ms)
        self.second = 0
        self.silences: list[Silence] = []
        self.rules: dict[str, Rule] = RULES
        self.alerts: dict[int, Alert] = {}
        self._destinations = destinations
        self.begin_again()

    def begin_again(self) -> None:
        """Another collector and another sender."""
        self.teller = Teller([one.channel for one in self._destinations])
        self.teller.resume(self.store.memories(), self.store.alert)
        self.sender = Sender(
            self.store,
            self._destinations,
            Transport().deliver,
            lambda: self.rules,
            "http://hub:8050",
        )

    def change(self, destinations: Sequence[Destination]) -> None:
        """Another collector and another sender, of other settings."""
        self._destinations = destinations
        self.begin_again()

    @property
    def now_ms(self) -> int:
        return self.start_ms + self.second * 1000

    def fire(self, number: int, node: str, severity: str = "critical", rule: str = "node_silent") -> Alert:
        """An alert that fires now."""
        now = self.now_ms
        return Alert(number, rule, "Node silent", "node", (node,), severity, "", now, now, f"{node}: silent")

    def end(self, alert: Alert) -> Alert:
        """The same, over now."""
        return replace(alert, ended_ms=self.now_ms, ended="it is well again", revision=alert.revision + 1)

    def decide(self, *changed: Alert) -> None:
        """A tick with these changes: told and committed, not delivered."""
        self.alerts |= {alert.id: alert for alert in changed}
        firing = [alert for alert in self.alerts.values() if alert.firing]
        standings = {
            (one.rule, one.key): Standing(Phase.FIRING, 0, 0, seen_ms=self.now_ms, holds=True) for one in firing
        }
        spoken = self.teller.tick(self.now_ms, firing, changed, standings, self.silences, self.rules)
        batch = Batch(alerts=changed, silences=self.silences, notices=spoken.notices, memories=spoken.memories)
        self.store.commit(batch, self.now_ms)

    def deliver(self) -> None:
        """What is due goes out."""
        self.sender.step(self.now_ms)
        self.sender.finish()

    def tick(self, *changed: Alert) -> None:
        """A second: decided and delivered."""
        self.second += 1
        self.decide(*changed)
        self.deliver()

    def wait(self, seconds: int) -> None:
        """So many seconds without a change."""
        for _ in range(seconds):
            self.tick()

    def close(self) -> None:
        self.store.close()
