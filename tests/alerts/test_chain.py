"""Which of two alerts is the truer cause of a third."""

from __future__ import annotations

from dataclasses import replace

import pytest

from alerts.causes import Firing
from alerts.chain import follows, is_nearer
from alerts.record import Alert

HOT = Alert(1, "hot", "", "node", ("a",), "warning", "", 1_000_000, 1_000_000, "", cause=2)
KNOWN = replace(HOT, id=2, rule="known", cause=None, began_ms=900_000)
OTHER = replace(KNOWN, id=3, rule="other")


def firing(*alerts: Alert) -> dict[Firing, Alert]:
    return {(one.rule, one.key): one for one in alerts}


@pytest.mark.parametrize(
    ("number", "known", "others", "found", "nearer"),
    [
        (3, None, (OTHER,), {}, True),
        (3, None, (), {}, True),  # what ended a moment ago
        (2, 2, (KNOWN,), {}, False),
        (3, 2, (KNOWN,), {}, False),
        (3, 2, (replace(OTHER, began_ms=1_120_000),), {}, True),
        (3, 2, (replace(OTHER, began_ms=1_120_001),), {}, False),
        (3, 2, (KNOWN, OTHER), {}, True),
        (3, 2, (KNOWN, replace(OTHER, began_ms=900_001)), {}, False),
        (3, 2, (KNOWN, replace(OTHER, began_ms=900_001)), {("known", ("a",)): 3}, True),
        (3, 2, (KNOWN, replace(OTHER, began_ms=900_001)), {("known", ("a",)): 4}, False),
    ],
)
def test_the_truer_cause(
    number: int, known: int | None, others: tuple[Alert, ...], found: dict[Firing, int], nearer: bool
) -> None:
    alert = replace(HOT, cause=known)
    assert is_nearer(number, alert, firing(alert, *others), found) is nearer


def test_what_follows_from_what() -> None:
    chain = firing(HOT, replace(KNOWN, cause=3), OTHER)
    assert [follows(1, other, chain) for other in (2, 3, 4)] == [True, True, False]
    assert not follows(3, 1, chain)
    assert not follows(1, 4, firing(HOT, replace(KNOWN, cause=1))), "two that explain each other lead nowhere else"
