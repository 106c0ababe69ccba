"""Rules of which nobody would be told, since all whom they are told to want to hear of graver things only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from alerts.notices import Channel
from alerts.rule import RANK, Severity


def heard(least: Severity) -> str:
    """What a channel hears of.

    >>> heard(Severity.WARNING), heard(Severity.CRITICAL)
    ('warning and graver', 'critical')
    """
    return least.value if least is Severity.CRITICAL else f"{least.value} and graver"


def untold(severity: Severity, named: Sequence[str], channels: Iterable[Channel]) -> str:
    """Why nobody is told of a rule of this severity: what each channel that would be asked hears; "" where one is told,
    or where there is no channel. named: those of the rule; where none of them is there, all are asked."""
    on = [one for one in channels if one.enabled]
    asked = [one for one in on if one.name in named] or on
    if any(RANK[severity] >= RANK[one.least] for one in asked):
        return ""
    return "; ".join(f"{one.name} hears {heard(one.least)}" for one in asked)
