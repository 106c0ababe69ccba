"""A scene of hours ago, as far as the factors of the speed need it: read from the tail, or from history before that."""

from __future__ import annotations

from dataclasses import replace

from dashboard.live.scene import LEAD_MS, SHOWN_MS, Models, Scene, names
from dashboard.sources import Sources
from telemetry.catalog import cluster, engine
from telemetry.model import Metric, part

METRICS: tuple[Metric, ...] = (
    engine.GENERATION_TOKENS,
    engine.PROMPT_TOKENS,
    engine.REQUESTS_RUNNING,
    engine.DRAFTS,
    engine.DRAFT_TOKENS,
    engine.ACCEPTED_TOKENS,
    part(engine.ITL, "sum"),
    part(engine.ITL, "count"),
    cluster.RECORDED_DECODE,
    cluster.RECORDED_DECODE_1S,
    cluster.PREFILL_SECONDS,
    cluster.CLUSTER_WORST_CAGE,
)


def earlier(scene: Scene, end_ms: int, sources: Sources) -> Scene:
    """The same engines and deployments at an earlier tick: what ran, and the prefills. Nodes are those of now."""
    targets = sorted({series.target for series in scene.engines.series})
    start = end_ms - SHOWN_MS
    deployments = [name for name in targets if name.startswith(cluster.DEPLOYMENT_PREFIX)]
    return replace(
        scene,
        tick=end_ms,
        engines=sources.frame(names(METRICS), int(start - LEAD_MS), end_ms, targets),
        episodes=tuple(
            episode
            for name in deployments
            for episode in sources.store.episodes(name.removeprefix(cluster.DEPLOYMENT_PREFIX), start, end_ms)
        ),
        models=Models().at(sources.store, end_ms),
        kept={},
    )
