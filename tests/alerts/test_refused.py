"""Rules and numbers that must not come to hold: each is refused with a sentence, quickly."""

from __future__ import annotations

import pytest

from alerts.language import number
from alerts.tokens import LanguageError
from alerts.units import seconds_of
from alerts.weekly import weekly_text


@pytest.mark.parametrize("text", ["mon 0\u0663:00-10:00", "mon 09:0\u0663-10:00", "mon 09:00-1\uff10:00"])
def test_other_scripts_digits_are_no_time(text: str) -> None:
    with pytest.raises(ValueError, match="is a time such as 22:00"):
        weekly_text(text)


@pytest.mark.parametrize("text", ["\u0663 W", "1\u0663", "\u00b2"])
def test_other_scripts_digits_are_no_number(text: str) -> None:
    with pytest.raises(LanguageError):
        number(text)


@pytest.mark.parametrize(
    "text", ["\u0663s", "1_0s", "infs", "nans", "-1s", "s", "", "1", "1W", "1e999s", "1s s", "1 s2"]
)
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="is no duration"):
        seconds_of(text)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), (" 2 min ", 120), ("24h", 86_400), ("500ms", 0.5), ("1.5e1s", 15), ("0s", 0)]
)
def test_durations(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds
