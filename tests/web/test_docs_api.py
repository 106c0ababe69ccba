"""docs/api.md names every route and parameter there is, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from dashboard import worker
from dashboard.api import cost, latest, series, unknown_routes
from dashboard.live.unknown import BROKEN, GONE, IDLE, NOT_OFFERED, YOUNG
from tests.web.conftest import MakeWeb, MakeWorld

PAGE = (Path(__file__).parents[2] / "docs" / "api.md").read_text("utf-8")
ROW = re.compile(r"^\| `(GET|POST|DELETE) (\S+)` \| ?([^|]*) ?\|", re.MULTILINE)


def documented() -> dict[tuple[str, str], set[str]]:
    """{(method, path): parameters} of the table."""
    return {(method, path): set(re.findall(r"`(\w+)`", known)) for method, path, known in ROW.findall(PAGE)}


def test_every_route_is_documented_and_every_documented_route_is_there(
    make_world: MakeWorld, make_web: MakeWeb
) -> None:
    rules = make_web(make_world(), demo_control_url="http://127.0.0.1:9").server.url_map.iter_rules()
    served = {
        (method, re.sub(r"<int:\w+>", "ID", rule.rule).replace("<name>", "NAME"))
        for rule in rules
        if rule.endpoint != unknown_routes.ENDPOINT
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }
    assert set(documented()) == served


def test_parameters_are_those_that_the_routes_know(make_world: MakeWorld, make_web: MakeWeb) -> None:
    table = documented()
    assert table["GET", "/api/v1/series"] == set(series.KNOWN)
    assert table["GET", "/api/v1/latest"] == set(latest.KNOWN)
    web = make_web(make_world())
    for (method, path), known in table.items():
        if method == "GET" and path.startswith("/api/v1/") and "demo" not in path and "stream" not in path:
            answer = web.client.get(f"{path.replace('ID', '1')}?no_such_parameter=1")
            assert answer.status_code == 400, path
            listed = answer.json["error"].rsplit("known are: ", 1)[1].rstrip(".")
            assert set(listed.split(", ")) - {"none"} == known, path


def test_numbers_of_the_text_are_those_of_the_code() -> None:
    assert f"{series.DEFAULT_POINTS} where not given, at most {series.MOST_POINTS:,}" in PAGE
    assert f"At most {series.MOST_SERIES:,} series and {cost.MOST_CELLS:,} samples" in PAGE
    assert f"or {cost.MOST_HOURS:,} hours" in PAGE
    assert f"at most {series.MOST_METRICS}." in PAGE
    assert f"The last {series.DEFAULT_SPAN_MS // 60_000} minutes where not given" in PAGE
    assert f"at most {series.MOST_SPAN_MS // 86_400_000} days" in PAGE
    assert f"not received whole within {worker.RECEIVE_S:g} s" in PAGE
    assert f"takes nothing of its answer for {worker.SEND_S:g} s" in PAGE
    for reason in (NOT_OFFERED, GONE, YOUNG, BROKEN, IDLE):
        assert f'"{reason}"' in PAGE
