"""Requests to Dash's own routes that no page sends are answered with a sentence and one line in the log."""

from __future__ import annotations

import copy
import json
import logging
from collections.abc import Callable
from typing import Any

import pytest
from flask.testing import FlaskClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dashboard.server import build
from tests.web.conftest import MakeWeb, MakeWorld

OUTPUT = ".._pages_content.children..._pages_store.data.."
BODY: dict[str, Any] = {
    "output": OUTPUT,
    "outputs": [{"id": "_pages_content", "property": "children"}, {"id": "_pages_store", "property": "data"}],
    "inputs": [
        {"id": "_pages_location", "property": "pathname", "value": "/status"},
        {"id": "_pages_location", "property": "search", "value": ""},
    ],
    "changedPropIds": ["_pages_location.pathname"],
    "parsedChangedPropsIds": ["_pages_location.pathname"],
}
"""What Dash's renderer sends when a page is changed."""
ROUTE = "/_dash-update-component"


@pytest.fixture
def client(make_world: MakeWorld, make_web: MakeWeb) -> FlaskClient:
    """A client of a server with its pages, at tick 30."""
    world = make_world(nodes=1)
    world.run(0, 30)
    web = make_web(world)
    web.step()
    return build(web.process).test_client()


def changed(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    body = copy.deepcopy(BODY)
    change(body)
    return body


def test_what_a_page_sends_is_answered(client: FlaskClient) -> None:
    answer = client.post(ROUTE, json=BODY)
    assert answer.status_code == 200
    assert set(answer.json["response"]) == {"_pages_content", "_pages_store"}
    for search in ("?x=1", None):
        assert client.post(ROUTE, json=changed(lambda b, s=search: b["inputs"][1].update(value=s))).status_code == 200


MALFORMED: list[Any] = [
    {},
    [],
    5,
    None,
    "x",
    {"output": "x"},
    {"output": {}},
    {"output": OUTPUT},
    changed(lambda body: body.update(output="_pages_dummy.children")),
    changed(lambda body: body.pop("inputs")),
    changed(lambda body: body["inputs"].pop()),
    changed(lambda body: body["inputs"].reverse()),
    changed(lambda body: body.update(inputs={})),
    changed(lambda body: body.update(inputs=[5, 5])),
    changed(lambda body: body["inputs"][0].pop("id")),
    changed(lambda body: body["inputs"][0].update(id={"a": 1})),
    changed(lambda body: body["inputs"][0].pop("value")),
    changed(lambda body: body["inputs"][0].update(value=5)),
    changed(lambda body: body["inputs"][0].update(value="status")),
    changed(lambda body: body["inputs"][1].update(value=["?"])),
    changed(lambda body: body.update(state=[{"id": "a", "property": "b"}])),
    changed(lambda body: body.update(state=None)),
    changed(lambda body: body.pop("outputs")),
    changed(lambda body: body.update(outputs=[])),
    changed(lambda body: body["outputs"].pop()),
    changed(lambda body: body.update(outputs=body["outputs"][0])),
    changed(lambda body: body["outputs"][0].update(id=5)),
    changed(lambda body: body.update(changedPropIds=5)),
    changed(lambda body: body.update(changedPropIds=[{}])),
]


@pytest.mark.parametrize("body", MALFORMED, ids=range(len(MALFORMED)))
def test_a_malformed_callback_is_refused(client: FlaskClient, caplog: pytest.LogCaptureFixture, body: object) -> None:
    answer = client.post(ROUTE, data=json.dumps(body), content_type="application/json")
    assert (answer.status_code, answer.text) == (400, "This is no request that a page of ours sends.\n")
    assert lines(caplog) == [(logging.WARNING, "refused a malformed request to /_dash-update-component")]


def lines(caplog: pytest.LogCaptureFixture) -> list[tuple[int, str]]:
    assert not any(record.exc_info for record in caplog.records), "a traceback"
    return [(record.levelno, record.getMessage()) for record in caplog.records]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["", "/", "id", "value", OUTPUT]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "property", "value"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(key=st.sampled_from([*BODY, "state"]), value=JSON)
def test_no_body_is_a_fault(client: FlaskClient, key: str, value: object) -> None:
    assert client.post(ROUTE, json=changed(lambda body: body.update({key: value}))).status_code in (200, 400)


@pytest.mark.parametrize(
    "path",
    [
        "/_dash-component-suites/../../x",
        "/_dash-component-suites/dash/../x",
        "/_dash-component-suites/dash/%2e%2e/x",
        "/_dash-component-suites/dash/deps/nope.js",
        "/_dash-component-suites/os/path.py",
    ],
)
def test_a_file_that_dash_does_not_have(client: FlaskClient, caplog: pytest.LogCaptureFixture, path: str) -> None:
    answer = client.get(path)
    assert (answer.status_code, answer.text) == (404, "There is no such file.\n")
    ((level, line),) = lines(caplog)
    assert (level, line.startswith("there is no file '/_dash-component-suites/")) == (logging.WARNING, True)


def test_a_line_of_the_log_stays_one_line(client: FlaskClient, caplog: pytest.LogCaptureFixture) -> None:
    assert client.get(f"/_dash-component-suites/a%0d%0ab/{'c' * 500}").status_code == 404
    ((_, line),) = lines(caplog)
    assert len(line.splitlines()) == 1
    assert len(line) < 120


@pytest.mark.parametrize(
    "path",
    ["/assets/%00", "/assets/../app.py", "/assets/..%2fapp.py", "/%0d%0aX", "/node/%00", "/node/..", "/fragment/x"],
)
def test_odd_paths_are_no_fault(client: FlaskClient, caplog: pytest.LogCaptureFixture, path: str) -> None:
    assert client.get(path).status_code in (200, 404)
    assert lines(caplog) == []


def test_faults_of_our_own_pages_stay_faults(
    client: FlaskClient, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client.application.extensions["tachograph"], "status", lambda: 1 / 0)
    assert client.get("/fragment/status").status_code == 500
    assert "ZeroDivisionError" in caplog.text
