"""Turns a value into what stands on the screen: the only place that knows units, decimals and where a unit ends.

Every function takes a value in the unit's base (bytes, seconds, 0–1 …) and returns (number, unit), both text. None and
NaN are unknown: "–". The rules: one decimal below 100 and none from 100 up; whole things (bytes, requests) carry no
decimal, watts never do; the next unit as soon as four digits would stand before the point after rounding; memory is
binary, the network decimal; rates of events below one a second carry two digits that count; no 60 s and no 60 m. Clocks
stay in MHz and sizes of packets in bytes, where people compare them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from telemetry.model import Unit

UNKNOWN_TEXT = "–"
MINUS = "−"
Shown = tuple[str, str]
"""(number, unit), e.g. ("21.4", "tok/s")."""


@dataclass(frozen=True, slots=True)
class Ladder:
    """A unit and its larger sisters.

    steps: unit texts, each `base` times the one before.
    scale: factor from the stored unit to the first step.
    glued: the step stands at the number ("44.6M") and `unit` is the same on every step.
    whole: integers on the first step carry no decimal; "always" drops the decimals of other values there too.
    fine: below 1 two digits that count, to three decimals, so that what is rare does not read as a tenth of all.
    open_ended: four and more digits may stand before the point; else what is too large for the last step is ">999".
    """

    steps: tuple[str, ...]
    base: float = 1000.0
    scale: float = 1.0
    unit: str = ""
    glued: bool = False
    whole: str = "never"
    open_ended: bool = False
    fine: bool = False


PREFIXES = ("", "k", "M", "G", "T", "P", "E")
BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def _prefixed(unit: str) -> tuple[str, ...]:
    return tuple(prefix + unit for prefix in PREFIXES)


def _glued(unit: str, whole: str = "never") -> Ladder:
    return Ladder(PREFIXES, unit=unit, glued=True, whole=whole)


LADDERS: Mapping[Unit, Ladder] = {
    Unit.BYTES: Ladder(BINARY, 1024.0, whole="always"),
    Unit.BYTES_PER_SECOND: Ladder(tuple(f"{step}/s" for step in BINARY), 1024.0, whole="always"),
    Unit.NETWORK_BYTES_PER_SECOND: Ladder(_prefixed("b/s"), scale=8.0, whole="always"),
    Unit.PACKET_BYTES: Ladder(("B",), whole="always", open_ended=True),
    Unit.BYTES_PER_TOKEN: Ladder(tuple(f"{step}/token" for step in _prefixed("B")), whole="always"),
    Unit.CELSIUS: Ladder(("°C",)),
    Unit.COUNT: _glued("", whole="integers"),
    Unit.HERTZ: Ladder(("MHz",), scale=1e-6, whole="always", open_ended=True),
    Unit.JOULES: Ladder(_prefixed("J")),
    Unit.JOULES_PER_TOKEN: Ladder(tuple(f"{step}/token" for step in _prefixed("J"))),
    Unit.PER_SECOND: Ladder(PREFIXES, unit="/s", glued=True, fine=True),
    Unit.RATIO: Ladder(("%",), scale=100.0),
    Unit.REQUESTS: _glued("", whole="integers"),
    Unit.STATE: _glued("", whole="integers"),
    Unit.TOKENS: _glued("tokens", whole="integers"),
    Unit.TOKENS_PER_SECOND: _glued("tok/s"),
    Unit.TOKENS_PER_STEP: _glued("tok/step"),
    Unit.WATTS: Ladder(_prefixed("W"), whole="always"),
}
"""How each unit climbs; seconds have a clock's reading of their own."""

TOO_MUCH = ">999"
WHOLE_FROM = 2.0**53
"""From here on floating point has no fractions to round."""
MOST_OPEN = 1e9
"""What is more is too much also where four and more digits may stand."""
MOST_SHOWN = 1e290
"""What is more is too much on every ladder, and no factor may make it infinite."""
SHORT_SECONDS = (("µs", 1e6, 1000), ("ms", 1e3, 1000), ("s", 1.0, 60))
CLOCK = (("s", 1), ("m", 60), ("h", 3600), ("d", 86400), ("y", 365 * 86400))
CLOCK_ENDS = {"m": 3600, "h": 86400, "d": 365 * 86400, "y": 1000 * 365 * 86400}


def _digits(size: float, decimals: int) -> str:
    """A size that is not negative, rounded half up at the decimals asked for."""
    if size >= WHOLE_FROM:
        return f"{size:.{decimals}f}"
    return f"{math.floor(size * 10**decimals + 0.5 + 1e-9) / 10**decimals:.{decimals}f}"


def _number(size: float, whole: str = "never") -> str:
    """One decimal below 100, none from 100 up, none where things are whole."""
    integer = whole == "always" or (whole == "integers" and size == math.floor(size))
    if integer or float(_digits(size, 1)) >= 100:
        return _digits(size, 0)
    return _digits(size, 1)


def _fine(size: float) -> str:
    """0.058 and 0.12 where one decimal would be 0.1; what is less than a thousandth is 0.0."""
    if float(_digits(size, 2)) >= 1 or float(_digits(size, 3)) == 0:
        return _number(size)
    return _digits(size, 2 if float(_digits(size, 3)) >= 0.1 else 3)


def _climb(size: float, ladder: Ladder) -> Shown:
    size *= ladder.scale
    step, whole = 0, ladder.whole
    while step < len(ladder.steps) - 1 and float(_number(size, whole)) >= 1000:
        size, step, whole = size / ladder.base, step + 1, "never"
    number = _fine(size) if ladder.fine and step == 0 else _number(size, whole)
    if float(number) >= (MOST_OPEN if ladder.open_ended else 1000):
        number = TOO_MUCH
    return (number + ladder.steps[step], ladder.unit) if ladder.glued else (number, ladder.steps[step])


def _clock(size: float) -> Shown:
    """27.8 s, 2m 0s, 1h 5m, 3d 4h, 2y 11d: the two largest parts, rounded as one number so that no part is full."""
    for unit, factor, full in SHORT_SECONDS:
        number = _number(size * factor)
        if float(number) < full:
            return (number, unit) if float(number) > 0 else ("0.0", "s")
    for (small, small_factor), (large, factor) in pairwise(CLOCK):
        count, rest = divmod(math.floor(size / small_factor + 0.5), factor // small_factor)
        if count * factor < CLOCK_ENDS[large]:
            return f"{count}{large} {rest}{small}", ""
    return f"{TOO_MUCH}{CLOCK[-1][0]}", ""


def show(value: float | None, unit: Unit) -> Shown:
    """The value as (number, unit); unknown (None, NaN) is ("–", ""), a value that rounds to zero has no sign."""
    if value is None or math.isnan(value):
        return UNKNOWN_TEXT, ""
    if math.isinf(value):
        return ("∞" if value > 0 else f"{MINUS}∞"), ""
    return _shown(value, unit)


@lru_cache(maxsize=8192)
def _shown(value: float, unit: Unit) -> Shown:
    """Most numbers of a page are those of a second ago, or of another node."""
    size = min(abs(value), MOST_SHOWN)
    number, unit_text = _clock(size) if unit is Unit.SECONDS else _climb(size, LADDERS[unit])
    zero = not any(digit in number for digit in "123456789")
    return (number if value >= 0 or zero else MINUS + number), unit_text


def text(value: float | None, unit: Unit) -> str:
    """Number and unit in one line, with a space between them: "21.4 tok/s"."""
    return " ".join(part for part in show(value, unit) if part)


def span(seconds: float) -> str:
    """A length of time as sentences have it, in whole seconds below a minute: "20 s", "2m 5s"."""
    whole = math.floor(seconds + 0.5)
    return f"{whole} s" if whole < 60 else text(whole, Unit.SECONDS)


def about(seconds: float) -> str:
    """A length of time as what is said every second has it: "2 min", "3 h", "5 d"; nothing below a minute.

    >>> [about(59.9), about(60), about(3599), about(7200), about(172800)]
    ['', '1 min', '59 min', '2 h', '2 d']
    """
    minutes = int(seconds // 60)
    for size, unit in ((1440, "d"), (60, "h"), (1, "min")):
        if minutes >= size:
            return f"{minutes // size} {unit}"
    return ""


def decimal_bytes(value: float) -> str:
    """Bytes as makers count those of a model and of its memory: "132 GB"."""
    return " ".join(_climb(min(value, MOST_SHOWN), Ladder(_prefixed("B"), whole="always")))


def whole_bytes(value: float | None) -> str:
    """Bytes that are named as they are, whatever their number: an MTU of "1500 B", "9000 B"."""
    return UNKNOWN_TEXT if value is None or not math.isfinite(value) else f"{value:.0f} B"


def beside(unit: str) -> str:
    """A unit as it stands behind its number: after a space that does not break, or nothing."""
    return f"\u00a0{unit}" if unit else ""


def state(value: float | None, states: Sequence[str]) -> str:
    """Name of a state's code; "–" for an unknown value or a code without a name."""
    if value is None or math.isnan(value) or value != math.floor(value) or not 0 <= value < len(states):
        return UNKNOWN_TEXT
    return states[int(value)]


def change(now: float | None, baseline: float | None) -> str:
    """How far `now` is from `baseline`: "▼ −19.0 %"; empty when unknown, or too small to show."""
    if now is None or baseline is None or not math.isfinite(now) or not math.isfinite(baseline) or baseline == 0:
        return ""
    number, unit = show((now - baseline) / abs(baseline), Unit.RATIO)
    if number == "0.0":
        return ""
    return f"▼ {number} {unit}" if number.startswith(MINUS) else f"▲ +{number} {unit}"


def points(now: float | None, baseline: float | None) -> str:
    """How far one share is from another, in percentage points: "▲ +19.3 pp"; empty when unknown or too small."""
    if now is None or baseline is None or not math.isfinite(now) or not math.isfinite(baseline):
        return ""
    number, _ = show(now - baseline, Unit.RATIO)
    if number == "0.0":
        return ""
    return f"▼ {number} pp" if number.startswith(MINUS) else f"▲ +{number} pp"


@dataclass(frozen=True, slots=True)
class Axis:
    """A fixed screen unit for a chart or a map, where the unit must not change along the way."""

    unit: str
    scale: float = 1.0


_GIB = 1024.0**3
AXES: Mapping[Unit, Axis] = {
    Unit.BYTES: Axis("GiB", 1 / _GIB),
    Unit.BYTES_PER_SECOND: Axis("MiB/s", 1 / 1024.0**2),
    Unit.NETWORK_BYTES_PER_SECOND: Axis("Gb/s", 8e-9),
    Unit.PACKET_BYTES: Axis("B"),
    Unit.BYTES_PER_TOKEN: Axis("MB/token", 1e-6),
    Unit.CELSIUS: Axis("°C"),
    Unit.COUNT: Axis(""),
    Unit.HERTZ: Axis("MHz", 1e-6),
    Unit.JOULES: Axis("J"),
    Unit.JOULES_PER_TOKEN: Axis("J/token"),
    Unit.PER_SECOND: Axis("/s"),
    Unit.RATIO: Axis("%", 100.0),
    Unit.REQUESTS: Axis(""),
    Unit.SECONDS: Axis("s"),
    Unit.STATE: Axis(""),
    Unit.TOKENS: Axis("tokens"),
    Unit.TOKENS_PER_SECOND: Axis("tok/s"),
    Unit.TOKENS_PER_STEP: Axis("tok/step"),
    Unit.WATTS: Axis("W"),
}
