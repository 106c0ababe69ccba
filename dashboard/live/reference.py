"""What the speed is compared with: decoding at the same concurrency that no fault had slowed, of some hours back.

The last minutes alone take a fault in that lasts, until it looks usual.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from alerts.record import Alert
from dashboard.live.factors import Stretch, lately_running, stretch
from dashboard.live.scene import SHOWN_MS, Scene
from telemetry import formatting
from telemetry.model import Unit

EVERY_MS = 10_000
REACH_MS = 6 * 3_600_000
"""Stretches are kept for so long."""
ALIKE = math.log(1.25)
"""Requests running that differ by no more than a quarter are the same concurrency."""
FASTER = 1.05
"""An earlier stretch stands in for the last minutes only where it was faster by this much."""
REPRESENTATIVE = 0.75
"""The stretch taken is at least as fast as this share of those at its concurrency: the fastest of all may be luck."""
GAPLESS = 0.9
"""A stretch of which at least this share was recorded is told by its length alone."""

SLOWING = (
    "power_delivery",
    "hardware_slowdown",
    "thermal_slowdown",
    "straggler",
    "link_down",
    "degraded_link",
    "tcp_fallback",
    "one_rail",
    "pcie_width",
    "fabric_loss",
    "fabric_congestion",
    "memory_collapse",
    "swapping",
)
"""Rules whose alerts explain that steps and prefills take longer while the engine works."""


def slowing(scene: Scene) -> list[Alert]:
    """Alerts that fire and explain a slower speed, the gravest first."""
    return [alert for alert in scene.alerts if alert.rule in SLOWING]


@dataclass(frozen=True, slots=True)
class Reference:
    """Values of the factors to compare with, by key, and in words what they are of; empty where there is nothing.

    tainted: a fault that goes on was there already.
    """

    values: Mapping[str, float] = field(default_factory=dict)
    told: str = ""
    tainted: bool = False


@dataclass
class Baselines:
    """Stretches of the last hours, and which of them the speed is compared with: looked at every ten seconds, as
    medians over 15 minutes hardly move in between."""

    tick: int | None = None
    reference: Reference = field(default_factory=Reference)
    kept: dict[int, Stretch | None] = field(default_factory=dict)
    begun_ms: int | None = None

    def at(self, scene: Scene) -> Reference:
        """What a scene is compared with."""
        if self.tick is None or not 0 <= scene.tick - self.tick < EVERY_MS:
            self.tick, self.reference = scene.tick, self._found(scene)
        return self.reference

    def wanted(self, scene: Scene) -> int | None:
        """End of an earlier stretch that is to be read from history, one at a time; None where all are known.

        First the one that ends where a fault began, then those before the first scene, the latest first.
        """
        if self.tick is not None and 0 <= scene.tick - self.tick < EVERY_MS:
            return None
        self.begun_ms = scene.tick if self.begun_ms is None else self.begun_ms
        onset = _onset(scene)
        ends = range(self.begun_ms - SHOWN_MS, scene.tick - REACH_MS, -SHOWN_MS)
        return next((end for end in (*(() if onset is None else (onset,)), *ends) if end not in self.kept), None)

    def remember(self, end_ms: int, found: Stretch | None) -> None:
        """Keep a stretch; None where nothing was decoded, so that it is not read again."""
        self.kept[end_ms] = found

    def _found(self, scene: Scene) -> Reference:
        lately, onset = stretch(scene), _onset(scene)
        newest = max(self.kept, default=None)
        if newest is None or abs(scene.tick - newest) >= SHOWN_MS:
            self.remember(scene.tick, lately)
        self.kept = {end: one for end, one in self.kept.items() if end == onset or end > scene.tick - REACH_MS}
        known = [one for one in self.kept.values() if one is not None and one.models == scene.models]
        clean = [one for one in known if onset is None or one.end_ms <= onset]
        tainted = onset is not None and not clean
        own = lately if onset is None or tainted else None
        chosen = choose(clean or known, own, lately_running(scene))
        return Reference() if chosen is None else Reference(chosen.values, _told(scene, chosen, tainted), tainted)


def _onset(scene: Scene) -> int | None:
    """Since when the oldest fault that slows has been there."""
    return min((alert.began_ms for alert in slowing(scene)), default=None)


def choose(earlier: Sequence[Stretch], lately: Stretch | None, running: float) -> Stretch | None:
    """The stretch to compare with: at the concurrency of now, else at the nearest one to it; representative of the fast
    ones among those; the last minutes where nothing was notably faster. None where there is nothing."""
    every = [*earlier, *([] if lately is None else [lately])]
    if not every:
        return None
    nearest = min(_apart(one, running) for one in every)
    alike = sorted((one for one in every if _apart(one, running) <= max(ALIKE, nearest)), key=lambda one: one.speed)
    found = alike[math.ceil(REPRESENTATIVE * (len(alike) - 1))]
    if lately is not None and any(one is lately for one in alike) and found.speed < FASTER * lately.speed:
        return lately
    return found


def _apart(one: Stretch, running: float) -> float:
    """How different a stretch's concurrency is, as a logarithm; 0 where either is not known."""
    if not (one.running > 0 and running > 0):
        return 0.0
    return abs(math.log(one.running / running))


def length(chosen: Stretch) -> str:
    """Of how long it is: no more than was recorded of it. "15 minutes", "4 minutes", "15 minutes (9 recorded)"."""
    whole, known = (max(round(ms / 60_000), 1) for ms in (chosen.span_ms, chosen.recorded_ms))
    if known < GAPLESS * whole:
        return f"{whole} minutes ({known} recorded)"
    return "1 minute" if whole == 1 else f"{whole} minutes"


def _told(scene: Scene, chosen: Stretch, tainted: bool) -> str:
    """What is compared with, in words."""
    ago = formatting.about((scene.tick - chosen.end_ms) / 1000)
    when = f"{length(chosen)} that ended {ago} ago" if ago else f"the last {length(chosen).removeprefix('1 ')}"
    count = "" if math.isnan(chosen.running) else f", with {formatting.text(chosen.running, Unit.REQUESTS)} running"
    first = next(iter(slowing(scene)), None)
    if first is None:
        return f"Compared with {when}{count if ago else ''}"
    if tainted:
        return f"Compared with {when}{count if ago else ''}; {first.title} was there already"
    return f"Compared with {when}{count}, before {first.title} began"
