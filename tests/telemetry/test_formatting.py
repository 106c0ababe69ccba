"""Every unit's text: a table of worked answers, and what must hold for any number."""

import csv
import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemetry import formatting
from telemetry.model import Unit

TABLE = Path(__file__).parents[1] / "data" / "format.csv"
ROWS = list(csv.DictReader(TABLE.read_text(encoding="utf-8").splitlines()))
OPEN_ENDED = {Unit.HERTZ, Unit.PACKET_BYTES}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['value']} {row['unit']}")
def test_worked_answers(row: dict[str, str]) -> None:
    assert formatting.text(float(row["value"]), Unit(row["unit"])) == row["text"]


def test_every_unit_has_worked_answers_and_an_axis() -> None:
    assert {row["unit"] for row in ROWS} == {unit.value for unit in Unit}
    assert set(formatting.AXES) == set(Unit)
    assert formatting.show(78.4, Unit.WATTS) == ("78", "W")
    assert formatting.show(0.5, Unit.RATIO) == ("50.0", "%")


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (0.0, "0.0 /s"),
        (0.0004, "0.0 /s"),
        (0.0005, "0.001 /s"),
        (0.058, "0.058 /s"),
        (-0.058, "−0.058 /s"),
        (0.0994, "0.099 /s"),
        (0.0995, "0.10 /s"),
        (0.124, "0.12 /s"),
        (0.994, "0.99 /s"),
        (0.995, "1.0 /s"),
        (1.23, "1.2 /s"),
        (1000.0, "1.0k /s"),
    ],
)
def test_rates_below_one_carry_two_digits_that_count(value: float, told: str) -> None:
    assert formatting.text(value, Unit.PER_SECOND) == told


def test_bytes_that_are_named_as_they_are() -> None:
    assert [formatting.whole_bytes(value) for value in (1500.0, 9000, None, math.nan)] == ["1500 B", "9000 B", "–", "–"]


@pytest.mark.parametrize("unit", list(Unit))
def test_unknown_is_a_dash_and_never_a_zero(unit: Unit) -> None:
    assert formatting.show(None, unit) == formatting.show(math.nan, unit) == ("–", "")
    assert formatting.text(None, unit) == "–"
    assert formatting.show(math.inf, unit) == ("∞", "")
    assert formatting.show(-math.inf, unit) == ("−∞", "")


SIZES = st.floats(min_value=-1e22, max_value=1e22, allow_nan=False)


@given(value=SIZES, unit=st.sampled_from([unit for unit in Unit if unit not in OPEN_ENDED]))
def test_never_four_digits_nor_a_decimal_from_100_up(value: float, unit: Unit) -> None:
    number, _ = formatting.show(value, unit)
    for digits in re.findall(r"\d+(?:\.\d+)?", number):
        whole, _, decimals = digits.partition(".")
        assert len(whole) <= 3
        most = 3 if unit is Unit.PER_SECOND and whole == "0" else 1
        assert len(decimals) == 0 if len(whole) == 3 else len(decimals) <= most


@given(value=SIZES, unit=st.sampled_from(list(Unit)))
def test_a_sign_only_before_what_is_not_zero(value: float, unit: Unit) -> None:
    number, unit_text = formatting.show(value, unit)
    mirrored, _ = formatting.show(-value, unit)
    assert number.removeprefix("−") == mirrored.removeprefix("−")
    if number.startswith("−"):
        assert re.search("[1-9]", number)
    elif re.search("[1-9]", number):
        assert value > 0
    assert "-" not in number + unit_text


@given(st.floats(min_value=0, max_value=1e11))
def test_no_full_minute_hour_or_day(seconds: float) -> None:
    shown = formatting.text(seconds, Unit.SECONDS)
    limits = {"m": 60, "s": 60, "h": 24, "d": 365, "ms": 1000, "µs": 1000, "y": 1000}
    for number, unit in re.findall(r"([\d.]+) ?(ms|µs|[smhdy])", shown):
        assert float(number) < limits[unit]


@given(st.floats(min_value=0.06, max_value=5e9), st.floats(min_value=1.0, max_value=1.5))
def test_a_longer_time_never_reads_shorter(seconds: float, factor: float) -> None:
    sizes = {"ms": 1e-3, "µs": 1e-6, "s": 1, "m": 60, "h": 3600, "d": 86400, "y": 365 * 86400}

    def read(value: float) -> float:
        parts = re.findall(r"([\d.]+) ?(ms|µs|[smhdy])", formatting.text(value, Unit.SECONDS))
        return sum(float(number) * sizes[unit] for number, unit in parts)

    assert read(seconds) <= read(seconds * factor) * (1 + 1e-9)
    assert read(seconds) == pytest.approx(seconds, rel=0.06)


def test_a_unit_stands_behind_a_space_that_does_not_break() -> None:
    assert formatting.beside("W") == "\u00a0W"
    assert formatting.beside("") == ""


def test_states_have_names_and_an_unknown_code_has_none() -> None:
    states = ("ok", "lost")
    assert [formatting.state(code, states) for code in (0, 1.0, 2, -1, 0.5, math.nan, None)] == [
        "ok",
        "lost",
        "–",
        "–",
        "–",
        "–",
        "–",
    ]


@pytest.mark.parametrize(
    ("now", "baseline", "shown"),
    [
        (2.1, 2.6, "▼ −19.2 %"),
        (3.0, 2.0, "▲ +50.0 %"),
        (1.0, 1.0001, ""),
        (None, 1.0, ""),
        (1.0, None, ""),
        (1.0, 0.0, ""),
        (math.nan, 1.0, ""),
        (1.0, math.inf, ""),
        (-3.0, -2.0, "▼ −50.0 %"),
        (200.0, 1.0, "▲ +>999 %"),
    ],
)
def test_change_against_a_baseline(now: float | None, baseline: float | None, shown: str) -> None:
    assert formatting.change(now, baseline) == shown


@pytest.mark.parametrize(
    ("now", "baseline", "shown"),
    [
        (0.583, 0.39, "▲ +19.3 pp"),
        (0.1, 0.5, "▼ −40.0 pp"),
        (0.02, 0.0, "▲ +2.0 pp"),
        (1.0, 0.0, "▲ +100 pp"),
        (0.5, 0.5004, ""),
        (None, 0.5, ""),
        (0.5, None, ""),
        (math.nan, 0.5, ""),
        (0.5, math.inf, ""),
    ],
)
def test_shares_are_apart_by_points(now: float | None, baseline: float | None, shown: str) -> None:
    assert formatting.points(now, baseline) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(132e9, "132 GB"), (1.445e12, "1.4 TB"), (273e9, "273 GB"), (999.0, "999 B"), (9.99e9, "10.0 GB")],
)
def test_bytes_of_a_model_are_decimal(value: float, shown: str) -> None:
    assert formatting.decimal_bytes(value) == shown


@pytest.mark.parametrize(
    ("unit", "value", "shown"),
    [
        (Unit.BYTES, 2.0 * 1024**3, 2.0),
        (Unit.NETWORK_BYTES_PER_SECOND, 7.6e9, 60.8),
        (Unit.HERTZ, 2.411e9, 2411.0),
        (Unit.RATIO, 0.5, 50.0),
        (Unit.BYTES_PER_SECOND, 3.0 * 1024**2, 3.0),
        (Unit.BYTES_PER_TOKEN, 380e6, 380.0),
        (Unit.WATTS, 78.0, 78.0),
    ],
)
def test_axes_use_one_screen_unit(unit: Unit, value: float, shown: float) -> None:
    assert value * formatting.AXES[unit].scale == pytest.approx(shown)
