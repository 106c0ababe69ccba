"""Causes as they were found: which alert follows from which, and whether another is the truer cause."""

from __future__ import annotations

from collections.abc import Mapping

from alerts.causes import Firing, later
from alerts.record import Alert


def follows(number: int, other: int, firing: Mapping[Firing, Alert]) -> bool:
    """Whether an alert follows from the other one, by what was found of them before: rules may have changed."""
    by_number, seen = {one.id: one for one in firing.values()}, set[int]()
    while number in by_number and number not in seen:
        seen.add(number)
        number = by_number[number].cause or 0
        if number == other:
            return True
    return False


def is_nearer(number: int, alert: Alert, firing: Mapping[Firing, Alert], found: Mapping[Firing, int]) -> bool:
    """Whether another alert is the truer cause of an alert than the one that is known: it explains that one, or began
    no later; or the known one is over, while it fires and did not come well after what it is to explain.

    found: the number of the alert that explains one now.
    """
    known = alert.cause
    if known is None or number == known:
        return known is None
    places = {one.id: (where, one.began_ms) for where, one in firing.items()}
    if number not in places:
        return False
    if known not in places:
        return not later(places[number][1], alert.began_ms)
    return found.get(places[known][0]) == number or places[number][1] <= places[known][1]
