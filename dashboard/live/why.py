"""Why this speed: the factors now and against the baseline, the straggler, and which of them deviates most."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dashboard import formatting
from dashboard.live.cells import Cell, unknown, words
from dashboard.live.factors import Factor, baselines, factors
from dashboard.live.fleet import CLOCK, POWER, UTILIZATION, Columns, in_order
from dashboard.live.reasons import reason
from dashboard.live.scene import Scene
from telemetry.fleet import PEERS_NEEDED, straggler

BASELINE_EVERY_MS = 10_000
NOTABLE = 0.10
"""A factor is named when it deviates from its baseline by at least this share."""
BUSY = 0.80

Row = dict[str, str]


@dataclass
class Baselines:
    """Baselines of the factors, computed anew every ten seconds: a median over 15 minutes hardly moves in between."""

    tick: int | None = None
    values: Mapping[str, float] | None = None

    def at(self, scene: Scene) -> Mapping[str, float]:
        """Baselines for a scene."""
        if self.values is None or self.tick is None or not 0 <= scene.tick - self.tick < BASELINE_EVERY_MS:
            self.tick, self.values = scene.tick, baselines(scene)
        return self.values


@dataclass(frozen=True, slots=True)
class Compared:
    """A factor's value now and its baseline, NaN where unknown."""

    factor: Factor
    now: float
    baseline: float

    @property
    def deviation(self) -> float:
        """Logarithm of now ∕ baseline: halved and doubled weigh the same. 0 where it cannot be told."""
        good = math.isfinite(self.now) and math.isfinite(self.baseline) and self.now > 0 and self.baseline > 0
        return math.log(self.now / self.baseline) if good else 0.0

    @property
    def slows(self) -> bool:
        """Whether the deviation makes decoding slower."""
        return self.factor.grave and (self.deviation < 0) == self.factor.more_is_faster


def compare(scene: Scene, known: Mapping[str, float]) -> list[Compared]:
    """Every factor now, beside its baseline."""
    return [Compared(factor, factor.now(scene), known.get(factor.key, math.nan)) for factor in factors(scene)]


def named(compared: list[Compared]) -> Compared | None:
    """The factor that deviates most, None when none does notably."""
    causes = [one for one in compared if one.factor.more_is_faster is not None]
    most = max(causes, key=lambda one: abs(one.deviation), default=None)
    return most if most is not None and abs(most.deviation) >= math.log1p(NOTABLE) else None


def _row(scene: Scene, one: Compared, most: Compared | None) -> Row:
    factor = one.factor
    known = math.isfinite(one.now)
    grade = "unknown" if not known else "warning" if one is most and one.slows else "ok"
    return {
        "key": factor.key,
        "label": factor.label,
        "now": formatting.text(one.now if known else None, factor.unit),
        "baseline": formatting.text(one.baseline, factor.unit),
        "change": formatting.change(one.now, one.baseline),
        "level": grade,
        "reason": "" if known else reason(scene, factor.source, otherwise="nothing is decoded now"),
    }


def find_straggler(columns: Columns) -> tuple[str, float, str] | None:
    """The busy node furthest below the median of its busy peers: (name, deviation, "power" or "clock")."""
    busy = [name for name, value in columns["utilization"].items() if value >= BUSY]
    found = []
    for reading in (POWER, CLOCK):
        lagging = straggler(in_order(columns[reading.key], busy)) if busy else None
        if lagging is not None:
            found.append((busy[lagging[0]], lagging[1], reading.key))
    return min(found, key=lambda one: one[1], default=None)


def straggler_row(columns: Columns) -> Row:
    """The row of the straggler: "spark-07 −18.0 % power", "none", or why it cannot be told."""
    found = find_straggler(columns)
    row = {
        "key": "straggler",
        "label": "Straggler",
        "now": "none",
        "baseline": "",
        "change": "",
        "level": "ok",
        "reason": "",
    }
    busy = np.array([value >= BUSY for value in columns[UTILIZATION.key].values()], dtype=bool)
    if found is not None:
        name, apart, what = found
        return row | {"now": name, "change": f"{formatting.change(1.0 + apart, 1.0)} {what}", "level": "warning"}
    if int(busy.sum()) < PEERS_NEEDED:
        return row | {
            "now": formatting.UNKNOWN_TEXT,
            "level": "unknown",
            "reason": f"fewer than {PEERS_NEEDED} busy nodes",
        }
    return row


def why_rows(scene: Scene, columns: Columns, known: Mapping[str, float]) -> tuple[list[Row], Cell]:
    """Rows of the card, and the cell that names the largest deviation."""
    compared = compare(scene, known)
    most = named(compared)
    rows: list[dict[str, Any]] = [_row(scene, one, most) for one in compared]
    rows.append(straggler_row(columns))
    if not known:
        return rows, unknown("less than a minute of decoding in the last 15 minutes")
    if most is None:
        return rows, words("as usual")
    change = formatting.change(most.now, most.baseline)
    return rows, words(f"{most.factor.label.lower()} {change}", "warning" if most.slows else "ok")
