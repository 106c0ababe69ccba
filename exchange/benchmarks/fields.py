"""Reading a foreign object: each value by its key, and a sentence that names the key where it is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from exchange.benchmarks.record import is_number

SHOWN = 60


@dataclass(frozen=True, slots=True)
class Fields:
    """An object of a file. where: which, as the sentence begins: "bench.json, result 2"."""

    data: Mapping[str, Any]
    where: str

    def wrong(self, key: str, value: Any, expected: str) -> ValueError:
        """What to raise of a value."""
        given = "is missing" if value is None else f"is {value!r:.{SHOWN}}"
        return ValueError(f"{self.where}: “{key}” {given}, expected {expected}")

    def number(self, key: str, *, needed: bool = False) -> float | None:
        """A number that is not negative; None where there is none, and none is needed."""
        value = self.data.get(key)
        if value is None and not needed:
            return None
        if not is_number(value) or float(value) < 0:  # type: ignore[arg-type]
            raise self.wrong(key, value, "a number from 0 up")
        return float(value)  # type: ignore[arg-type]

    def text(self, key: str, *, needed: bool = False) -> str:
        """A text; "" where there is none, and none is needed."""
        value = self.data.get(key)
        if value is None and not needed:
            return ""
        if not isinstance(value, str) or len(value) > 500:
            raise self.wrong(key, value, "a text")
        return value

    def numbers(self, key: str) -> list[float]:
        """A list of numbers, empty where there is none."""
        value = self.data.get(key)
        if value is None:
            return []
        if not isinstance(value, list) or len(value) > 100 or not all(map(is_number, value)):
            raise self.wrong(key, value, "a list of at most 100 numbers")
        return [float(one) for one in value]

    def inner(self, key: str) -> Fields | None:
        """An object inside; None where there is none."""
        value = self.data.get(key)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise self.wrong(key, value, "an object")
        return Fields(value, f"{self.where}, “{key}”")

    def objects(self, key: str) -> list[Fields]:
        """A list of objects."""
        value = self.data.get(key)
        if not isinstance(value, list) or not all(isinstance(one, Mapping) for one in value):
            raise self.wrong(key, value, "a list of objects")
        return [Fields(one, f"{self.where}, “{key}” {place}") for place, one in enumerate(value, 1)]
