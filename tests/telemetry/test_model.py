"""Parts of a histogram, labels of a series."""

from __future__ import annotations

import pytest

from telemetry.catalog import engine
from telemetry.model import PARTS, Kind, Series, Unit, part


@pytest.mark.parametrize(
    ("name", "unit", "by"),
    [
        ("bucket", Unit.COUNT, ("engine", "le", "model")),
        ("sum", Unit.SECONDS, ("engine", "model")),
        ("count", Unit.COUNT, ("engine", "model")),
    ],
)
def test_a_histogram_is_stored_as_counters(name: str, unit: Unit, by: tuple[str, ...]) -> None:
    stored = part(engine.TTFT, name)
    assert stored.name == f"time_to_first_token_seconds_{name}"
    assert (stored.kind, stored.unit, stored.by) == (Kind.COUNTER, unit, by)
    assert stored.at_first_use


def test_a_sum_of_tokens_is_in_tokens() -> None:
    assert part(engine.REQUEST_PROMPT_TOKENS, "sum").unit is Unit.TOKENS
    assert PARTS == ("bucket", "sum", "count")


def test_label() -> None:
    one = Series("head", "m", (("engine", "0"), ("le", "+Inf")))
    assert (one.label("le"), one.label("engine"), one.label("gpu")) == ("+Inf", "0", None)
    assert Series("head", "m").label("engine") is None
