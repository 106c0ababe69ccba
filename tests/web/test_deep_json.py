"""A body of thousands of levels is refused, whatever it is sent to."""

from __future__ import annotations

import pytest

from tests.web.conftest import MakeWeb, MakeWorld


@pytest.mark.parametrize("sign", [("[", "]"), ('{"a":', "}")])
def test_json_of_thousands_of_levels_is_refused_by_every_route(
    make_world: MakeWorld, make_web: MakeWeb, sign: tuple[str, str]
) -> None:
    web = make_web(make_world(nodes=1))
    body = sign[0] * 20_000 + "1" + sign[1] * 20_000
    rules = [one for one in web.client.application.url_map.iter_rules() if "POST" in (one.methods or ())]
    assert len(rules) > 8
    for rule in rules:
        path = rule.rule.replace("<int:number>", "1").replace("<name>", "ops").replace("<path:path>", "x")
        answer = web.client.post(path, data=body, content_type="application/json")
        assert 400 <= answer.status_code < 500, (path, answer.text[:200])
