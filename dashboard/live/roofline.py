"""The step time against the roofline: a note beside it, and what it is made of or why it cannot be told."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from dashboard.live import current
from dashboard.live.cache import offers
from dashboard.live.reasons import listed
from dashboard.live.scene import Scene
from telemetry import formatting, roofline
from telemetry.catalog import cluster, engine
from telemetry.catalog import ratios as quotients
from telemetry.model import Metric, Unit, part
from telemetry.roofline import MEMORY_BANDWIDTH, Weights

WINDOW_MS = 10_000.0
"""That of the step time on the card."""
LEFT_OUT = "KV cache, draft model, fabric and prefills in the same step are not counted"


class UnknownError(Exception):
    """The roofline cannot be told; the text says why."""


def told(scene: Scene, figures: Mapping[str, Weights]) -> tuple[str, str]:
    """(note, hint): "33.0 % of the roofline" and its definition; no note and the reason where it cannot be told.

    figures: what the model of each deployment weighs.
    """
    try:
        name, weights = _deployment(scene, figures)
        speed, nodes = _bandwidth(scene, weights)
        tokens = _tokens(scene)
    except UnknownError as why:
        return "", f"Roofline: {why}"
    read = roofline.step_bytes(weights, tokens)
    floor = roofline.floor_s(read, speed)
    reached = roofline.share(floor, scene.quotient(quotients.ITL_MEAN, WINDOW_MS))
    if math.isnan(reached):
        return "", "Roofline: nothing is decoded now"
    if reached > 1:
        return "", f"Roofline: steps are shorter than the figures of {name} allow ({_seconds(floor)}); check them"
    return f"{formatting.text(reached, Unit.RATIO)} of the roofline", _definition(weights, tokens, speed, nodes)


def _deployment(scene: Scene, figures: Mapping[str, Weights]) -> tuple[str, Weights]:
    """The one deployment that is served, and its figures."""
    names = sorted({target.removeprefix(cluster.DEPLOYMENT_PREFIX) for target in _served(scene)})
    if len(names) != 1:
        raise UnknownError("steps of several deployments are mixed here" if names else "nothing is served now")
    if names[0] not in figures:
        raise UnknownError(f"set active_bytes of {names[0]} to see it (setting `roofline`)")
    return names[0], figures[names[0]]


def _served(scene: Scene) -> set[str]:
    return {target for target, _ in _fresh(scene, cluster.RECORDED_DECODE)}


def _fresh(scene: Scene, metric: Metric) -> set[tuple[str, str | None]]:
    """(target, engine) of the series of a metric that are known now."""
    frame = scene.engines.select(lambda series: series.metric == metric.name)
    known = ~np.isnan(current.newest(frame, scene.tick))
    return {(frame.series[row].target, frame.series[row].label("engine")) for row in np.flatnonzero(known)}


def _bandwidth(scene: Scene, weights: Weights) -> tuple[float, int]:
    """Bytes per second that the nodes of one engine read together, and how many nodes these are."""
    names = [target.name for target in scene.node_targets]
    nodes = len(names) if weights.nodes is None else weights.nodes
    if nodes == 0:
        raise UnknownError("no node is watched; set how many take part (nodes)")
    if weights.nodes is None and _engines(scene) > 1:
        raise UnknownError("several engines step by themselves; set how many nodes one of them has (nodes)")
    if weights.bandwidth is not None:
        return weights.bandwidth * nodes, nodes
    each = {name: sum((MEMORY_BANDWIDTH.get(gpu, math.nan) for gpu in scene.gpus.get(name, ())), 0.0) for name in names}
    dark = [name for name, speed in each.items() if not speed > 0]
    if dark or not each:
        raise UnknownError(f"memory bandwidth of {listed(dark) or 'the nodes'} is not known; set bandwidth")
    if weights.nodes is None:
        return sum(each.values()), nodes
    if len(set(each.values())) > 1:
        raise UnknownError("nodes differ in memory; set bandwidth")
    return each[names[0]] * nodes, nodes


def _engines(scene: Scene) -> int:
    return len(_fresh(scene, part(engine.ITL, "sum")))


def _tokens(scene: Scene) -> float:
    """Tokens of a step of one engine: of the requests in decode, each with its draft tokens."""
    if not offers(scene, quotients.ITL_MEAN):
        raise UnknownError("this engine does not offer step times")
    if offers(scene, quotients.DRAFT_LENGTH):
        drafted = scene.quotient(quotients.DRAFT_LENGTH, WINDOW_MS)
    elif any(series.metric == engine.REPORTED_ACCEPTED_LENGTH.name for series in scene.engines.series):
        raise UnknownError("this engine times tokens, not steps")
    else:
        drafted = 0.0
    requests = scene.quotient(quotients.REQUESTS_DECODING, WINDOW_MS) / max(_engines(scene), 1)
    if math.isnan(requests) or math.isnan(drafted):
        raise UnknownError("nothing is decoded now")
    return roofline.step_tokens(requests, drafted)


def _definition(weights: Weights, tokens: float, speed: float, nodes: int) -> str:
    """What the roofline is made of: "33 tokens a step read 729 GB of weights …"."""
    read = roofline.step_bytes(weights, tokens)
    experts = "experts as if drawn evenly" if weights.expert_bytes is not None else "as for one token, at least"
    where = "1 node reads" if nodes == 1 else f"{nodes} nodes read"
    best = formatting.text(roofline.ceiling(read, speed), Unit.PER_SECOND)
    return (
        f"Roofline: a step of {tokens:.0f} tokens reads {formatting.decimal_bytes(read)} of weights ({experts}), "
        f"{where} {formatting.decimal_bytes(speed)}/s: {_seconds(roofline.floor_s(read, speed))} a step, "
        f"{best} at best. {LEFT_OUT}."
    )


def _seconds(value: float) -> str:
    return formatting.text(value, Unit.SECONDS)
