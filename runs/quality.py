"""Quality of the data of a stretch: how much of it was watched."""

from __future__ import annotations

from collections.abc import Sequence

from runs.coverage import Coverage
from runs.entries import Entry, Number, Section
from runs.stretch import Stretch
from telemetry.model import Unit

PRESENT = Number("ticks_present", "Readings", Unit.COUNT, "Readings of the target in the stretch.")
EXPECTED = Number(
    "ticks_expected",
    "Readings expected",
    Unit.COUNT,
    "Readings that came, and those missing between them and at the edges, by the interval at which the target was read "
    "at the time.",
)
SHARE = Number("ticks_share", "Share of readings", Unit.RATIO, "Readings ∕ those expected.")
GAPS = Number("gaps", "Gaps", Unit.COUNT, "Times in which the target gave no reading for more than 2.5 intervals.")
GAP_SECONDS = Number("gap_seconds", "Time in gaps", Unit.SECONDS, "Length of the gaps together.")
RESTARTS = Number("restarts", "Restarts", Unit.COUNT, "Times that the target's counters began anew.")
EVENTS = Number("events", "Events", Unit.COUNT, "What nodes and collector had to tell meanwhile.")
NODES = "nodes"


def section(stretch: Stretch) -> Section:
    """Engine by engine, the nodes together, and the nodes that were not watched wholly."""
    entries = [entry for one in stretch.engine_coverage for entry in _of(one, one.target)]
    nodes = stretch.node_coverage
    if nodes:
        entries += _of(_together(nodes), NODES)
        entries += [entry for one in nodes if one.gaps or one.restarts for entry in _of(one, one.target)]
    entries.append(EVENTS.entry(len(stretch.events)))
    return Section("quality", "Data quality", tuple(entries))


def _of(one: Coverage, name: str) -> list[Entry]:
    share = one.present / one.expected if one.expected else None
    return [
        PRESENT.entry(one.present, of=name),
        EXPECTED.entry(one.expected if one.expected else None, of=name, why="never read, so its interval is not known"),
        SHARE.entry(share, of=name, why="never read"),
        GAPS.entry(len(one.gaps), of=name),
        GAP_SECONDS.entry(one.gap_s, of=name),
        RESTARTS.entry(len(one.restarts), of=name),
    ]


def _together(several: Sequence[Coverage]) -> Coverage:
    return Coverage(
        NODES,
        sum(one.present for one in several),
        sum(one.expected for one in several),
        [gap for one in several for gap in one.gaps],
        [restart for one in several for restart in one.restarts],
    )
