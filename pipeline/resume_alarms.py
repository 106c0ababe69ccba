"""What an earlier collector left in the store of alerts, so that rules go on where they stood."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from alerts.given import FRESH_BOOT_MS, Span
from alerts.rulebook import Rulebook
from pipeline.alarms import alarms_of
from pipeline.givens import BOOT_FACT
from pipeline.hub import Hub
from storage.store import Store
from telemetry.catalog import cluster
from telemetry.states import TargetState

UNCLEAN = "unclean_boot"


def resume_alarms(
    hub: Hub, store: Store, file: Mapping[str, Mapping[str, Any]], now_ms: int, interval_ms: float
) -> None:
    """Rules as people left them, where their instances stood, silences, and the samples that windows reach back to."""
    rulebook = Rulebook(file, store.rule_changes())
    for problem in rulebook.problems:
        hub.note_event(cluster.CLUSTER_TARGET, "alerts", problem, now_ms)
    hub.alarms = alarms_of(store, rulebook, now_ms, interval_ms)
    hub.lookout.read(rulebook.rules.values())
    hub.lookout.warm(store, now_ms)
    hub.teller.resume(store.memories(), store.alert)
    for one in store.facts(name=BOOT_FACT):
        hub.lookout.givens.boot(one.target, one.value, one.start_ms)
    for rule, key in hub.alarms.open:
        if rule == UNCLEAN:
            hub.lookout.givens.saw(key[0])
    for absence in store.absences(now_ms - 2 * FRESH_BOOT_MS, now_ms):
        if absence.metric is None and absence.reason.startswith(TargetState.STOPPED.value):
            hub.lookout.givens.stopped(
                absence.target, Span(absence.start_ms, absence.end_ms, TargetState.STOPPED.value)
            )
