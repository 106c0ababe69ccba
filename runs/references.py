"""Published results that runs are laid beside: as published, not measured here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

CAVEAT = "as published, not measured here; window and load not stated"
SPEEDS = ("decode", "peak", "prefill")
NEEDED = ("name", "source", "context", "engine", "hardware", "hosting")
HOSTING = ("self-hosted", "hosted")
Band = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Reference:
    """One published result. name: of model and machine; source: who published it; context: window, as published.

    engine, hardware, hosting ("self-hosted" or "hosted"): the deployment. decode, peak, prefill: tokens per second,
    (low, high), equal where a single number was published; None where none was. note: what is to be said of it.
    """

    name: str
    source: str
    context: str
    engine: str
    hardware: str
    hosting: str
    decode: Band | None = None
    peak: Band | None = None
    prefill: Band | None = None
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain data, with the sentence that belongs to every one of them."""
        told = {one.name: getattr(self, one.name) for one in fields(self)}
        bands = {name: None if told[name] is None else list(told[name]) for name in SPEEDS}
        return {**told, **bands, "caveat": CAVEAT}


def reference(row: Mapping[str, Any]) -> Reference:
    """A reference from a row of a file; ValueError with a sentence that names the key."""
    known = {one.name for one in fields(Reference)}
    for key in row:
        if key not in known:
            raise ValueError(f"there is no key “{key}”; known are: {', '.join(sorted(known))}")
    for key in (*NEEDED, *(["note"] if "note" in row else [])):
        if not isinstance(row.get(key), str) or not (row[key].strip() or key == "note"):
            raise ValueError(f"“{key}” is missing, or no text")
    if row["hosting"] not in HOSTING:
        raise ValueError(f"“hosting” is “{row['hosting']}”, expected {' or '.join(HOSTING)}")
    bands = {key: _band(key, row[key]) for key in SPEEDS if key in row}
    if not bands:
        raise ValueError(f"at least one of {', '.join(SPEEDS)} is needed: tokens per second")
    return Reference(**{**row, **bands})


def _band(key: str, value: Any) -> Band:
    """A point or a band of speeds."""
    ends = value if isinstance(value, list) else [value, value]
    numbers = [one for one in ends if isinstance(one, (int, float)) and not isinstance(one, bool)]
    if len(ends) != 2 or len(numbers) != 2 or not 0 < numbers[0] <= numbers[1] < float("inf"):
        raise ValueError(f"“{key}” is {value!r}, expected tokens per second, or [LOW, HIGH]")
    return float(numbers[0]), float(numbers[1])
