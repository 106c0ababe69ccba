"""Alerts that are one story told many times: the same rule, on one thing after another, within a minute.

A cluster-wide fault (no RDMA, a switch that is gone) is no alert of the cluster, since each node sees its own part of
it. So what people read has one card and one paragraph of it; each alert stays one, with its page and its end.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

TOGETHER_MS = 60_000
"""From the first of them."""
LEAST = 3
"""Fewer stand each for itself, with its own numbers."""
T = TypeVar("T")


def together(found: Iterable[T], what: Callable[[T], tuple[Hashable, int]]) -> list[list[T]]:
    """What belongs together, in the order of the first of each. what: (in what they are equal, when it was).

    >>> together([("a", 1), ("b", 2), ("a", 3), ("a", 60_001), ("a", 60_002)], lambda one: one)
    [[('a', 1), ('a', 3), ('a', 60001)], [('b', 2)], [('a', 60002)]]
    """
    groups: list[list[T]] = []
    for one in found:
        equal, at_ms = what(one)
        for group in groups:
            first, first_ms = what(group[0])
            if equal == first and abs(at_ms - first_ms) <= TOGETHER_MS:
                group.append(one)
                break
        else:
            groups.append([one])
    return [part for group in groups for part in ([group] if len(group) >= LEAST else [[one] for one in group])]
