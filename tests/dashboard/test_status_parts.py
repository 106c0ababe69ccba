"""What the Status page makes of its values."""

from __future__ import annotations

from typing import Any

from dashboard.pages import status
from tests.dashboard.parts import attribute, rows, text, walk
from tests.web.test_store_standing import FOUND

TARGET: dict[str, Any] = {
    "name": "spark-03",
    "state": "ok",
    "level": "ok",
    "reason": "",
    "age_s": 1.25,
    "url": "http://spark-03:9810",
    "interval_s": 1.0,
    "silent_s": None,
    "engine": None,
    "scrape_s": 0.0123,
    "scrape_bytes": 23552.0,
    "missed_ticks": 3,
    "resets": 0,
    "refused_series": 4,
    "dropped_families": 2,
    "impossible_numbers": 11,
    "clock_skew_s": -0.0025,
    "version": "0.1.0",
    "not_offered": ["Fan speed", "GPU memory"],
}


def test_a_target_with_everything() -> None:
    row = rows(status.targets([TARGET], True, "Nodes", "none"))[1]
    assert row == [
        "● spark-03",
        "ok",
        "1.3 s ago",
        "12.3 ms",
        "23.0 KiB",
        "1.0 s",
        "3",
        "0",
        "−2.5 ms",
        "6",
        "11",
        "0.1.0",
        "2 Fan speed GPU memory",
    ]


def test_a_target_of_which_nothing_is_known() -> None:
    names = ("age_s", "scrape_s", "scrape_bytes", "missed_ticks", "resets", "refused_series", "dropped_families")
    names = (*names, "impossible_numbers")
    nothing = {**TARGET, **dict.fromkeys((*names, "clock_skew_s", "version")), "not_offered": [], "level": "critical"}
    nothing |= {"state": "refused", "reason": "no agent listens"}
    row = rows(status.targets([nothing], False, "Engines", "none"))[1]
    assert row == ["■ spark-03", "refused no agent listens", "never", "–", "–", "1.0 s", *["–"] * 7]


def test_a_target_that_answers_and_has_a_trouble_is_not_called_ok() -> None:
    def said(**changes: str) -> str:
        return text(status.state_of({**TARGET, **changes}))

    assert said(level="warning", reason="gets too little power") == "gets too little power"
    assert said(reason="answers late") == "ok answers late"
    assert said(state="refused", level="critical", reason="no agent") == "refused no agent"
    assert said() == "ok"


def test_heads_say_what_stands_below_them_on_hover_and_focus() -> None:
    part = status.targets([TARGET], True, "Nodes", "none")
    heads = [one for one in walk(part) if attribute(one, "data-told")]
    assert [text(one) for one in heads][-3:] == ["Left out", "Impossible", "Not offered"]
    assert {attribute(one, "tabIndex") for one in heads} == {0}
    labels = [attribute(one, "data-label") for one in walk(part) if attribute(one, "data-label")]
    assert labels[:3] == ["State", "Read", "Scrape"]


def test_a_silent_target_says_how_often_it_is_asked_meanwhile() -> None:
    def every(silent_s: float | None) -> str:
        return text(status.every({**TARGET, "silent_s": silent_s}))

    assert [every(None), every(1.0)] == ["1.0 s", "1.0 s"]
    assert every(10.0) == "1.0 s asked every 10.0 s while silent"


def test_only_a_vllm_engine_has_advice_on_its_log() -> None:
    def told(*engines: str) -> bool:
        found = {"sentence": {"level": "ok"}, "versions": {}, "nodes": [], "deployments": [], "store": FOUND}
        found |= {"collector": {"left_out": {"ticks": 0, "stretches": []}, "away": []}}
        found |= {"engines": [{**TARGET, "engine": one} for one in engines]}
        return status.HINT in text(status.body(found, {"absences": []}))

    assert [told(), told("sglang"), told("sglang", "vllm")] == [False, False, True]


def test_left_out_counts_what_is_known() -> None:
    row = rows(status.targets([{**TARGET, "dropped_families": None}], True, "Nodes", "none"))[1]
    assert row[9] == "4"


def test_nodes_lead_to_their_pages_and_engines_do_not() -> None:
    links = [attribute(part, "href") for part in walk(status.target_row(TARGET, True).head)]
    assert "/node/spark-03" in links
    assert not any(attribute(part, "href") for part in walk(status.target_row(TARGET, False).head))


def test_nothing_is_absent_only_where_every_target_is_known_to_answer() -> None:
    def told(*levels: str) -> str:
        found = {"sentence": {"level": "ok"}, "versions": {}, "engines": [], "deployments": [], "store": FOUND}
        found |= {"collector": {"left_out": {"ticks": 0, "stretches": []}, "away": []}}
        return text(status.body({**found, "nodes": [{**TARGET, "level": one} for one in levels]}, {"absences": []})[-1])

    well, quiet = "Nothing is absent: every target that is watched answers", "No absence was recorded in the last day."
    assert well in told("ok", "warning")
    assert well not in told("ok", "unknown")
    assert quiet in told("ok", "unknown")
    assert quiet in told()


def test_no_target_says_what_to_do() -> None:
    assert text(status.targets([], True, "Nodes", "None is watched.")) == "None is watched."
    sentence = {"level": "empty", "text": "Nothing is watched yet", "worst": None}
    body = status.body(
        {"sentence": sentence, "versions": {}, "nodes": [], "engines": [], "deployments": [], "store": FOUND}
        | {"collector": {"left_out": {"ticks": 0, "stretches": []}, "away": []}},
        {"absences": []},
    )
    told = text(body)
    assert "app.py run --node spark-01=http://10.0.0.1:9810" in told
    assert "--engine http://10.0.0.1:8000" in told
    assert "No absence was recorded in the last day." in told
    assert "It left out no tick in the last day." in told
    assert "No engine has named a model yet." in told


def test_deployments_and_versions() -> None:
    found = [
        {"name": "Kimi-K3", "model": "moonshotai/Kimi-K3", "engines": ["head"], "nodes": ["a", "b"], "phase": "idle"}
    ]
    assert rows(status.deployments(found))[1] == ["Kimi-K3", "moonshotai/Kimi-K3", "idle", "head", "2"]
    unknown = rows(status.deployments([found[0] | {"nodes": []}]))[1]
    assert unknown[-1] == "–", "whose nodes are whose is not known of several"
    assert text(status.versions({"tachograph": "0.1.0", "schema": 1, "numpy": "2"})) == (
        "Tachograph 0.1.0 Store's schema 1 numpy 2"
    )


def test_absences_with_their_intervals() -> None:
    found = [
        {"target": "spark-03", "metric": "gpu_power_watts", "from": 1000, "to": None, "reason": "not supported"},
        {"target": "head", "metric": None, "from": 1000, "to": 9000, "reason": "timed out"},
        {"target": "head", "metric": "old_name", "from": 1000, "to": 9000, "reason": "not offered"},
    ]
    table = status.absences(found)
    told = rows(table)[1:]
    assert told == [
        ["spark-03", "GPU power", "", "now", "not supported"],
        ["head", "everything", "", "", "timed out"],
        ["head", "old_name", "", "", "not offered"],
    ]
    instants = [attribute(part, "data-instant") for part in walk(table) if attribute(part, "data-instant")]
    assert instants == ["1000", "1000", "9000", "1000", "9000"]
    levels = [attribute(part, "data-level") for part in walk(table) if attribute(part, "data-level")]
    assert levels == ["warning", "ok", "ok"]


def test_the_list_of_absences_is_bounded() -> None:
    one = {"target": "a", "metric": None, "from": 1, "to": 2, "reason": "x"}
    assert len(rows(status.absences([one] * 500))) == 1 + status.MOST_ABSENCES
