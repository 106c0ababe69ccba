"""The report as Markdown that fits into a forum post: the numbers, how they were measured, and on what."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from dashboard.report import tables
from dashboard.report.content import Content
from dashboard.report.results import minutes
from dashboard.report.sections import Sections
from dashboard.report.tags import in_unit
from dashboard.report.times import instant, since, stretch, whole
from telemetry import formatting
from telemetry.model import Unit

SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~@])")
NUMBERS = (
    "speed.decode_mean",
    "speed.decode_peak",
    "speed.decode_peak_1s",
    "speed.decode_wall",
    "speed.prefill_throughput",
    "requests.output",
    "requests.prompt",
    "requests.finished",
    "phases.running_mean",
    "latency.ttft_mean",
    "latency.ttft_p95",
    "latency.tpot_mean",
    "latency.e2e_mean",
    "speculation.accepted_length",
    "requests.prefix_hits",
    "nodes.power_mean",
    "energy.energy_per_token",
    "fabric.per_token",
)
RAN_ON = (
    "engine",
    "version",
    "quantization",
    "tensor_parallel",
    "pipeline_parallel",
    "speculative_method",
    "speculative_tokens",
    "context",
    "kv_type",
    "gpu",
    "driver",
    "link_rate",
    "clock_cap",
)
DEFINED = ("speed.decode_mean", "speed.decode_peak", "speed.prefill_throughput")
BESIDE = ("output_throughput", "peak", "ttft_mean", "tpot_mean", "e2el_mean")
"""Numbers of a client that are worth a line of a post."""
MOST_ALERTS = 10


def plain(text: str) -> str:
    """A text in which nothing is markup, on one line."""
    return SPECIAL.sub(r"\\\1", " ".join(text.split()))


def markdown(content: Content) -> str:
    """The text."""
    run, summary = content["run"], content["summary"]
    lines = [f"## {plain(run['name'])}", "", _lead(content), ""]
    if content["why"]:
        lines += [f"> {plain(content['why'])}", ""]
    numbers = [(path, entry) for path in NUMBERS if (entry := tables.find(summary, path)) is not None]
    rows = [
        (plain(one["label"]), _value(one), plain(one.get("note", ""))) for _, one in numbers if one["value"] is not None
    ]
    lines += _table(("", "", ""), rows)
    lines += _pairs("How it was measured", _measured(run))
    for one in content["benchmarks"]:
        lines += _benchmark(one)
    known = {one["key"]: one for one in content["fingerprint"]}
    ran = [
        (plain(known[key]["label"]), plain(in_unit(known[key]["value"], known[key].get("unit"))))
        for key in RAN_ON
        if key in known
    ]
    lines += _pairs("Ran on", ran)
    lines += _alerts(content)
    lines += _quality(summary)
    lines += [f"- **{plain(one['label'])}**: {plain(one['definition'])}" for one in _defined(summary)]
    lines += ["", f"Measured with Tachograph {plain(content['version'])}; times are UTC."]
    return "\n".join(lines) + "\n"


def _lead(content: Content) -> str:
    run = content["run"]
    nodes = tables.find(content["summary"], "nodes.took_part")
    start, end = stretch(run, content["written"])
    parts = [f"**{plain(run['model'] or run['deployment'])}**"]
    if nodes is not None and nodes["value"]:
        parts.append(f"{nodes['value']:g} node{'' if nodes['value'] == 1 else 's'}")
    parts += [instant(start), formatting.text((end - start) / 1000, Unit.SECONDS), whole(run)]
    return " · ".join(filter(None, parts))


def _value(entry: Mapping[str, Any] | None) -> str:
    if entry is None:
        return formatting.UNKNOWN_TEXT
    sign = "" if entry.get("relation", "=") == "=" else f"\\{entry['relation']} "
    return sign + formatting.text(entry["value"], Unit(entry["unit"]))


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    found = [f"| {' | '.join(row)} |" for row in rows]
    if not found:
        return []
    under = ["---", *("---:" for _ in heads[1:2]), *("---" for _ in heads[2:])]
    return [f"| {' | '.join(heads)} |", f"| {' | '.join(under)} |", *found, ""]


def _pairs(title: str, rows: Iterable[tuple[str, str]]) -> list[str]:
    told = [f"{name}: {text}" for name, text in rows]
    return [f"**{title}**: {'; '.join(told)}", ""] if told else []


def _alerts(content: Content) -> list[str]:
    """What fired in it, the first of it by time."""
    found, start = content["alerts"], content["run"]["start"]
    told = [
        f"- {since(max(one['t'] - start, 0))}: {plain(tables.alert(one))} ({one['severity']})"
        for one in found[:MOST_ALERTS]
    ]
    more = [f"- {len(found) - MOST_ALERTS} more"] if len(found) > MOST_ALERTS else []
    return ["**Alerts**, by the time from the start:", "", *told, *more, ""] if told else []


def _measured(run: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [
        (label.lower(), plain(run["measured"][key]))
        for key, label in tables.MEASURED.items()
        if run["measured"].get(key)
    ]


def _benchmark(one: Mapping[str, Any]) -> list[str]:
    rows = [
        (plain(pair["label"]), _value(pair["client"]), _value(pair["server"]))
        for pair in one["beside"]
        if pair["client"]["key"] in BESIDE
    ]
    rows += [
        (plain(f"{entry['of']}: {entry['label']}"), _value(entry), plain(entry.get("note", "")))
        for entry in one["rest"]
        if entry.get("of")
    ]
    protocol = [(plain(name), plain(text)) for name, text in sorted(one["protocol"].items())]
    return [
        *_table((f"**{plain(one['tool'])}**", "client", "engine" if one["beside"] else ""), rows),
        *([f"{told[0].upper()}{told[1:]}.", ""] if (told := minutes(one)) else []),
        *_pairs("Protocol", protocol),
    ]


def _quality(summary: Sections) -> list[str]:
    """How well it was watched."""
    told = tables.quality(summary)
    return [f"**Data quality**: {plain(told)}", ""] if told else []


def _defined(summary: Sections) -> list[Mapping[str, Any]]:
    found = (tables.find(summary, path) for path in DEFINED)
    return [one for one in found if one is not None and one["value"] is not None]
