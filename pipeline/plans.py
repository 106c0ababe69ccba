"""Plans: where layouts hold what is asked for, worked out once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from telemetry.model import Series

Plan = tuple[list[int], dict[Series, int]]
"""Where a layout holds some metrics, and the rows that they make in a frame."""

MOST_PLANS = 4096


@dataclass(frozen=True)
class Newest:
    """A row: its tick and instant, and its numbers with the place of each series among them."""

    tick: int
    at_ms: float
    places: Mapping[Series, int]
    numbers: Sequence[float]

    def get(self, series: Series) -> float | None:
        """The number of a series, None where it has none."""
        place = self.places.get(series)
        number = float("nan") if place is None else self.numbers[place]
        return number if number == number else None


class Plans:
    """Plans, worked out once per layout object and question.

    By identity, since hashing a layout of hundreds of series costs more than the work that is saved; an entry keeps
    its layout alive, so that the identity is not given to another.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[int, frozenset[str]], tuple[tuple[Series, ...], Plan]] = {}
        self._places: dict[int, tuple[tuple[Series, ...], Mapping[Series, int]]] = {}

    def places(self, series: tuple[Series, ...]) -> Mapping[Series, int]:
        """The place of each series of a layout."""
        known = self._places.get(id(series))
        if known is None:
            if len(self._places) >= MOST_PLANS:
                self._places.clear()
            known = self._places[id(series)] = (series, {one: place for place, one in enumerate(series)})
        return known[1]

    def of(self, series: tuple[Series, ...], metrics: frozenset[str]) -> Plan:
        """The plan for these metrics of a layout."""
        known = self._known.get((id(series), metrics))
        if known is not None:
            return known[1]
        places = [place for place, one in enumerate(series) if one.metric in metrics]
        plan = (places, {series[place]: row for row, place in enumerate(places)})
        if len(self._known) >= MOST_PLANS:
            self._known.clear()
        self._known[id(series), metrics] = (series, plan)
        return plan
