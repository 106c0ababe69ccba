"""What stands above a run's timeline: key numbers by short names, and who stands out."""

from __future__ import annotations

from typing import Any

import pytest

from dashboard.components.run_forms import begin, controls
from dashboard.components.run_nodes import stand_out
from dashboard.components.run_results import results
from dashboard.layout.static import render
from dashboard.pages.run import HEADLINES, headlines, numbers, rest, singles
from tests.dashboard.parts import attribute, text, walk


def nodes(*entries: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": "nodes", "label": "Nodes", "entries": list(entries)}]


def apart(key: str, value: float | None, **more: Any) -> dict[str, Any]:
    return {"key": key, "label": key, "value": value, "unit": "ratio", "of": "spark-03", **more}


def test_who_stands_out_is_named_and_nothing_is_said_where_nobody_can_be() -> None:
    silent = apart("hottest", None, note="fewer than three nodes can be compared")
    said = stand_out(nodes(apart("slowest", -0.25), silent))
    assert text(said).startswith("Slowest: spark-03")
    assert "compared" not in text(said)
    assert text(stand_out(nodes(apart("slowest", None, note="fewer than three"), silent))) == ""
    assert text(stand_out([])) == ""


@pytest.mark.parametrize(("section", "key", "name"), HEADLINES)
def test_a_key_number_has_a_short_name_and_tells_the_whole_one(section: str, key: str, name: str) -> None:
    entry = {"key": key, "label": "The whole name", "value": 3.0, "unit": "count", "definition": "how it is made"}
    card = headlines([{"key": section, "entries": [entry | {"note": "one note"}]}])
    label = next(part for part in walk(card) if attribute(part, "className") == "label")
    assert (text(label), attribute(label, "title")) == (name, "The whole name: how it is made")
    assert text(card).endswith("one note")
    assert len(name) <= 18, "more is cut off in an eighth of the page"
    bare = headlines([{"key": section, "entries": [entry | {"definition": ""}]}])
    assert any(attribute(part, "title") == "The whole name" for part in walk(bare))


RESULT = {"key": "abc", "tool": "vllm bench serve", "file": "x.json", "overlay": None, "beside": [], "rest": []}


@pytest.mark.parametrize(
    ("by", "moves", "then"),
    [
        ("found", ['name="to" value=""', 'name="to" value="null"'], False),
        ("foreign", [], False),
        ("benchmark", ['name="to" value=""'], True),
    ],
)
def test_a_result_offers_where_else_it_may_go(by: str, moves: list[str], then: bool) -> None:
    """What came with a bundle stays with it; what was kept apart can only go to a run, and is no run then."""
    shown = render(results({"id": 4, "by": by}, [RESULT | {"protocol": {}}]), {})
    assert shown.count('data-run-order="move" data-run="4"') == len(moves)
    assert shown.count('<input type="hidden" name="key" value="abc" data-as="text">') == len(moves)
    assert [one in shown for one in moves] == [True] * len(moves)
    assert ('data-then="/runs"' in shown) == then
    assert ('required inputmode="numeric" pattern="[1-9][0-9]{0,8}"' in shown) == bool(moves)


PAIR = {"label": "Output tokens", "client": {"key": "output", "label": "x", "value": 400.0, "unit": "tokens"}}
PAIR |= {"server": None, "difference": None, "note": "warm-up requests, too"}


def test_a_result_without_an_engine_has_no_columns_of_one() -> None:
    alone = RESULT | {"protocol": {}, "beside": [PAIR]}
    shown = render(results({"id": 4, "by": "benchmark"}, [alone]), {})
    assert "Client" in shown
    assert "Engine" not in shown
    assert "warm-up requests" not in shown
    both = RESULT | {"protocol": {}, "beside": [PAIR, PAIR | {"server": PAIR["client"]}]}
    assert "Engine" in render(results({"id": 4, "by": "found"}, [both]), {})


ABOUT = {"id": 4, "name": "x", "deployment": "x", "live": False, "pinned": False, "baseline": False, "note": ""}
ABOUT |= {
    "tags": [],
    "labels": {},
    "start": 0,
    "end": 9000,
    "stretch": [0, 9000],
    "trim_start": None,
    "trim_end": None,
    "before": None,
}
ABOUT |= {"after": None, "measured": {}, "nodes": None}


@pytest.mark.parametrize(("by", "own"), [("found", True), ("hand", True), ("benchmark", False), ("foreign", False)])
def test_what_needs_samples_is_offered_where_they_are(by: str, own: bool) -> None:
    shown = render(controls(ABOUT | {"by": by}), {})
    needs = ["pin", "baseline", "annotate", "trim", "split", "nodes"]
    assert [f'data-run-order="{kind}"' in shown for kind in needs] == [own] * len(needs)
    for kind in ("rename", "tag", "label", "note", "measured", "delete"):
        assert f'data-run-order="{kind}"' in shown


def test_a_result_alone_says_nothing_of_what_it_cannot_know() -> None:
    """Not on what it ran, nor that it ended, nor what others have published of speeds that it has not."""
    found = {"run": ABOUT | {"by": "benchmark"}, "summary": [], "fingerprint": [], "marks": [{"t": 5}]}
    shown = render(rest(found | {"references": []}, {}), {})
    assert not any(word in shown for word in ("Ran on", "Marks and events", "Published"))
    own = found | {"run": ABOUT | {"by": "found"}, "marks": []}
    assert [word in render(rest(own, {}), {}) for word in ("Ran on", "Marks and events")] == [True, True]


def test_how_single_nodes_were_watched_is_folded() -> None:
    def watched(key: str, of: str | None) -> dict[str, Any]:
        return {"key": key, "label": key, "value": 1.0, "unit": "count", **({"of": of} if of else {})}

    names = ["head", "nodes", "spark-01", "spark-02"]
    found = [watched(key, of) for of in names for key in ("gaps", "restarts")] + [watched("events", None)]
    assert [one["of"] for one in singles(found)] == ["spark-01", "spark-01", "spark-02", "spark-02"]
    told = text(numbers(found, {"key": "quality", "label": "Data quality"}, {"run": "1"}))
    assert "Each by itself: 4 numbers" in told
    assert "spark-01" not in told
    assert singles(found[:2]) == []
    assert [one["key"] for one in singles([watched("cage_sent", "spark-01 p0"), watched("sent", None)])] == [
        "cage_sent"
    ]


def test_a_run_can_be_started_of_each_deployment() -> None:
    assert text(begin([])) == "No deployment is known yet: an engine has to be read once."
    html = render(begin(["Kimi-K3", '<b>"x"']), {})
    assert '<option value="Kimi-K3">Kimi-K3</option>' in html
    assert '<option value="&lt;b&gt;&quot;x&quot;">&lt;b&gt;&quot;x&quot;</option>' in html
    assert 'data-run-order="start" data-then="/runs/live"' in html
    assert "data-run=" not in html, "it has no number yet"
    assert 'name="name" value="" placeholder="8 at once, fp8" data-as="maybe"' in html
