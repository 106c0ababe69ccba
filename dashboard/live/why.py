"""Why this speed: the factors now and against the baseline, the straggler, and which of them deviates most."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dashboard.live import roofline
from dashboard.live.cache import NOT_OFFERED, offers
from dashboard.live.cells import Cell, unknown, words
from dashboard.live.factors import Effect, Factor, factors
from dashboard.live.fleet import CLOCK, POWER, UTILIZATION, Columns, in_order
from dashboard.live.prefill import quiet, quiet_text
from dashboard.live.reasons import NO_PORT, NO_READING, reason
from dashboard.live.reference import Reference, slowing
from dashboard.live.scene import Scene
from telemetry import formatting
from telemetry.catalog import network
from telemetry.catalog import ratios as quotients
from telemetry.fleet import PEERS_NEEDED, straggler
from telemetry.model import Ratio, Unit
from telemetry.roofline import Weights

NOTABLE = 0.10
"""A factor is named when its deviation makes decoding faster by at least this share, or slower by as much."""
EXPLAINED = 0.5
"""What follows from others is explained where they make up this share of its effect."""
BUSY = 0.80
STILL = "nothing is decoded now"
MACHINES = ("steps", "step_time", "foreign_prefill")
"""Factors that a slower node or link makes worse: it is the cause, and the factor what shows of it."""

FOREIGN = (
    "Share of the last minute's decoding time in which an engine also worked at another request's prompt. A prefill "
    "counts while it runs, as far as requests without tokens show it, and in full once it has ended."
)
Row = dict[str, str]


def _log(now: float, baseline: float) -> float:
    """Logarithm of now ∕ baseline: halved and doubled weigh the same. −∞ of nothing; 0 where it cannot be told."""
    if not (math.isfinite(now) and baseline > 0):
        return 0.0
    return math.log(now / baseline) if now > 0 else -math.inf


EFFECTS: Mapping[Effect, Callable[[float, float], float]] = {
    Effect.FOLLOWS: _log,
    Effect.AGAINST: lambda now, baseline: -_log(now, baseline) if now > 0 else 0.0,
    Effect.TAKES: lambda now, baseline: _log(1.0 - now, 1.0 - baseline),
    Effect.NONE: lambda _now, _baseline: 0.0,
}
"""What a factor's change from its baseline makes of the speed, as a logarithm, so that all kinds are comparable."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A factor's value now and its baseline, NaN where unknown."""

    factor: Factor
    now: float
    baseline: float

    @property
    def effect(self) -> float:
        """What its deviation makes of the speed (logarithm); 0 where it cannot be told."""
        return EFFECTS[self.factor.effect](self.now, self.baseline)

    @property
    def notable(self) -> bool:
        """Whether the speed shows it."""
        return abs(self.effect) >= math.log1p(NOTABLE)

    @property
    def slows(self) -> bool:
        """Whether the deviation makes decoding slower."""
        return self.factor.grave and self.effect < 0

    @property
    def known(self) -> bool:
        """Whether it is known now, and what it usually is."""
        return math.isfinite(self.now) and math.isfinite(self.baseline)

    @property
    def change(self) -> str:
        """How far it is from its baseline: of a share in percentage points, else in per cent of the baseline."""
        return (formatting.points if self.factor.unit is Unit.RATIO else formatting.change)(self.now, self.baseline)

    @property
    def told(self) -> str:
        """The deviation in words."""
        return f"{self.factor.label.lower()} {self.change}"


def compare(scene: Scene, known: Mapping[str, float]) -> list[Compared]:
    """Every factor now, beside its baseline."""
    return [Compared(factor, factor.now(scene), known.get(factor.key, math.nan)) for factor in factors(scene)]


def named(compared: list[Compared]) -> Compared | None:
    """The factor whose deviation changes the speed most, None when none does notably.

    What follows from other factors is not named while they explain most of it, nor what would change the speed while
    the factor in which that would be seen stays as it was.
    """
    every = {one.factor.key: one for one in compared}
    notable = {key: one for key, one in every.items() if one.notable and _seen(one, every)}

    def explained(one: Compared) -> bool:
        parts = [notable[key].effect for key in one.factor.made_of if key in notable]
        return sum(part for part in parts if part * one.effect > 0) / one.effect >= EXPLAINED

    causes = [one for one in notable.values() if not explained(one)]
    return max(causes, key=lambda one: abs(one.effect), default=None)


def _seen(one: Compared, every: Mapping[str, Compared]) -> bool:
    seen_in = next((every[key] for key in one.factor.seen_in if every[key].known), None)
    return seen_in is None or (seen_in.notable and seen_in.effect * one.effect > 0)


def _row(scene: Scene, one: Compared, most: Compared | None) -> Row:
    factor = one.factor
    known = math.isfinite(one.now)
    grade = "unknown" if not known else "warning" if one is most and one.slows else "ok"
    return {
        "key": factor.key,
        "label": factor.label,
        "now": formatting.text(one.now if known else None, factor.unit),
        "baseline": formatting.text(one.baseline, factor.unit),
        "change": one.change,
        "level": grade,
        "reason": "" if known else _unknown(scene, factor),
    }


def _unknown(scene: Scene, factor: Factor) -> str:
    """Why a factor is not known: as its target says; else because nobody offers it, or nothing is decoded."""
    otherwise = STILL if scene.quotient(quotients.DECODE_TPS) == 0 else NO_READING
    if factor.key == "fabric":
        otherwise = NO_READING if scene.node_rows(network.CAGE_CAPACITY) else NO_PORT
    elif isinstance(factor.source, Ratio) and not offers(scene, factor.source):
        otherwise = NOT_OFFERED
    return reason(scene, factor.source, otherwise=otherwise)


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


def why_rows(
    scene: Scene, columns: Columns, against: Reference, figures: Mapping[str, Weights]
) -> tuple[list[Row], Cell]:
    """Rows of the card, and the cell that names the largest deviation, or the fault behind it. figures: what
    deployments' models weigh."""
    compared = compare(scene, against.values)
    speed = scene.quotient(quotients.DECODE_TPS)
    still = speed == 0
    most = None if still else named(compared)
    rows: list[dict[str, Any]] = [_row(scene, one, most) for one in compared]
    note, hint = roofline.told(scene, figures)
    for row in rows:
        if row["key"] == "step_time":
            row |= {"note": note, "hint": hint}
        elif row["key"] == "foreign_prefill":
            row |= {"hint": FOREIGN}
    rows.append(straggler_row(columns))
    if still:
        return rows, _still(scene)
    if not math.isfinite(speed):
        return rows, unknown("the speed is not known")  # why, the rows say
    if not against.values:
        return rows, unknown("less than a minute of decoding in the last 15 minutes")
    return rows, _headline(scene, columns, most, against)


def _headline(scene: Scene, columns: Columns, most: Compared | None, against: Reference) -> Cell:
    """The factor that changes the speed most; before it the fault that explains it, where one is known.

    Where a fault is in what is compared with, too, it is named alone: the comparison cannot show what it does.
    """
    symptom = most is not None and most.slows and most.factor.key in MACHINES
    fault = _fault(scene, columns) if symptom or against.tainted else ""
    told = [*([fault] if fault else []), *([most.told] if most is not None else [])]
    if not told:
        return words("as usual")
    return words(": ".join(told), "warning" if fault or (most is not None and most.slows) else "ok")


def _fault(scene: Scene, columns: Columns) -> str:
    """What makes steps slow: an alert that fires, else a straggler that is seen; "" where nothing is known."""
    alerts = slowing(scene)
    if alerts:
        owners = {alert.owner for alert in alerts if alert.rule == alerts[0].rule}
        where = alerts[0].owner if len(owners) == 1 else f"on {len(owners)} nodes"
        return f"{alerts[0].title} {where}".rstrip()
    found = find_straggler(columns)
    return "" if found is None else f"Straggler {found[0]}"


def _still(scene: Scene) -> Cell:
    """While no token moves there is no speed to explain: what is known instead."""
    now = quiet(scene)
    return words(quiet_text(now) if now is not None else STILL)
