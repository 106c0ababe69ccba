"""Orders: what people can do to runs, as commands: which fields each takes, and what each may hold.

The web and the command line check an order with the same table before it is queued; the chronicle carries it out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from exchange.benchmarks.record import Benchmark
from exchange.bundle import Bundle
from runs.bounds import LATEST_MS
from runs.model import Measured

PREFIX = "run."
"""In front of the kinds of commands that are about runs."""
NAME, TEXT = 120, 4_000
MOST_NODES = 1_000
Reader = Callable[[str, Any], Any]


def line(name: str, value: Any) -> str:
    """One line of text, without what cannot be seen."""
    return _short(name, " ".join(_shown(name, value).split()), NAME)


def _shown(name: str, value: Any) -> str:
    if value is None:
        raise ValueError(f"“{name}” is missing, expected a text")
    if not isinstance(value, str):
        raise ValueError(f"“{name}” is {value!r:.80}, expected a text")
    return "".join(sign if sign.isprintable() or sign == "\n" else " " for sign in value)


def _short(name: str, text: str, most: int) -> str:
    if not text:
        raise ValueError(f"“{name}” is missing, expected a text")
    if len(text) > most:
        raise ValueError(f"“{name}” is {len(text)} signs long, expected 1 to {most}")
    return text


def number(name: str, value: Any) -> int:
    """A whole number."""
    if value is None:
        raise ValueError(f"“{name}” is missing, expected a whole number")
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
        raise ValueError(f"“{name}” is {value!r}, expected a whole number")
    return value


def instant(name: str, value: Any) -> int:
    """Epoch milliseconds of a day that a calendar has."""
    found = number(name, value)
    if found > LATEST_MS:
        raise ValueError(f"“{name}” is later than the year 2100")
    return found


def switch(name: str, value: Any) -> bool:
    """True or false; True where nothing is said."""
    if value is None:
        return True
    if not isinstance(value, bool):
        raise ValueError(f"“{name}” is {value!r}, expected true or false")
    return value


def _note(name: str, value: Any) -> str:
    """Several lines, or none."""
    text = _shown(name, value).strip()
    return text if not text else _short(name, text, TEXT)


def _names(name: str, value: Any) -> list[str]:
    if not isinstance(value, list) or len(value) > MOST_NODES:
        raise ValueError(f"“{name}” is no list of names")
    return sorted({line(name, one) for one in value})


def _form(name: str, value: Any) -> dict[str, str]:
    known = [one.name for one in fields(Measured)]
    if not isinstance(value, dict) or not set(value) <= set(known):
        raise ValueError(f"“{name}” is expected to be an object of: {', '.join(known)}")
    return {key: line(key, text) for key, text in value.items() if text != ""}


def _record(_name: str, value: Any) -> dict[str, Any]:
    return Benchmark.from_json(value).to_json()


def _bundle(_name: str, value: Any) -> dict[str, Any]:
    found = Bundle.from_json(value)
    return {**found.to_json(), "key": found.key}


def maybe(read: Reader) -> Reader:
    """The same, or None."""
    return lambda name, value: None if value is None else read(name, value)


KINDS: Mapping[str, Mapping[str, Reader]] = {
    "start": {"deployment": line, "name": maybe(line)},
    "stop": {"run": number},
    "rename": {"run": number, "name": line},
    "label": {"run": number, "key": line, "value": maybe(line)},
    "tag": {"run": number, "tag": line, "on": switch},
    "note": {"run": number, "text": _note},
    "annotate": {"run": number, "at_ms": instant, "text": line},
    "trim": {"run": number, "start_ms": maybe(instant), "end_ms": maybe(instant)},
    "pin": {"run": number, "on": switch},
    "baseline": {"run": number, "on": switch},
    "nodes": {"run": number, "nodes": maybe(_names)},
    "measured": {"run": number, "measured": _form},
    "merge": {"run": number, "other": number},
    "split": {"run": number, "at_ms": instant},
    "delete": {"run": number},
    "benchmark": {"run": maybe(number), "record": _record, "start_ms": maybe(instant), "end_ms": maybe(instant)},
    "move": {
        "run": number,
        "to": maybe(number),
        "key": line,
        "record": _record,
        "start_ms": maybe(instant),
        "end_ms": maybe(instant),
    },
    "bring": {"bundle": _bundle},
}
"""Kind → its fields. What may be None may be left out."""


def fault(error: Exception) -> str:
    """What is answered to an order in which this program failed, and whose traceback its log has."""
    what = type(error).__name__
    return f"this cannot be carried out: a fault of the program ({what}), which the collector's log tells"


def check(kind: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The payload of an order, every field of its kind in it; ValueError with a sentence for what cannot be done so."""
    return within(KINDS, kind, given)


def within(kinds: Mapping[str, Mapping[str, Reader]], kind: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The same, of any table of kinds."""
    wanted = kinds.get(kind)
    if wanted is None:
        raise ValueError(f"there is no command “{kind[:NAME]}”, known are: {', '.join(kinds)}")
    unknown = sorted(set(given) - set(wanted))
    if unknown:
        raise ValueError(f"“{kind}” has no “{unknown[0][:NAME]}”, known are: {', '.join(wanted)}")
    return {name: read(name, given.get(name)) for name, read in wanted.items()}
