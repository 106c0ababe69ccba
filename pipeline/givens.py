"""What rules ask beside samples, now: states of targets, boots, ticks that were missed, and what jobs measure."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from alerts.given import (
    ENGINES_LOADING,
    FRESH_BOOT_MS,
    GIVEN,
    LOADING,
    STATES,
    TARGET_STATE,
    TICKS_MISSED,
    UNCLEAN_BOOT,
    Span,
    engines_loading,
    unclean_boots,
)
from alerts.places import Members
from pipeline.targets import Target
from telemetry.catalog import cluster
from telemetry.frame import Floats
from telemetry.model import Scope
from telemetry.states import TargetState

MISSED_MS = 300_000
FEWEST_MS = 60_000
"""Of fewer ticks than these no share is told: one that is late while everything starts would be one of ten."""
BOOT_FACT = "boot_id"
KEPT = 2
"""Boots of a node that are remembered: the one that goes on, and the one before."""
NOBODY = Members()
Given = Mapping[str, Mapping[str, Floats]]


class Givens:
    """One collector's. interval_ms: between two ticks."""

    def __init__(self, interval_ms: float) -> None:
        self._ticks = max(round(MISSED_MS / interval_ms), 1)
        self._fewest = max(round(FEWEST_MS / interval_ms), 1)
        self._skipped: deque[int] = deque(maxlen=self._ticks)
        self._boots: dict[str, list[Span]] = {}
        self._stops: dict[str, Span] = {}
        self._watched: set[str] = set()
        self._doubted: set[str] = set()
        self._told: dict[str, dict[str, float]] = {}

    def boot(self, node: str, boot_id: str, at_ms: int) -> None:
        """A node says which boot it is of. One that had not answered before may have been shut down unwatched."""
        known = self._boots.setdefault(node, [])
        if known and known[-1].text == boot_id:
            return
        if known:
            known[-1] = replace(known[-1], end_ms=at_ms)
        self._boots[node] = [*known, Span(at_ms, None, boot_id)][-KEPT:]
        self._doubted.discard(node)
        if node not in self._watched:
            self._doubted.add(node)

    def saw(self, node: str) -> None:
        """An earlier collector told that the latest boot of a node was unclean, so that it had watched."""
        self._doubted.discard(node)

    def stopped(self, node: str, span: Span) -> None:
        """A node was silent after its agent had said goodbye."""
        self._stops[node] = span

    def skipped(self, ticks: int) -> None:
        """So many ticks were left out before the one to come."""
        if ticks:
            self._skipped.append(ticks)

    def tell(self, metric: str, value: float | None, owner: str = "") -> None:
        """What a job has found; None takes it back."""
        told = self._told.setdefault(metric, {})
        told.pop(owner, None)
        if value is not None:
            told[owner] = value

    def at(self, tick: int, targets: Iterable[Target], members: Members = NOBODY) -> Given:
        """Everything that is known at a tick, as arrays of one."""
        found: dict[str, dict[str, Floats]] = {name: {} for name in GIVEN}
        for target in targets:
            found[TARGET_STATE.name][target.name] = np.array([self._state(target, tick)])
            if target.is_node:
                found[UNCLEAN_BOOT.name][target.name] = self._boot(target.name, tick)
        states = found[TARGET_STATE.name]
        servers = {
            name: states[name] for name, kind in members.targets.items() if kind is Scope.ENGINE and name in states
        }
        if any(codes[0] in LOADING for codes in servers.values()):
            found[ENGINES_LOADING.name] = engines_loading(servers, members)
        else:
            nodes = (name for name, kind in members.targets.items() if kind is Scope.NODE)
            found[ENGINES_LOADING.name] = dict.fromkeys(nodes, np.zeros(1))
        found[TICKS_MISSED.name][cluster.CLUSTER_TARGET] = np.array([self._missed()])
        for name, told in self._told.items():
            for owner, value in told.items():
                key = owner or cluster.CLUSTER_TARGET
                if GIVEN[name].scope is Scope.DEPLOYMENT:
                    key = f"{cluster.DEPLOYMENT_PREFIX}{owner}"
                found[name][key] = np.array([value])
        return found

    def _state(self, target: Target, tick: int) -> float:
        """Code of a target's state; unknown while it was never asked, which says nothing of it, and of an engine that
        never served: it cannot have gone."""
        state = target.health.verdict.state
        if state is TargetState.OK:
            self._watched.add(target.name)
        if target.is_node and state is TargetState.STOPPED:
            self._stops[target.name] = Span(target.health.failing_so_since or tick, None, state.value)
        elif target.name in self._stops and self._stops[target.name].end_ms is None and target.health.last_ok_ms:
            self._stops[target.name] = replace(self._stops[target.name], end_ms=tick)
        code = float(STATES.index(state.value))
        never = not target.is_node and not target.before.ever and code not in LOADING
        return math.nan if never or state is TargetState.NOT_YET_SCRAPED else code

    def _boot(self, node: str, tick: int) -> Floats:
        boots = self._boots.get(node, [])
        if len(boots) < KEPT or tick - boots[-1].start_ms >= FRESH_BOOT_MS:
            return np.zeros(1)
        stops = [self._stops[node]] if node in self._stops else []
        found = unclean_boots(boots, stops, np.array([tick], dtype=np.int64))
        return np.where(found == 1.0, math.nan, found) if node in self._doubted else found

    def _missed(self) -> float:
        """Share of the last ticks that were left out; unknown of too few."""
        self._skipped.append(0)
        missed = sum(self._skipped)
        counted = len(self._skipped) - sum(one > 0 for one in self._skipped) + missed
        return missed / counted if counted >= self._fewest else math.nan
