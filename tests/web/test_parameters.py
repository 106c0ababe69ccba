"""Whatever text a parameter is given: a value, or a sentence with status 400 (404 for a metric's name)."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.api import parameters
from dashboard.api.parameters import ParameterError
from dashboard.api.series import _labels
from runs.bounds import LATEST_MS
from telemetry.catalog import network
from tests.web.conftest import MakeWeb, MakeWorld, Web

NOW = 1_796_000_000_000
ALPHABET = st.sampled_from("0123456789-+.:,eE_ ²٣smhdTZnaif\x00\n") | st.characters()
TEXT = st.text(ALPHABET, max_size=24) | st.text(max_size=200)
PARSERS: dict[str, Callable[[str], object]] = {
    "integer": lambda text: parameters.integer("points", text, 1, 5_000),
    "number": lambda text: parameters.number("quantile", text, 0.0, 1.0),
    "duration_ms": lambda text: parameters.duration_ms("start", text),
    "instant_ms": lambda text: parameters.instant_ms("start", text, NOW),
    "metric": parameters.metric,
    "one_of": lambda text: parameters.one_of("node", text, ["spark-01"]),
    "only": lambda text: parameters.only({text: ""}, ("metric",)),
    "flag": lambda text: parameters.flag("total", text),
    "labels": lambda text: _labels(text, network.RDMA_TRANSMIT),
}


@pytest.mark.parametrize(
    ("given_texts", "found"),
    [
        ({}, (NOW - 60, NOW)),
        ({"end": "5000"}, (4940, 5000)),
        ({"start": "7"}, (7, NOW)),
        ({"start": "-1s", "end": "-2s"}, (NOW - 1000, NOW - 2000)),
    ],
)
def test_a_range(given_texts: dict[str, str], found: tuple[int, int]) -> None:
    assert parameters.range_ms(given_texts, NOW, 60) == found


def test_the_order_of_a_range() -> None:
    parameters.ordered(4, 5)
    for start in (5, 6):
        with pytest.raises(ParameterError, match="“start” is not before “end”"):
            parameters.ordered(start, 5)


@pytest.mark.parametrize("name", PARSERS)
@given(text=TEXT)
def test_a_value_or_a_sentence(name: str, text: str) -> None:
    refused = refusal(PARSERS[name], text)
    if refused is not None:
        assert refused.status == (404 if name == "metric" and text else 400)
        assert re.fullmatch(r"(Parameter|There|The|Label) .*[.?]", str(refused), re.DOTALL)
        assert len(str(refused)) < 400


def refusal(parser: Callable[[str], object], text: str) -> ParameterError | None:
    """What a parser says of a text that it refuses; None where it finds a value."""
    try:
        parser(text)
    except ParameterError as refused:
        return refused
    return None


@given(text=TEXT)
def test_whole_numbers_are_those_of_ten_digits(text: str) -> None:
    try:
        value = parameters.integer("after", text, -(10**15), 10**15)
    except ParameterError:
        return
    assert re.fullmatch(r"-?[0-9]{1,16}", text)
    assert f"{value:0{len(text)}}" == text or value == 0


@given(value=st.integers(1, 5_000))
def test_every_whole_number_in_range_is_read(value: int) -> None:
    assert parameters.integer("points", str(value), 1, 5_000) == value


@pytest.mark.parametrize(
    ("given_text", "expected"), [("0", 0.0), ("0.95", 0.95), (".5", 0.5), ("1.", 1.0), ("5e-1", 0.5), ("+1", 1.0)]
)
def test_numbers(given_text: str, expected: float) -> None:
    assert parameters.number("quantile", given_text, 0.0, 1.0) == expected


@pytest.mark.parametrize("given_text", ["٠", "0_1", "nan", "inf", "-0.1", "1.0001", "", ".", "e1", "0x1", " 1", "1\n"])
def test_no_numbers(given_text: str) -> None:
    with pytest.raises(ParameterError, match="expected a number from 0 to 1"):
        parameters.number("quantile", given_text, 0.0, 1.0)


@pytest.mark.parametrize(
    ("given_text", "expected"),
    [("250ms", 250), ("90s", 90_000), ("15m", 900_000), ("2h", 7_200_000), ("1d", 86_400_000)],
)
def test_lengths_of_time(given_text: str, expected: int) -> None:
    assert parameters.duration_ms("start", given_text) == expected
    assert parameters.instant_ms("start", f"-{given_text}", NOW) == NOW - expected


@pytest.fixture
def web(make_world: MakeWorld, make_web: MakeWeb) -> Web:
    """A web process at tick 30."""
    world = make_world(nodes=1)
    world.run(0, 30)
    web = make_web(world)
    web.step()
    return web


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("series?metric=gpu_power_watts&points=--5", "“points” is “--5”, expected a whole number from 1 to 5000."),
        ("series?metric=gpu_power_watts&points=-", "Parameter “points” is “-”"),
        ("series?metric=gpu_power_watts&points=5%0A", "Parameter “points” is “5\n”"),
        ("live?after=--1", "Parameter “after” is “--1”"),
        ("live?after=-1", "Parameter “after” is “-1”"),
        ("live?after=٣", "Parameter “after” is “٣”"),
        ("live?minutes=1_0", "Parameter “minutes” is “1_0”"),
        ("stream?after=--1", "Parameter “after” is “--1”"),
        ("series?metric=gpu_power_watts&start=-²s", "Parameter “start” is “²s”, expected a length of time"),
        ("series?metric=gpu_power_watts&start=-٣s", "Parameter “start” is “٣s”, expected a length of time"),
        ("series?metric=gpu_power_watts&start=-5", "Parameter “start” is “-5”, expected epoch milliseconds"),
        ("absences?start=-²s", "Parameter “start” is “²s”"),
        ("absences?start=-99999999999d", "Parameter “start” is “99999999999d”"),
    ],
)
def test_odd_texts_are_refused_by_the_routes(web: Web, path: str, sentence: str) -> None:
    route, _, query = path.partition("?")
    assert sentence in web.get(f"{route}?{quote(query, safe='=&%')}", 400)["error"]


@pytest.mark.parametrize(
    "path", ["absences?start=0001-01-01T00:00:00Z&end=9999-12-31T23:59:59Z", "absences?start=-9999999999d"]
)
def test_the_longest_ranges_of_absences_have_an_answer(web: Web, path: str) -> None:
    assert web.get(path) == {"absences": []}


@pytest.mark.parametrize(
    "path", ["series?metric=%FF", "latest?node=%ED%A0%80", "node?name=%00", "series?%FF=1", "live?after=%C3"]
)
def test_bytes_that_are_no_text_are_refused(web: Web, path: str) -> None:
    assert web.client.get(f"/api/v1/{path}").status_code in (400, 404)


@pytest.mark.parametrize("number", [str(2**63), "9" * 18, "9" * 400, "9" * 5000, "%D9%A3"])
@pytest.mark.parametrize(
    "path",
    [
        "runs/{}",
        "runs/{}/summary.csv",
        "runs/{}/charts",
        "runs/{}/timeline",
        "runs/{}/node?name=a",
        "runs/{}/moment?at=5",
        "runs/{}/benchmarks",
        "runs/{}/report.html",
        "runs/{}/report.md",
        "runs/{}/bundle",
        "runs/commands/{}",
        "alerts/{}",
        "alerts/{}/evidence",
        "alerts/{}/evidence.json",
        "alerts/{}/evidence.csv",
        "alerts/{}/charts",
        "alerts/commands/{}",
    ],
)
def test_a_number_larger_than_any_is_not_there(web: Web, path: str, number: str) -> None:
    answer = web.client.get(f"/api/v1/{path.format(number)}")
    assert answer.status_code == 404, answer.text
    assert answer.json["error"].startswith("There is no")
    assert len(answer.json["error"]) < 200


def test_an_annotation_with_a_number_larger_than_any_is_not_there(web: Web) -> None:
    assert web.client.delete(f"/api/v1/annotations/{2**63}").status_code == 404
    assert web.client.delete(f"/api/v1/annotations/{'9' * 18}").status_code == 404


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("-9999999999d", 0),
        ("0001-01-01T00:00:00Z", 0),
        ("1969-12-31T23:59:59Z", 0),
        ("1970-01-01T00:00:01Z", 1000),
        (str(LATEST_MS), LATEST_MS),
        (str(LATEST_MS + 1), LATEST_MS),
        ("9" * 15, LATEST_MS),
        ("9999-12-31T23:59:59+14:00", LATEST_MS),
        ("9999-12-31T23:59:59-14:00", LATEST_MS),
        ("0001-01-01T00:00:00+14:00", 0),
    ],
)
def test_an_instant_outside_of_all_calendars_is_their_end(given: str, found: int) -> None:
    assert parameters.instant_ms("start", given, 1_796_000_000_000) == found


@pytest.mark.parametrize("given", ["9" * 16, "9" * 5000, "10000-01-01T00:00:00Z"])
def test_an_instant_that_no_calendar_has_is_refused(given: str) -> None:
    with pytest.raises(parameters.ParameterError, match=r"Parameter “end” is .*, expected epoch milliseconds"):
        parameters.instant_ms("end", given, 1_796_000_000_000)
