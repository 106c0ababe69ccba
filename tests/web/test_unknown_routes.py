"""Addresses below /api that no route answers for."""

from __future__ import annotations

import pytest

from tests.web.conftest import MakeWeb, MakeWorld, Web


@pytest.fixture
def web(make_world: MakeWorld, make_web: MakeWeb) -> Web:
    return make_web(make_world())


@pytest.mark.parametrize("path", ["v1/nothing", "v2/status", "v1/status/more", "nothing", "v1/", ""])
@pytest.mark.parametrize("method", ["get", "post", "delete"])
def test_what_is_not_there_is_a_404_with_a_sentence(web: Web, path: str, method: str) -> None:
    answer = getattr(web.client, method)(f"/api/{path}")
    assert (answer.status_code, answer.content_type) == (404, "application/json")
    assert answer.get_json() == {"error": f"There is nothing at /api/{path}. What there is stands in docs/api.md."}


def test_a_long_address_is_not_repeated_whole(web: Web) -> None:
    assert web.client.get("/api/" + "x" * 500).get_json()["error"].startswith(f"There is nothing at /api/{'x' * 80}. ")


def test_another_method_is_told_apart_from_another_address(web: Web) -> None:
    answer = web.client.post("/api/v1/status")
    assert answer.status_code == 405
    assert answer.get_json() == {"error": "POST is not answered at this address, only GET."}
    assert web.client.get("/api/v1/status").status_code == 200
    assert web.client.head("/api/v1/nothing").status_code == 404
