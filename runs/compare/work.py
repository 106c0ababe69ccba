"""Whether two runs did the same work: another model, longer prompts or answers, make another speed at equal load."""

from __future__ import annotations

from collections.abc import Sequence

from runs.entries import Section, find
from runs.fingerprint import Fingerprint

APART = 0.25
"""Mean lengths that differ by more than this share are told."""
LENGTHS = (("requests.prompt", "prompts"), ("requests.output", "answers"))


def notes(summaries: Sequence[Sequence[Section]], prints: Sequence[Fingerprint]) -> list[str]:
    """What is to be said beside a verdict on two runs, in words; nothing where the work was the same, or not known."""
    found = []
    models = [_model(one) for one in prints]
    if all(models) and models[0] != models[1]:
        found.append(f"they served different models: {models[0]} and {models[1]}")
    for path, what in LENGTHS:
        first, second = (_length(one, path) for one in summaries)
        if first and second and max(first, second) > (1.0 + APART) * min(first, second):
            found.append(f"{what} had {first:,.0f} tokens on average in the first run, {second:,.0f} in the second run")
    return found


def _model(printed: Fingerprint) -> str:
    field = printed.find("model")
    return "" if field is None else field.value


def _length(summary: Sequence[Section], path: str) -> float | None:
    """Tokens per request that finished."""
    tokens, finished = (find(summary, one) for one in (path, "requests.finished"))
    if tokens is None or finished is None or tokens.value is None or not finished.value:
        return None
    return tokens.value / finished.value
