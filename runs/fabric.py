"""The interconnect in a stretch: mean and peak of each cage, bytes per token, trouble."""

from __future__ import annotations

from collections.abc import Sequence

from runs import spans
from runs.cages import DIRECTIONS, PEAK_MS, TRAFFIC, Cage
from runs.coverage import no_window, touched
from runs.entries import Entry, Number, Section
from runs.stretch import FABRIC_TROUBLE, Stretch
from telemetry.model import Unit

RATE = Unit.NETWORK_BYTES_PER_SECOND
SENT = Number("sent", "Interconnect, sent", Unit.BYTES, "RDMA and TCP/IP bytes that the nodes sent over the fabric.")
SENT_MEAN = Number("sent_mean", "Interconnect, mean", RATE, "Bytes that each node sent ∕ time in which it was watched.")
PER_TOKEN = Number(
    "per_token",
    "Interconnect per output token",
    Unit.BYTES_PER_TOKEN,
    "Bytes that each node sent ∕ output tokens of the time in which it was watched.",
)
CAGE_MEAN = {
    way: Number(
        f"cage_{way}_mean", f"Cage, {way}, mean", RATE, f"{TRAFFIC} Bytes {way} ∕ time in which the node was watched."
    )
    for way in DIRECTIONS
}
CAGE_PEAK = {
    way: Number(
        f"cage_{way}_peak",
        f"Cage, {way}, peak",
        RATE,
        f"{TRAFFIC} Largest mean of 10 s that lies in the stretch and touches neither a gap nor a restart.",
    )
    for way in DIRECTIONS
}
BUSIEST = Number("busiest_peak", "Busiest cage, peak", RATE, "The largest of the cages' peaks, sent or received.")
TROUBLE = {
    metric.name: Number(f"{metric.name.removesuffix('_total')}", metric.label, Unit.COUNT, metric.help)
    for metric in FABRIC_TROUBLE
}
TROUBLE_ON = {
    metric.name: Number(f"{metric.name.removesuffix('_total')}_on", metric.label, Unit.COUNT, metric.help)
    for metric in FABRIC_TROUBLE
}


def section(stretch: Stretch) -> Section:
    """All nodes together, then cage by cage; cages without traffic are left out."""
    found = [one for one in stretch.machines.cages.of(stretch.nodes) if sum(one.gained.values()) > 0]
    entries = (*_sums(stretch, found), *_trouble(stretch), *_cages(stretch, found))
    return Section("fabric", "Interconnect", entries)


def _sums(stretch: Stretch, found: Sequence[Cage]) -> list[Entry]:
    told = [(one.node, one.gained["sent"]) for one in found if "sent" in one.gained]
    seconds, times = stretch.subject.seconds, spans.of_samples(stretch)
    if not told:
        return [number.entry(None, why="no traffic is known") for number in (SENT, SENT_MEAN, PER_TOKEN, BUSIEST)]
    gaps = touched(stretch.node_coverage, "the nodes")
    note = "; ".join(filter(None, (gaps, spans.said(stretch, times))))
    mean, per_token = spans.rate(told, times), spans.per_token(stretch, told, times)
    silent = "no output token came" if not stretch.output_tokens > 0 else "none is known of the time that was watched"
    peaks = {(one.label, way): value for one in found for way, value in one.peak.items() if value == value}
    busiest = max(peaks, key=lambda place: peaks[place], default=None)
    return [
        SENT.entry(sum(sent for _, sent in told), note=gaps),
        SENT_MEAN.entry(mean, note=note),
        PER_TOKEN.entry(per_token, note=note if per_token == per_token else "", why=silent),
        BUSIEST.entry(None, why=no_window(PEAK_MS / 1000, seconds))
        if busiest is None
        else BUSIEST.entry(peaks[busiest], note="{}, {}".format(*busiest)),
    ]


def _cages(stretch: Stretch, found: Sequence[Cage]) -> list[Entry]:
    gaps = {one.target: touched([one], "the node") for one in stretch.node_coverage}
    seconds, times = stretch.subject.seconds, spans.of_samples(stretch)
    entries = []
    for one in found:
        for way in DIRECTIONS:
            if way not in one.gained:
                continue
            mean = spans.rate([(one.node, one.gained[way])], times)
            entries.append(CAGE_MEAN[way].entry(mean, of=one.label, note=gaps[one.node]))
            peak = one.peak[way]
            note = gaps[one.node] if peak == peak else ""
            entries.append(CAGE_PEAK[way].entry(peak, of=one.label, note=note, why=no_window(PEAK_MS / 1000, seconds)))
    return entries


def _trouble(stretch: Stretch) -> list[Entry]:
    """Errors of each kind over all nodes, and of the nodes that had any."""
    entries = []
    for metric in FABRIC_TROUBLE:
        by_node: dict[str, float] = {}
        for series, gained in stretch.spent(metric):
            by_node[series.target] = by_node.get(series.target, 0.0) + gained
        total = sum(by_node.values()) if by_node else None
        entries.append(TROUBLE[metric.name].entry(total, why="no node tells it"))
        entries += [
            TROUBLE_ON[metric.name].entry(value, of=node) for node, value in sorted(by_node.items()) if value > 0
        ]
    return entries
