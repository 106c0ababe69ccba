"""Settings as a sentence has them, beside the values that are held against them."""

from __future__ import annotations

from collections.abc import Mapping

from alerts import expression as ex
from alerts.language import number
from alerts.operands import unit_of
from alerts.units import SAME
from telemetry import formatting
from telemetry.model import Unit


def settings(condition: ex.Condition, given: Mapping[str, str]) -> dict[str, str]:
    """As people wrote them, but in the units in which the condition's readings are shown: 50 MB/s of swap are
    "47.7 MiB/s", 1 GB/s of the network "8.0 Gb/s"."""
    units = [unit_of(reading) for reading in reversed(ex.readings(condition))]
    shown = {SAME.get(unit, unit): unit for unit in units}
    return {name: _setting(text, shown) for name, text in given.items()}


def _setting(text: str, shown: Mapping[Unit, Unit]) -> str:
    """shown: how what is read in a unit is shown, the first that the condition names."""
    found = number(text)
    unit = None if found.unit is None else shown.get(found.unit)
    ladder = None if unit is None else formatting.LADDERS.get(unit)
    if unit is None or ladder is None or text.rpartition(" ")[2] in (*ladder.steps, ladder.unit):
        return text
    return formatting.text(found.value, unit)
