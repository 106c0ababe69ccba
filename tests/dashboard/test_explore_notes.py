"""Events and annotations: what is told, what may be made, and who may make it."""

from __future__ import annotations

from typing import Any

import pytest

from dashboard import annotations
from dashboard.annotations import Annotations
from dashboard.api import notes
from dashboard.api.parameters import ParameterError
from storage.records import Event
from tests.web.conftest import MakeWeb, MakeWorld, Web, make_web, make_world
from tests.web.world import T0, tick

__all__ = ["make_web", "make_world"]


@pytest.fixture
def web(make_world: MakeWorld, make_web: MakeWeb) -> Web:
    """Thirty ticks, an Xid at tick 10 on spark-01 and another event at tick 20 on spark-02."""
    world = make_world()
    world.run(0, 30)
    world.commit(
        events=[
            Event(0, tick(10), "spark-01", "xid", "Xid 79", {"xid": "79"}),
            Event(0, tick(20), "spark-02", "restart", "began anew"),
        ]
    )
    made = make_web(world)
    made.step()
    return made


def post(web: Web, body: Any, status: int = 201, **headers: str) -> Any:
    answer = web.client.post("/api/v1/annotations", json=body, headers=headers)
    assert answer.status_code == status, answer.text
    return answer.json


def test_events_of_a_stretch(web: Web) -> None:
    told = web.get(f"events?start={T0}&end={tick(30)}")
    assert told == {
        "events": [
            {"t": tick(10), "end": None, "kind": "xid", "text": "Xid 79", "target": "spark-01", "id": None},
            {"t": tick(20), "end": None, "kind": "restart", "text": "began anew", "target": "spark-02", "id": None},
        ],
        "cut": False,
    }
    assert [one["t"] for one in web.get(f"events?start={tick(11)}&end={tick(30)}")["events"]] == [tick(20)]
    assert [one["t"] for one in web.get(f"events?start={T0}&end={tick(30)}&target=spark-01")["events"]] == [tick(10)]
    assert len(web.get("events")["events"]) == 2
    assert web.get(f"events?end={tick(30)}") == told, "from a day before the end on"
    assert web.get(f"events?end={tick(20) + 86_400_000}")["events"] == told["events"][1:]


def test_bad_stretches_are_refused(web: Web) -> None:
    assert "not before" in web.get(f"events?start={tick(5)}&end={tick(5)}", 400)["error"]
    assert "no parameter “node”" in web.get("events?node=spark-01", 400)["error"]


def test_too_many_events_are_cut_and_said(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notes, "MOST_EVENTS", 1)
    told = web.get(f"events?start={T0}&end={tick(30)}")
    assert [one["t"] for one in told["events"]] == [tick(20)]
    assert told["cut"] is True


def test_an_annotation_is_kept_told_and_deleted(web: Web) -> None:
    first = post(web, {"start": tick(15), "text": "  swapped\n the\x00 cable "})["id"]
    second = post(web, {"start": tick(2), "end": tick(12), "text": "benchmark"})["id"]
    assert (first, second) == (1, 2)
    assert web.get("annotations")["annotations"] == [
        {"id": 2, "t": tick(2), "end": tick(12), "text": "benchmark"},
        {"id": 1, "t": tick(15), "end": None, "text": "swapped the cable"},
    ]
    told = web.get(f"events?start={tick(11)}&end={tick(18)}")["events"]
    assert [(one["id"], one["kind"], one["target"]) for one in told] == [
        (2, "annotation", None),
        (1, "annotation", None),
    ]
    assert [one["id"] for one in web.get(f"events?start={tick(12)}&end={tick(14)}")["events"]] == [2]
    assert web.get(f"events?start={tick(13)}&end={tick(14)}")["events"] == []
    assert [one["id"] for one in web.get(f"events?start={T0}&end={tick(30)}&target=spark-01")["events"]] == [None]
    assert web.client.delete(f"/api/v1/annotations/{first}").json == {"deleted": 1}
    assert web.client.delete(f"/api/v1/annotations/{first}").status_code == 404
    assert [one["id"] for one in web.get("annotations")["annotations"]] == [2]
    assert post(web, {"start": tick(1), "text": "later"})["id"] == 3


def test_a_number_is_never_given_again(web: Web) -> None:
    number = post(web, {"start": tick(1), "text": "one"})["id"]
    web.client.delete(f"/api/v1/annotations/{number}")
    assert post(web, {"start": tick(1), "text": "two"})["id"] == number + 1


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ([], "Send an object"),
        ({"start": tick(1), "text": "x", "colour": "red"}, "no parameter “colour”"),
        ({"text": "x"}, "Parameter “start” is “None”"),
        ({"start": True, "text": "x"}, "Parameter “start” is “True”"),
        ({"start": -1, "text": "x"}, "Parameter “start” is “-1”"),
        ({"start": tick(31) + notes.DAY_MS, "text": "x"}, "not later than tomorrow"),
        ({"start": tick(5), "end": tick(5), "text": "x"}, "Parameter “end” is not after “start”"),
        ({"start": tick(5), "end": "x", "text": "x"}, "Parameter “end” is “x”"),
        ({"start": tick(5)}, "Parameter “text” is missing"),
        ({"start": tick(5), "text": " \n"}, "Parameter “text” is 0 signs long"),
        ({"start": tick(5), "text": "x" * 201}, "Parameter “text” is 201 signs long"),
    ],
)
def test_what_is_no_annotation_is_refused(web: Web, body: Any, said: str) -> None:
    assert said in post(web, body, 400)["error"]
    assert web.get("annotations")["annotations"] == []


def test_the_longest_text_and_the_latest_instant_are_taken(web: Web) -> None:
    post(web, {"start": tick(30) + notes.DAY_MS, "text": "x" * 200})
    assert len(web.get("annotations")["annotations"]) == 1


def test_other_sites_and_forms_cannot_annotate(web: Web) -> None:
    body = {"start": tick(1), "text": "x"}
    assert "another site" in post(web, body, 403, Origin="http://evil.example")["error"]
    assert web.client.post("/api/v1/annotations", data="start=1").status_code == 415
    assert web.client.delete("/api/v1/annotations/1", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert (
        web.client.post("/api/v1/annotations", data=b"{" + b" " * 5000, content_type="application/json").status_code
        == 413
    )


def test_a_full_list_says_so(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(annotations, "MOST", 1)
    post(web, {"start": tick(1), "text": "x"})
    assert "There are 1 annotations already" in post(web, {"start": tick(1), "text": "y"}, 409)["error"]


def test_annotations_wait_for_one_another(web: Web) -> None:
    kept = Annotations(web.process.sources.store)
    with pytest.raises(ParameterError):
        notes.wanted({"start": 0, "text": 5}, T0)
    assert kept.add(annotations.Asked(tick(1), None, "x")) == 1
    assert kept.remove(7) is False
    assert kept.remove(1) is True
    assert kept.between(0, tick(9)) == []
