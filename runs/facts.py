"""Facts: slowly changing texts about a target, with the time for which each was true. As the store keeps them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol


class Fact(Protocol):
    """True from start_ms (inclusive) to end_ms (exclusive, None: still)."""

    @property
    def target(self) -> str:
        """Whom it is about."""

    @property
    def name(self) -> str:
        """What it is."""

    @property
    def value(self) -> str:
        """The text."""

    @property
    def start_ms(self) -> int:
        """Since when."""

    @property
    def end_ms(self) -> int | None:
        """Until when."""


def at(facts: Iterable[Fact], target: str, instant_ms: int) -> dict[str, str]:
    """Facts of a target at an instant, by name."""
    return {
        fact.name: fact.value
        for fact in facts
        if fact.target == target and fact.start_ms <= instant_ms and (fact.end_ms is None or fact.end_ms > instant_ms)
    }


def during(facts: Iterable[Fact], start_ms: int, end_ms: int) -> list[Fact]:
    """Facts that were true at some time of start ≤ t ≤ end, oldest first."""
    found = [one for one in facts if one.start_ms <= end_ms and (one.end_ms is None or one.end_ms > start_ms)]
    return sorted(found, key=lambda one: one.start_ms)
