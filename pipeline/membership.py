"""Membership: which nodes a deployment uses, by what they did while it worked: known also while it is silent."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pipeline.deployments import EngineId
from pipeline.digest import FINGERPRINT
from pipeline.recorded import engine_of
from pipeline.window import Window as Samples
from runs.activity import Window, windows
from runs.evidence import RDMA, Evidence
from runs.fingerprint import Fingerprint
from runs.model import Run
from storage.records import RunFilter
from storage.store import Store
from telemetry.catalog import engine, gpu
from telemetry.frame import Frame

SEEN_MS = 100_000
"""How far back one look goes; the next one follows before that is over."""
REMEMBERED_MS = 30 * 86_400_000
"""Runs that are older say nothing of who serves now."""
READ = frozenset((gpu.GPU_POWER.name, gpu.GPU_UTILIZATION.name, engine.GENERATION_TOKENS.name, *RDMA))
NODES = "nodes"
Nodes = frozenset[str]


@dataclass
class Membership:
    """One collector's. worked: nodes that were seen at work in the run that goes on, by its number."""

    worked: dict[int, Nodes] = field(default_factory=dict)

    def look(
        self,
        store: Store,
        samples: Samples,
        deployments: Mapping[str, Sequence[EngineId]],
        going: Mapping[str, int],
        now_ms: int,
    ) -> dict[str, Nodes]:
        """Nodes of each deployment as far as there is evidence: those that people name of its newest run; those that
        were at work in it; else those of the newest run before that tells any.

        going: number of the run that goes on, by deployment.
        """
        frame = samples.frame(READ, start_ms=now_ms - SEEN_MS, end_ms=now_ms)
        seen = at_work(frame, deployments, now_ms)
        worked = {run: self.worked.get(run, Nodes()) | seen.get(name, Nodes()) for name, run in going.items()}
        self.worked = {run: nodes for run, nodes in worked.items() if nodes}
        names = {*deployments, *going, *(run.deployment for run in store.runs(RunFilter(live=True)))}
        found = {name: self._of(store, name, now_ms) for name in names}
        return {name: nodes for name, nodes in found.items() if nodes}

    def _of(self, store: Store, deployment: str, now_ms: int) -> Nodes:
        runs = store.runs(RunFilter(deployment, start_ms=now_ms - REMEMBERED_MS))
        told = (self._told(store, run) for run in runs if run.own)
        return next((nodes for nodes in told if nodes), Nodes())

    def _told(self, store: Store, run: Run) -> Nodes:
        if run.nodes is not None:
            return Nodes(run.nodes)
        if run.live:
            return self.worked.get(run.id, Nodes())
        part = store.run_part(run.id, FINGERPRINT)
        return _printed(None if part is None else part[1])


def of_nodes(nodes: Collection[str], names: Collection[str], evidence: Mapping[str, Collection[str]]) -> dict[str, str]:
    """Node → deployment. One that several claim is of none. Where there is one deployment, and no evidence of it, all
    nodes are of it.

    >>> of_nodes(["a", "b"], ["k3"], {}), of_nodes(["a", "b", "c"], ["k3", "glm"], {"k3": ["a", "b"], "glm": ["b"]})
    ({'a': 'k3', 'b': 'k3'}, {'a': 'k3'})
    """
    claims = {name: frozenset(evidence.get(name, ())) for name in sorted(names)}
    if len(claims) == 1 and not any(claims.values()):
        return dict.fromkeys(nodes, *claims)
    claimed = {node: [name for name, mine in claims.items() if node in mine] for node in nodes}
    return {node: by[0] for node, by in claimed.items() if len(by) == 1}


@dataclass
class Past:
    """Who used what at an instant of the past: by the newest run that had begun by then and tells of it."""

    store: Store
    start_ms: int
    end_ms: int

    def at(self, at_ms: int) -> dict[str, Nodes]:
        """Nodes by deployment."""
        found: dict[str, Nodes] = {}
        for start_ms, deployment, nodes in self._told:
            if start_ms <= at_ms:
                found[deployment] = nodes
        return found

    @cached_property
    def _told(self) -> list[tuple[int, str, Nodes]]:
        """(start, deployment, nodes) of runs, oldest first."""
        runs = [
            run
            for run in self.store.runs(RunFilter(start_ms=self.start_ms - REMEMBERED_MS, end_ms=self.end_ms))
            if run.own
        ]
        parts = self.store.run_parts(FINGERPRINT, [run.id for run in runs if run.nodes is None])
        told = [(run, Nodes(run.nodes) if run.nodes is not None else _printed(parts.get(run.id))) for run in runs]
        return [(run.start_ms, run.deployment, nodes) for run, nodes in reversed(told) if nodes]


def _printed(part: Any) -> Nodes:
    """Nodes that a fingerprint names."""
    nodes = None if part is None else Fingerprint.from_json(part).find(NODES)
    return Nodes() if nodes is None else Nodes(str(nodes.value).split(", "))


def at_work(frame: Frame, deployments: Mapping[str, Sequence[EngineId]], now_ms: int) -> dict[str, Nodes]:
    """Nodes that were busy while output tokens of one deployment came, and of no other.

    frame: samples of `READ`. While several decode at once nothing says whose a busy node is.
    """
    machines = frame.select(lambda series: series.metric != engine.GENERATION_TOKENS.name)
    active = {name: _active(frame, engines, now_ms) for name, engines in deployments.items()}
    found: dict[str, Nodes] = {}
    for name, mine in active.items():
        others = [one for other, theirs in active.items() if other != name for one in theirs]
        evidence = Evidence()
        evidence.add(machines, without(mine, others))
        found[name] = Nodes(evidence.told())
    return found


def _active(frame: Frame, engines: Collection[EngineId], now_ms: int) -> list[Window]:
    members = frozenset(engines)
    tokens = frame.select(
        lambda series: series.metric == engine.GENERATION_TOKENS.name and engine_of(series) in members
    )
    return windows(tokens, now_ms - SEEN_MS, now_ms) if len(tokens.series) else []


def without(mine: Iterable[Window], others: Iterable[Window]) -> list[Window]:
    """What is left of windows outside of others; their tokens are not told.

    >>> [(one.start_ms, one.end_ms) for one in without([Window(0, 10, 5)], [Window(2, 3, 1), Window(8, 20, 1)])]
    [(0, 2), (3, 8)]
    """
    left = list(mine)
    for other in others:
        parts = ((one, Window(one.start_ms, min(one.end_ms, other.start_ms), 0.0)) for one in left)
        before = [cut for _, cut in parts]
        after = [Window(max(one.start_ms, other.end_ms), one.end_ms, 0.0) for one in left]
        left = [one for one in (*before, *after) if one.start_ms < one.end_ms]
    return sorted(left, key=lambda one: one.start_ms)
