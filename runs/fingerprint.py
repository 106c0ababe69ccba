"""What a run ran on: facts that were true during it, in a fixed order, and what differs between two runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Any, Literal

from runs.facts import Fact, during
from telemetry import formatting
from telemetry.model import Unit

Whose = Literal["engine", "node"]
SEVERAL = " / "
"""Between values that one target had at the same time, of several devices."""
MOST_CHANGES = 200
"""Changes of one field of one target that are kept."""


@dataclass(frozen=True, slots=True)
class Row:
    """One field: what it is called, whose facts make it, and which: by full name, or by beginning and end.

    unit: of numbers in the base unit, None for text.
    """

    key: str
    label: str
    whose: Whose
    names: tuple[str, ...]
    unit: Unit | None = None


ROWS: tuple[Row, ...] = (
    Row("model", "Model", "engine", ("model", "served_models", "model_alias")),
    Row("engine", "Engine", "engine", ("engine",)),
    Row("version", "Engine version", "engine", ("version",)),
    Row("context", "Context length", "engine", ("context_tokens",), Unit.TOKENS),
    Row("kv_type", "KV cache type", "engine", ("kv_cache_dtype",)),
    Row("kv_size", "KV cache size", "engine", ("kv_cache_size_tokens",), Unit.TOKENS),
    Row("kv_blocks", "KV cache blocks", "engine", ("kv_blocks",)),
    Row("block_size", "KV block size", "engine", ("kv_block_size",), Unit.TOKENS),
    Row("prefix_caching", "Prefix caching", "engine", ("prefix_caching",)),
    Row("memory_share", "GPU memory share", "engine", ("gpu_memory_utilization",)),
    Row("quantization", "Quantisation", "engine", ("quantization",)),
    Row("tensor_parallel", "Tensor parallel", "engine", ("tensor_parallel",)),
    Row("pipeline_parallel", "Pipeline parallel", "engine", ("pipeline_parallel",)),
    Row("data_parallel", "Data parallel", "engine", ("data_parallel",)),
    Row("speculative_method", "Speculative method", "engine", ("speculative_method",)),
    Row("speculative_tokens", "Draft tokens (K)", "engine", ("speculative_tokens",)),
    Row("engines", "Engines", "engine", ("engines",)),
    Row("nodes", "Nodes taking part", "engine", ("nodes",)),
    Row("gpu", "GPU", "node", ("gpu.*.name",)),
    Row("driver", "Driver", "node", ("driver_version",)),
    Row("vbios", "VBIOS", "node", ("gpu.*.vbios",)),
    Row("kernel", "Kernel", "node", ("kernel",)),
    Row("dgx_os", "DGX OS", "node", ("dgx_os",)),
    Row("os", "Operating system", "node", ("os",)),
    Row("bios", "BIOS", "node", ("bios",)),
    Row("nic_firmware", "NIC firmware", "node", ("function.*.firmware",)),
    Row("link_rate", "Link rates", "node", ("cage.*.capacity",), Unit.NETWORK_BYTES_PER_SECOND),
    Row("mtu", "MTU", "node", ("function.*.mtu",)),
    Row("gid_index", "GID index", "node", ("function.*.gid_index",)),
    Row("clock_cap", "SM clock, highest allowed", "node", ("gpu.*.clock_max",), Unit.HERTZ),
)


@dataclass(frozen=True, slots=True)
class Changed:
    """A value that changed during the run."""

    at_ms: int
    target: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a fingerprint. value: what most targets had at the run's end; "" not known.

    apart: the targets that had another value, with it ("" where it is not known of them). changes: during the run.
    """

    key: str
    label: str
    value: str
    unit: Unit | None = None
    apart: Mapping[str, str] = field(default_factory=dict)
    changes: Sequence[Changed] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain data; what is not said is left out."""
        data: dict[str, Any] = {"key": self.key, "label": self.label, "value": self.value}
        if self.unit is not None:
            data["unit"] = self.unit.value
        if self.apart:
            data["apart"] = dict(self.apart)
        if self.changes:
            data["changes"] = [[one.at_ms, one.target, one.before, one.after] for one in self.changes]
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Field:
        """The reverse of `to_json`."""
        unit = Unit(data["unit"]) if "unit" in data else None
        changes = tuple(Changed(*one) for one in data.get("changes", ()))
        return cls(data["key"], data["label"], data["value"], unit, dict(data.get("apart", {})), changes)


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Fields in the order of `ROWS`; one that nobody told is not in it."""

    fields: tuple[Field, ...]

    def find(self, key: str) -> Field | None:
        """A field by its key."""
        return next((one for one in self.fields if one.key == key), None)

    def to_json(self) -> list[dict[str, Any]]:
        """Plain data."""
        return [one.to_json() for one in self.fields]

    @classmethod
    def from_json(cls, data: Iterable[Mapping[str, Any]]) -> Fingerprint:
        """The reverse of `to_json`."""
        return cls(tuple(Field.from_json(one) for one in data))


@dataclass(frozen=True, slots=True)
class Difference:
    """A field in which two runs differ, in words: "580.142; spark-03: 580.95". "" where it is not known."""

    key: str
    label: str
    before: str
    after: str
    unit: Unit | None = None


def fingerprint(
    facts: Iterable[Fact], engines: Sequence[str], nodes: Sequence[str], start_ms: int, end_ms: int
) -> Fingerprint:
    """The fingerprint of a run from the facts that were true in it.

    engines, nodes: targets that took part. Facts of others are left out. Beside what targets tell of themselves,
    facts may be such as `runs.evidence` makes: which nodes took part, link rates, MTU, clocks.
    """
    told: dict[str, list[Fact]] = {}
    for one in during(facts, start_ms, end_ms):
        told.setdefault(one.target, []).append(one)
    targets: dict[Whose, Sequence[str]] = {"engine": engines, "node": nodes}
    found = (_field(row, {name: told.get(name, []) for name in targets[row.whose]}, start_ms, end_ms) for row in ROWS)
    return Fingerprint(tuple(one for one in found if one is not None))


def diff(a: Fingerprint, b: Fingerprint) -> list[Difference]:
    """Fields that are not the same, in their order. What neither tells is no difference."""
    sides = [{one.key: one for one in side.fields} for side in (a, b)]
    found = []
    for row in ROWS:
        before, after = (words(side.get(row.key)) for side in sides)
        if before != after:
            found.append(Difference(row.key, row.label, before, after, row.unit))
    return found


def change(name: str, before: str, after: str) -> str:
    """What the change of a fact is in words, "Driver 580.142 → 590.1"; "" of facts that are of no field.

    after: "" where it is not told any more; of a field that several facts tell of, that says nothing.
    """
    row = next((row for row in ROWS if any(_fits(name, pattern) for pattern in row.names)), None)
    if row is None or (not after and len(row.names) > 1):
        return ""
    return f"{row.label} {_read(row, before)} → {_read(row, after)}"


def _read(row: Row, value: str) -> str:
    try:
        return value or "not told" if row.unit is None else formatting.text(float(value), row.unit)
    except ValueError:
        return value or "not told"


def words(field: Field | None) -> str:
    """A field as one text, with the targets that are apart."""
    if field is None:
        return ""
    apart = [f"{target}: {value or 'not known'}" for target, value in sorted(field.apart.items())]
    return "; ".join([field.value, *apart])


def _field(row: Row, told: Mapping[str, Sequence[Fact]], start_ms: int, end_ms: int) -> Field | None:
    histories = {target: _history(row, facts, start_ms, end_ms) for target, facts in told.items()}
    last = {target: history[-1][1] if history else "" for target, history in histories.items()}
    values = [value for value in last.values() if value]
    if not values:
        return None
    common = max(sorted(set(values)), key=values.count)
    changes = [
        Changed(at_ms, target, before, after)
        for target, history in histories.items()
        for (_, before), (at_ms, after) in pairwise(history)
    ]
    apart = {target: value for target, value in last.items() if value != common}
    changes.sort(key=lambda one: (one.at_ms, one.target))
    return Field(row.key, row.label, common, row.unit, apart, tuple(changes))


def _history(row: Row, facts: Sequence[Fact], start_ms: int, end_ms: int) -> list[tuple[int, str]]:
    """What a target said of the field in the run: (since, value), a new one each time it changed.

    Of a field that changes all the time the newest `MOST_CHANGES` are kept, beside what it began with.
    """
    for name in row.names:
        mine = [one for one in facts if _fits(one.name, name)]
        if mine:
            found = _values(mine, start_ms, end_ms)
            return found if len(found) <= MOST_CHANGES + 1 else [found[0], *found[-MOST_CHANGES:]]
    return []


def _values(facts: Sequence[Fact], start_ms: int, end_ms: int) -> list[tuple[int, str]]:
    """What holds from each instant on at which a fact begins; of several devices one value where all have the same.

    One pass over the beginnings, with what holds meanwhile at hand: a gauge may change every second for days.
    """
    begins = sorted((max(one.start_ms, start_ms), place) for place, one in enumerate(facts) if one.start_ms <= end_ms)
    ends = sorted((one.end_ms, place) for place, one in enumerate(facts) if one.end_ms is not None)
    true: dict[int, Fact] = {}
    over = 0
    found: list[tuple[int, str]] = []
    for at_ms, group in groupby(begins, key=lambda one: one[0]):
        true |= {place: facts[place] for _, place in group}
        while over < len(ends) and ends[over][0] <= at_ms:
            true.pop(ends[over][1], None)
            over += 1
        value = SEVERAL.join(dict.fromkeys(one.value for one in sorted(true.values(), key=lambda one: one.name)))
        if not found or found[-1][1] != value:
            found.append((at_ms, value))
    return found


def _fits(name: str, pattern: str) -> bool:
    begin, star, end = pattern.partition("*")
    if not star:
        return name == pattern
    return name.startswith(begin) and name.endswith(end) and len(name) > len(begin) + len(end)
