"""Verdicts in words: what a person takes home, with the interval, and what could not have been seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runs.compare.blocks import LEVEL, POWER
from runs.compare.measures import MEASURES, Measure
from runs.compare.verdict import NEEDED, Verdict
from telemetry import formatting
from telemetry.model import Unit

BY_KEY: Mapping[str, Measure] = {one.key: one for one in MEASURES}
HEADS = {
    "faster": "faster",
    "slower": "slower",
    "higher": "higher",
    "lower": "lower",
    "no difference": "no difference larger than {}",
    "too short": "too short to say",
    "not comparable": "not comparable",
}


def shown(value: float | None, unit: Unit) -> str:
    """A value with its unit, which no line break parts from it."""
    number, word = formatting.show(value, unit)
    return number + formatting.beside(word)


def percent(share: float | None) -> str:
    """A share without its sign."""
    return shown(None if share is None else abs(share), Unit.RATIO)


def whole(share: float) -> str:
    """A share that is a whole percentage.

    >>> whole(0.95)
    '95\xa0%'
    """
    return f"{share * 100:.0f}\u00a0%"


def signed(share: float | None) -> str:
    """A share with its sign.

    >>> signed(0.124), signed(-0.05), signed(None)
    ('+12.4\\xa0%', '−5.0\\xa0%', '–')
    """
    number, unit = formatting.show(share, Unit.RATIO)
    plus = "+" if share is not None and share > 0 and number.strip("0.") else ""
    beyond = ">" if number.startswith(">") else ""
    return beyond + plus + number.removeprefix(">") + formatting.beside(unit)


def apart(difference: float | None, unit: Unit) -> str:
    """How far a number is from the first run's, as `runs.compare.tables.Line` tells it: a share; of temperatures, K.

    >>> apart(0.124, Unit.WATTS), apart(-9.25, Unit.CELSIUS), apart(3.0, Unit.CELSIUS), apart(None, Unit.CELSIUS)
    ('+12.4\\xa0%', '−9.3\\xa0K', '+3.0\\xa0K', '–')
    """
    if unit is not Unit.CELSIUS or difference is None:
        return signed(difference)
    number, _ = formatting.show(difference, unit)
    return f"{'+' if difference > 0 and number.strip('0.') else ''}{number}\u00a0K"


def head(found: Verdict) -> str:
    """The verdict itself: "12.4 % faster", "no difference larger than 3.1 %"."""
    if found.word in ("faster", "slower", "higher", "lower"):
        return f"{percent(found.difference)} {found.word}"
    largest = max(abs(found.low or 0.0), abs(found.high or 0.0))
    return HEADS[found.word].format(percent(largest))


def below(one: Mapping[str, Any]) -> str:
    """What a verdict rests on, to stand below its head: without saying that again.

    >>> below({"head": "too short to say", "text": "Too short to say: 1 block where 20 are needed."})
    '1 block where 20 are needed.'
    """
    text = str(one["text"])
    if text.lower().startswith(f"{one['head']}: "):
        text = text[len(one["head"]) + 2 :]
    return text[:1].upper() + text[1:]


def body(found: Verdict, pair: tuple[str, str]) -> str:
    """What it rests on, in sentences."""
    if found.word == "not comparable":
        return f"Not comparable, because {named(found.why, pair)}."
    if found.difference is None:
        return f"Too short to say: {named(found.why, pair)}."
    interval = f"between {signed(found.low)} and {signed(found.high)}"
    seen = f"A difference of {percent(found.smallest)} would have been found {whole(POWER)} of the time."
    if found.low is None:
        return f"{_short(found)} So far: {signed(found.difference)}."
    if found.word == "too short":
        return f"{_short(found)} So far: {signed(found.difference)}, {interval}. {seen}"
    return f"Difference {signed(found.difference)}, {whole(LEVEL)} sure {interval}. {seen}"


def _short(found: Verdict) -> str:
    blocks, lengths = found.blocks or (0.0, 0.0), found.block_s or (0.0, 0.0)
    lacking = max(range(2), key=lambda place: (NEEDED - blocks[place]) * lengths[place])  # the one that `wait_s` is of
    length = shown(lengths[lacking], Unit.SECONDS)
    wait = shown(found.wait_s, Unit.SECONDS)
    count = "1 independent block" if round(blocks[lacking]) == 1 else f"{blocks[lacking]:.0f} independent blocks"
    return f"Too short to say: {count} of {length} where {NEEDED} are needed, about {wait} more at the same load."


def named(text: str, pair: tuple[str, str]) -> str:
    """A reason with the runs' names in it."""
    for which, name in zip(("first", "second"), pair, strict=True):
        text = text.replace(f"the {which} run's", f"“{name}”'s").replace(f"the {which} run", f"“{name}”")
    return text


def described(found: Verdict, pair: tuple[str, str]) -> dict[str, Any]:
    """A verdict as JSON, with its words."""
    measure = BY_KEY[found.measure]
    told = found.to_json()
    notes = [named(one, pair) for one in found.notes]
    return {
        **told,
        "why": named(found.why, pair),
        "notes": notes,
        "label": measure.label,
        "unit": measure.unit.value,
        "definition": measure.definition,
        "head": head(found),
        "text": body(found, pair),
    }
