"""What a source series means to us: engines and our agent by the alias tables of pages, exporters by their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from collectors.scrape.aliases import DIALECTS, dialect_of
from collectors.scrape.lines import PROCESS_START, Line, Meaning, is_known, understand
from exchange.prometheus import exporters
from exchange.prometheus.exporters import CHIP_NAMES, DCGM, Derived, Labels, Row
from telemetry.frame import Floats
from telemetry.model import Fold, Kind, Metric

NAME, JOB, INSTANCE = "__name__", "job", "instance"
COPIES = ("__replica__", "prometheus", "prometheus_replica", "replica")
"""Labels by which servers that scrape the same pages side by side tell whose sample it is."""
NOT_OURS = frozenset({NAME, JOB, INSTANCE, *COPIES})
"""Labels that the source's own scraping adds."""
AGENT, DCGM_EXPORTER, NODE_EXPORTER, ENGINE = "agent", "dcgm-exporter", "node_exporter", "engine"
KINDS = (AGENT, DCGM_EXPORTER, NODE_EXPORTER, ENGINE)
"""Whose page a series was on; of one metric from several of them the first in this order counts."""
MACHINE = AGENT
"""What a layout calls the page of a machine, whoever wrote it: its counters outlive the process that tells them."""
BLANK_GAUGE = (2.0**31 - 16, 2.0**31)
BLANK_ANY = 2.0**47
"""Numbers by which DCGM says that there is none: the last 16 of 32 bits, and whatever is beyond any reading."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How the numbers of a source series become those of a line. row: None for a line that is read as it is."""

    line: Line
    row: Row | None = None

    def convert(self, values: Floats) -> Floats:
        """float64[n] in our unit, NaN where the source says that there is none."""
        if self.row is None:
            return values
        if self.row.wire.startswith(DCGM):
            values = np.where(_blank(self.row.metric, values), np.nan, values)
        if self.row.equals is not None:
            return np.where(np.isnan(values), np.nan, (values == self.row.equals).astype(np.float64))
        if self.row.positive:
            values = np.where(values > 0, values, np.nan)
        return values * self.row.factor


def pattern() -> str:
    """PromQL pattern of the names that may mean something to us; it lets a few too many through."""
    engines = [f"{prefix}.*" for dialect in DIALECTS for prefix in dialect.prefixes]
    return "|".join((*engines, PROCESS_START, CHIP_NAMES, *sorted({*exporters.ROWS, *exporters.PARTS})))


def kind_of(name: str) -> str | None:
    """Whose series this is; None where it is nobody's, or everybody's."""
    dialect = dialect_of(name)
    if dialect is not None:
        return (AGENT if dialect.engine == AGENT else ENGINE) if is_known(name) else None
    if name in exporters.ROWS or name in exporters.PARTS or name == CHIP_NAMES:
        return DCGM_EXPORTER if name.startswith(DCGM) else NODE_EXPORTER
    return None


def readings(labels: Labels, kind: str, chips: Labels) -> list[Reading]:
    """The lines that a source series is on a page of this kind; none where it means nothing to us."""
    name = labels[NAME]
    if kind in (ENGINE, AGENT):
        if kind_of(name) != kind and not (kind == ENGINE and name == PROCESS_START):
            return []
        line = understand(name, {label: value for label, value in labels.items() if label not in NOT_OURS})
        return [] if line is None else [Reading(line)]
    if kind_of(name) != kind:
        return []
    found = [(row, row.place(labels, chips)) for row in exporters.ROWS.get(name, ()) if _applies(row, labels)]
    lines = [Reading(_line(row, ours, labels), row) for row, ours in found if ours is not None]
    return [*lines, Reading(Line(name))] if name in exporters.PARTS else lines


def derived_line(one: Derived) -> Line:
    """The line of a number that is worked out from others."""
    return Line(f"derived {one.metric.name}", (_meaning(one.metric, (), one.metric.across),), engine=MACHINE)


def only(line: Line, families: Mapping[str, object] | frozenset[str]) -> Line:
    """The line with what it says about these metrics."""
    return replace(line, meanings=tuple(one for one in line.meanings if one.family in families))


def _applies(row: Row, labels: Labels) -> bool:
    return all(labels.get(label) in values for label, values in row.where.items())


def _line(row: Row, ours: Labels, labels: Labels) -> Line:
    """Known by our labels, and those that tell apart what is added up: pods that come and go must not break it."""
    stated = tuple(sorted(ours.items()))
    apart = [(label, labels.get(label, "")) for label in row.also]
    return Line(
        f"{row.wire} {row.metric.name} {stated!r}{apart!r}",
        (_meaning(row.metric, stated, row.fold or row.metric.across),),
        engine=MACHINE,
    )


def _meaning(metric: Metric, labels: tuple[tuple[str, str], ...], fold: Fold) -> Meaning:
    chosen = Fold.SUM if metric.kind is Kind.COUNTER else fold
    return Meaning(metric, metric.name, 0, labels, None, None, chosen, (), None)


def _blank(metric: Metric, values: Floats) -> np.typing.NDArray[np.bool_]:
    low, high = BLANK_GAUGE
    blank = values >= BLANK_ANY
    return blank if metric.kind is Kind.COUNTER else blank | ((values >= low) & (values < high))
