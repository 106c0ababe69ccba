"""Speculative decoding in a stretch: how many draft tokens were accepted, and where in the draft."""

from __future__ import annotations

from runs.entries import Entry, Number, Section
from runs.stretch import Stretch
from telemetry.catalog import engine
from telemetry.model import Metric, Unit

ACCEPTANCE = Number("acceptance", "Acceptance rate", Unit.RATIO, "Accepted ∕ proposed draft tokens.")
LENGTH = Number("accepted_length", "Accepted length", Unit.TOKENS_PER_STEP, "Tokens per draft: 1 + accepted ∕ drafts.")
DRAFT_LENGTH = Number("draft_length", "Draft length (effective K)", Unit.TOKENS_PER_STEP, "Proposed tokens ∕ drafts.")
DRAFTS = Number("drafts", "Drafts", Unit.COUNT, engine.DRAFTS.help)
PROPOSED = Number("draft_tokens", "Draft tokens", Unit.TOKENS, engine.DRAFT_TOKENS.help)
ACCEPTED = Number("accepted_tokens", "Accepted tokens", Unit.TOKENS, engine.ACCEPTED_TOKENS.help)
AT_POSITION = Number(
    "acceptance_at",
    "Accepted at position",
    Unit.RATIO,
    "Drafts whose token at this position was accepted ∕ all drafts; positions count from 0.",
)
REPORTED = "as the engine reports it, mean of the readings; it has no counters"


def section(stretch: Stretch) -> Section:
    """Acceptance, lengths, and acceptance by position; nothing where the engine does not speculate."""
    return Section("speculation", "Speculative decoding", tuple(_counted(stretch) or _reported(stretch)))


def _counted(stretch: Stretch) -> list[Entry]:
    drafts, proposed, accepted = (
        stretch.gained(metric) for metric in (engine.DRAFTS, engine.DRAFT_TOKENS, engine.ACCEPTED_TOKENS)
    )
    if not proposed > 0:
        return []
    why = "drafts are not counted"
    rate, of_all = _quotient(stretch, engine.ACCEPTED_TOKENS, engine.DRAFT_TOKENS)
    more, verified = _quotient(stretch, engine.ACCEPTED_TOKENS, engine.DRAFTS)
    length, made = _quotient(stretch, engine.DRAFT_TOKENS, engine.DRAFTS)
    return [
        ACCEPTANCE.entry(rate, count=of_all),
        LENGTH.entry(1.0 + more, count=verified, why=why),
        DRAFT_LENGTH.entry(length, count=made, why=why),
        DRAFTS.entry(drafts, why=why),
        PROPOSED.entry(proposed),
        ACCEPTED.entry(accepted),
        *_positions(stretch),
    ]


def _quotient(stretch: Stretch, above: Metric, below: Metric) -> tuple[float, float]:
    """Of the engines that count both, and what it rests on; NaN where that is nothing."""
    counted, all_of = stretch.both(above, below)
    return counted / all_of if all_of > 0 else float("nan"), all_of


def _positions(stretch: Stretch) -> list[Entry]:
    found = stretch.gained_by(engine.ACCEPTED_BY_POSITION, "position")
    _, drafts = stretch.both(engine.ACCEPTED_BY_POSITION, engine.DRAFTS)
    if not drafts > 0:
        return []
    order = sorted(found, key=_place)
    return [AT_POSITION.entry(found[position] / drafts, of=position, count=found[position]) for position in order]


def _place(position: str) -> tuple[bool, int, str]:
    """Where a position comes: numbers first, which other scripts' digits are none of."""
    number = position.isascii() and position.isdigit()
    return not number, int(position) if number else 0, position


def _reported(stretch: Stretch) -> list[Entry]:
    rows: tuple[tuple[Number, Metric], ...] = (
        (ACCEPTANCE, engine.REPORTED_ACCEPTANCE),
        (LENGTH, engine.REPORTED_ACCEPTED_LENGTH),
    )
    entries = []
    for number, metric in rows:
        mean = stretch.engines.reported[metric.name]
        if mean.count:
            entries.append(number.entry(mean.value, count=mean.count, note=REPORTED))
    return entries
