"""What rules may ask beside the catalogue: what the collector knows of its targets and of itself.

Never stored as samples: live it comes from the collector's memory, in a replay from absences, facts and events.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from alerts.places import Members
from telemetry.frame import Floats, Ints
from telemetry.model import Fold, Kind, Metric, Scope, Unit
from telemetry.states import TargetState

STATES = tuple(state.value for state in TargetState)


def _metric(
    name: str, label: str, text: str, unit: Unit, kind: Kind, scope: Scope, states: tuple[str, ...] = ()
) -> Metric:
    return Metric(name, label, text, unit, kind, scope, "monitor", across=Fold.MAX, states=states)


TARGET_STATE = _metric(
    "target_state",
    "State",
    "How a node's agent or an engine answered last, or why it did not.",
    Unit.STATE,
    Kind.STATE,
    Scope.TARGET,
    STATES,
)
UNCLEAN_BOOT = _metric(
    "unclean_boot",
    "Boot without shutdown",
    "1 for ten minutes after a node came back with another boot id, without its agent having said goodbye.",
    Unit.COUNT,
    Kind.GAUGE,
    Scope.TARGET,
)
TICKS_MISSED = _metric(
    "ticks_missed_ratio",
    "Ticks missed",
    "Share of the ticks of the last five minutes, or since it began, that the collector skipped.",
    Unit.RATIO,
    Kind.GAUGE,
    Scope.CLUSTER,
)
STORE_FILL = _metric(
    "store_fill_ratio",
    "Store, of its limit",
    "Size of the store as a share of its size limit, or of what the disk leaves it, whichever is more.",
    Unit.RATIO,
    Kind.GAUGE,
    Scope.CLUSTER,
)
CHANNEL_FAILING = _metric(
    "channel_failing",
    "Channel failing",
    "1 while a notification channel does not take messages: its last was tried twice in vain, waits, or was given up.",
    Unit.COUNT,
    Kind.GAUGE,
    Scope.TARGET,
)
COMMIT_AGE = _metric(
    "commit_age_seconds",
    "Age of the last commit",
    "For how long the collector has not written anything to the store.",
    Unit.SECONDS,
    Kind.GAUGE,
    Scope.CLUSTER,
)
ENGINES_LOADING = _metric(
    "engines_loading",
    "Engines loading",
    "Engines that load their weights on a node: of its deployment, and those of which no node is known.",
    Unit.COUNT,
    Kind.GAUGE,
    Scope.NODE,
)
BASELINE_SPEED = _metric(
    "baseline_speed_ratio",
    "Speed of the baseline",
    "Upper end of the interval of speed at equal concurrency, as a share of the pinned baseline's.",
    Unit.RATIO,
    Kind.GAUGE,
    Scope.DEPLOYMENT,
)

GIVEN: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (
        TARGET_STATE,
        UNCLEAN_BOOT,
        TICKS_MISSED,
        STORE_FILL,
        CHANNEL_FAILING,
        COMMIT_AGE,
        ENGINES_LOADING,
        BASELINE_SPEED,
    )
}
FRESH_BOOT_MS = 600_000
UNWATCHED_MS = 60_000
REBOOT_MS = 120_000
"""How long before a boot is seen a clean stop may be over: the agent answers before it says of which boot it is."""
LOADING = tuple(STATES.index(state.value) for state in (TargetState.LOADING, TargetState.RESTARTING))


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch in which something was so: start ≤ t < end; end_ms None goes on."""

    start_ms: int
    end_ms: int | None
    text: str


def state_codes(absences: Iterable[Span], ticks: Ints) -> Floats:
    """State of a target at each tick, out of the stretches in which it did not answer: float64[tick].

    The text of a stretch begins with the state ("refused: nobody listens there"). In all other time it answered.
    """
    codes = np.zeros(len(ticks))
    for span in absences:
        state = span.text.partition(":")[0]
        inside = (ticks >= span.start_ms) & ((ticks < span.end_ms) if span.end_ms is not None else True)
        codes[inside] = STATES.index(state) if state in STATES else np.nan
    return codes


def unclean_boots(boots: Iterable[Span], absences: Iterable[Span], ticks: Ints) -> Floats:
    """1 for ten minutes after each boot that was not preceded by a goodbye, else 0: float64[tick]. NaN where nobody
    had looked for a while before it: it may have been a planned one.

    boots: stretches of one boot id. The first is no boot that was seen.
    """
    stopped = [span for span in absences if span.text.startswith(TargetState.STOPPED.value)]
    found = np.zeros(len(ticks))
    for before, boot in pairwise(sorted(boots, key=lambda span: span.start_ms)):
        clean = any(
            span.end_ms is None
            or max(before.start_ms, boot.start_ms - REBOOT_MS) < span.end_ms <= boot.start_ms + FRESH_BOOT_MS
            for span in stopped
        )
        if before.text != boot.text and not clean:
            looked = ticks[ticks < boot.start_ms]
            watched = not len(looked) or boot.start_ms - looked[-1] <= UNWATCHED_MS
            fresh = (ticks >= boot.start_ms) & (ticks < boot.start_ms + FRESH_BOOT_MS)
            found[fresh] = 1.0 if watched else np.nan
    return found


def engines_loading(codes: Mapping[str, Floats], members: Members) -> dict[str, Floats]:
    """How many engines load their weights, for each node: float64[tick]. codes: states of engines' servers."""
    owned = set(members.nodes.values())
    by_deployment: dict[str | None, Floats] = {}
    for server, states in codes.items():
        deployment = members.servers.get(server)
        where = deployment if deployment in owned else None
        loading = np.isin(states, LOADING).astype(np.float64)
        by_deployment[where] = by_deployment[where] + loading if where in by_deployment else loading
    nowhere = by_deployment.get(None, np.zeros(1))
    summed = {where: found + nowhere for where, found in by_deployment.items() if where is not None}
    nodes = (name for name, kind in members.targets.items() if kind is Scope.NODE)
    return {node: summed.get(members.nodes.get(node, ""), nowhere) for node in nodes}
