"""Query parameters as values; what cannot be read becomes a 400 that names parameter, value and expectation."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from runs.bounds import LATEST_MS
from telemetry import catalog
from telemetry.model import Metric, Ratio

DURATIONS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
WHOLE = re.compile(r"-?[0-9]{1,16}")
DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
LENGTH = re.compile(rf"([0-9]{{1,10}})({'|'.join(DURATIONS)})")
EPOCH_MS = re.compile(r"[0-9]{1,15}")
"""How numbers are written. `str.isdigit`, `int` and `float` understand more: other scripts' digits, “1_000”, “inf”."""
INSTANTS = "epoch milliseconds, an ISO 8601 time with its offset, “now”, or a length before now like -15m"
SHOWN = 80
"""Longest piece of a visitor's text that an answer repeats."""


class ParameterError(Exception):
    """A parameter that cannot be used; its text is the sentence that the visitor reads."""

    def __init__(self, sentence: str, status: int = 400) -> None:
        super().__init__(sentence)
        self.status = status


def bad(name: str, given: str, expected: str) -> ParameterError:
    """A parameter of this name was given this text, but that was expected."""
    return ParameterError(f"Parameter “{name}” is “{given[:SHOWN]}”, expected {expected}.")


def integer(name: str, given: str, low: int = 0, high: int = 10**15) -> int:
    """A whole number of low ≤ number ≤ high."""
    expected = f"a whole number from {low} to {high}"
    value = int(given) if WHOLE.fullmatch(given) else None
    if value is None or not low <= value <= high:
        raise bad(name, given, expected)
    return value


def number(name: str, given: str, low: float, high: float) -> float:
    """A number of low ≤ number ≤ high."""
    value = float(given) if DECIMAL.fullmatch(given) else None
    if value is None or not low <= value <= high:
        raise bad(name, given, f"a number from {low:g} to {high:g}")
    return value


def duration_ms(name: str, given: str) -> int:
    """A length of time like 90s, 15m, 2h or 1d, in milliseconds."""
    found = LENGTH.fullmatch(given)
    if found is None:
        raise bad(name, given, "a length of time like 90s, 15m, 2h or 1d")
    return int(found[1]) * DURATIONS[found[2]]


def instant_ms(name: str, given: str, now_ms: int) -> int:
    """An instant in epoch ms, from the same, ISO 8601 with its offset, "now", or a length before now ("-15m").

    What is before 1970 or after 2099 is one or the other end of it: nothing is stored beyond.
    """
    if given == "now":
        return now_ms
    if given.startswith("-") and not EPOCH_MS.fullmatch(given[1:]):
        return max(now_ms - duration_ms(name, given[1:]), 0)
    found = int(given) if EPOCH_MS.fullmatch(given) else _calendar_ms(given)
    if found is None:
        raise bad(name, given, INSTANTS)
    return min(max(found, 0), LATEST_MS)


def _calendar_ms(given: str) -> int | None:
    """An instant from an ISO 8601 time with its offset, None where it is none."""
    try:
        moment = datetime.fromisoformat(given.replace(" ", "+"))
        return None if moment.tzinfo is None else int(moment.timestamp() * 1000)
    except (ValueError, OverflowError):
        return None


def range_ms(given: Mapping[str, str], now_ms: int, span_ms: int) -> tuple[int, int]:
    """(start, end) as “start” and “end” state them: up to now, and from so long before the end on, unless stated."""
    end = instant_ms("end", given.get("end", "now"), now_ms)
    return instant_ms("start", given["start"], now_ms) if "start" in given else end - span_ms, end


def ordered(start_ms: int, end_ms: int) -> None:
    """Refuse a range that ends where it begins, or before."""
    if start_ms >= end_ms:
        raise ParameterError("Parameter “start” is not before “end”, expected start < end.")


def metric(given: str | None) -> Metric | Ratio:
    """The metric of this name, with or without the prefix of the wire; else a sentence with the nearest names."""
    if not given:
        raise ParameterError("Parameter “metric” is missing, expected a metric's name; /api/v1/metrics lists them.")
    found = catalog.find(given) or catalog.find(given.removeprefix(catalog.WIRE_PREFIX))
    if found is None:
        raise ParameterError(f"There is no metric “{given[:SHOWN]}”. {near(given[:SHOWN])}", 404)
    return found


def near(given: str) -> str:
    """A sentence with the names that look like the given one."""
    names = difflib.get_close_matches(given, [metric.name for metric in catalog.METRICS], n=3, cutoff=0.5)
    if not names:
        return "/api/v1/metrics lists all of them."
    return "Did you mean " + " or ".join(names) + "?"


def one_of(name: str, given: str, known: Sequence[str]) -> str:
    """A text that must be one of those known."""
    if given in known:
        return given
    shown = ", ".join(known[:20]) + (" …" if len(known) > 20 else "") if known else "nothing, as none is known yet"
    raise bad(name, given, f"one of: {shown}")


def only(arguments: Mapping[str, object], known: Iterable[str]) -> None:
    """Refuse parameters that the route does not know: a misspelt filter must not silently be no filter."""
    allowed = sorted(known)
    for name in arguments:
        if name not in allowed:
            listed = ", ".join(allowed) or "none"
            raise ParameterError(f"There is no parameter “{name[:SHOWN]}” here; known are: {listed}.")


def flag(name: str, given: str) -> bool:
    """1 or 0, true or false."""
    if given.lower() not in ("0", "1", "true", "false"):
        raise bad(name, given, "1 or 0")
    return given.lower() in ("1", "true")
