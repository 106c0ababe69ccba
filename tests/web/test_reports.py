"""Reports and bundles over HTTP: the API's numbers, no names where none are wanted, and a run that travels."""

from __future__ import annotations

import re
from typing import Any

import pytest

from alerts.record import Alert
from dashboard.run_view import ELSEWHERE
from exchange import bundle
from exchange.bundle import Bundle
from pipeline import digest
from runs.bounds import AHEAD_MS
from runs.model import Mark, Measured
from storage.records import Batch, Event, RunMark
from tests.exchange.results import packed
from tests.web.conftest import MakeWeb, MakeWorld, Web
from tests.web.test_benchmarks import result, send
from tests.web.test_runs import collecting, keep, run
from tests.web.world import tick

CELL = re.compile(r'data-key="([^"]+)"(?: data-of="([^"]*)")? data-value="([^"]+)"')


@pytest.fixture
def web(make_world: MakeWorld, make_web: MakeWeb) -> Web:
    """A minute of the world; a run that ended, with a mark, an event and how it was measured, and one that goes on."""
    world = make_world()
    world.run(0, 60)
    world.writer.commit(
        Batch(events=[Event(0, tick(15), "spark-02", "kernel", "spark-02 (10.0.0.2) said <b>no</b>")]), world.now
    )
    measured = Measured(concurrency="3", corpus="Share|GPT")
    keep(world, run(1, 10, 30, tags=("good",), labels={"drafts": "7"}, measured=measured), run(2, 40, None))
    world.writer.commit(Batch(marks=[RunMark(1, Mark(tick(12), "note", "fan of spark-01 on"))]), world.now)
    web = make_web(world)
    web.step()
    return web


def fetch(web: Web, path: str, status: int = 200) -> Any:
    answer = web.client.get(f"/api/v1/{path}")
    assert answer.status_code == status, answer.text
    return answer


def course(web: Web, number: int) -> Any:
    """What the list of runs draws of a run."""
    told = web.get("runs/table")
    (row,) = (one for one in told["runs"] if one[0] == number)
    return row[told["columns"].index("spark")]


def numbers_of(summary: Any) -> dict[tuple[str, str], float]:
    return {
        (f"{section['key']}.{one['key']}", one.get("of", "")): one["value"]
        for section in summary
        for one in section["entries"]
        if one["value"] is not None
    }


def test_every_number_of_the_report_is_the_apis(web: Web) -> None:
    text = fetch(web, "runs/1/report.html").text
    cells = {(path, of): float(value) for path, of, value in CELL.findall(text)}
    known = numbers_of(web.get("runs/1")["summary"])
    assert len(cells) > 60
    assert {key: known[key] for key in cells} == cells
    assert cells["speed.decode_mean", ""] == pytest.approx(20.0)
    left = {path for path, of in known if (path, of) not in cells}
    assert left <= {
        "nodes.utilization_min_on",
        "nodes.utilization_max_on",
        "nodes.power_min_on",
        "nodes.temperature_min_on",
        "nodes.clock_max_on",
        "nodes.throttled_on",
    }


def test_the_report_is_one_file_that_asks_nothing_of_the_network(web: Web) -> None:
    answer = fetch(web, "runs/1/report.html")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="run-1-Kimi-K3-1.html"'
    assert answer.headers["Content-Security-Policy"].startswith("sandbox allow-scripts; default-src 'none'")
    assert len(answer.data) < 200_000
    addresses = re.findall(r'(?:src|href)="([^"]*)"', answer.text)
    assert addresses
    assert all(one.startswith("data:image/png;base64,") for one in addresses)
    assert "://" not in re.sub(r"data:[^\"]*", "", answer.text)


def test_what_people_and_machines_say_is_escaped(web: Web) -> None:
    text = fetch(web, "runs/1/report.html").text
    assert "<b>no</b>" not in text
    assert "said &lt;b&gt;no&lt;/b&gt;" in text


def test_what_it_tells(web: Web) -> None:
    text = fetch(web, "runs/1/report.html").text
    for words in (
        "Kimi-K3 #1",
        "moonshotai/Kimi-K3",
        "Share|GPT",
        "fan of spark-01 on",
        "drafts: 7",
        "good",
        "4 nodes",
    ):
        assert words in text, words
    assert "Node by node" in text
    assert "00:00:02" in text
    assert fetch(web, "runs/2/report.html").text.count("it still goes on") == 1


def fired(number: int, second: int, **more: Any) -> Alert:
    said = f"spark-02: GPU 0 is <hot> {number}"
    usual = {"run": 1, "deployment": "Kimi-K3", "place": "gpu", "key": ("spark-02", "0"), "severity": "warning"}
    when = {"began_ms": tick(second - 1), "fired_ms": tick(second)}
    return Alert(number, "gpu_hot", "GPU hot", message=said, **{**usual, **when, **more})


ALERTS = [
    fired(1, 12, ended_ms=tick(20), ended="it is well again"),
    fired(2, 16, severity="critical"),
    fired(3, 17, cause=2),
    fired(4, 18, run=2),
    fired(5, 19, key=("Kimi-K3",), place="deployment", ended_ms=tick(21), ended="it is well again"),
]


def test_alerts_of_the_run_are_in_it(web: Web) -> None:
    web.world.writer.commit(Batch(alerts=ALERTS), web.world.now)
    known = web.get("runs/1")["alerts"]
    assert [(one["alert"], one["t"], one["end"]) for one in known] == [
        (1, tick(12), tick(20)),
        (2, tick(16), None),
        (5, tick(19), tick(21)),
    ]
    assert (known[0]["target"], known[0]["severity"], known[0]["kind"]) == ("spark-02", "warning", "alert")
    assert [one["alert"] for one in web.get(f"runs/1?start={tick(20)}&end={tick(21)}")["alerts"]] == [1, 2, 5]
    text = fetch(web, "runs/1/report.html").text
    assert "<td>warning alert</td><td>spark-02</td><td>spark-02: GPU 0 is &lt;hot&gt; 1; fired for 8 s</td>" in text
    assert "GPU 0 is &lt;hot&gt; 2; still fires</td>" in text
    assert "&lt;hot&gt; 3" not in text
    assert "&lt;hot&gt; 4" not in text
    post = fetch(web, "runs/1/report.md").text
    assert r"- 00:00:02: spark-02: GPU 0 is \<hot\> 1; fired for 8 s (warning)" in post
    for path in ("report.html", "report.md"):
        bare = fetch(web, f"runs/1/{path}?anonymous=1").text
        assert "spark-02" not in bare
        assert "Kimi-K3" in bare


def test_markdown_that_fits_into_a_post(web: Web) -> None:
    answer = fetch(web, "runs/1/report.md")
    assert answer.headers["Content-Type"] == "text/markdown; charset=utf-8"
    lines = answer.text.splitlines()
    assert lines[0] == r"## Kimi-K3 \#1"
    assert lines[2] == "**moonshotai/Kimi-K3** · 4 nodes · 2026-11-30 00:53:30 UTC · 20.0 s"
    assert "| Decode, mean while decoding | 20.0 tok/s | ± 5 %: one interval of each window |" in lines
    assert "| Output tokens | 400 tokens |  |" in lines
    assert r"**How it was measured**: concurrency: 3; corpus: Share\|GPT" in lines
    assert len(answer.text) < 4_000


def test_without_names(web: Web) -> None:
    with collecting(web.world):
        send(web, packed(result()))
    for path in ("report.html", "report.md"):
        text = fetch(web, f"runs/1/{path}?anonymous=1").text
        assert not re.search(
            r"spark-\d|\bhead\b|10\.0\.0\.2|127\.0\.0\.1",
            re.sub(r"<style>.*?</style>|<head>|</head>|<thead>|</thead>|thead", "", text, flags=re.S),
        )
    text = fetch(web, "runs/1/report.html?anonymous=1").text
    for words in ("node 1", "node 4", "fan of node 1 on", "node 2 ((address)) said", "engine 1/0"):
        assert words in text, words
    found = bundle.read(fetch(web, "runs/1/bundle?anonymous=1").data, tick(60))
    assert "spark-" not in str(found.to_json())


def test_a_benchmark_stands_beside(web: Web) -> None:
    with collecting(web.world):
        send(web, packed(result()))
    text = fetch(web, "runs/1/report.html").text
    assert "Benchmark and engine" in text
    assert "bench.json: the same model and output tokens" in text
    assert "| **vllm bench serve** | client | engine |" in fetch(web, "runs/1/report.md").text


def test_a_run_travels(web: Web, make_world: MakeWorld, make_web: MakeWeb) -> None:
    with collecting(web.world):
        send(web, packed(result()))
    data = fetch(web, "runs/1/bundle").data
    other = make_web(make_world())
    with collecting(other.world):
        told = other.client.post("/api/v1/runs/bundle", data=data).json
        again = other.client.post("/api/v1/runs/bundle", data=data).json
    assert (told["run"], told["new"], told["error"]) == (3, True, None)
    assert (again["run"], again["new"]) == (3, False)
    here, there = web.get("runs/1"), other.get("runs/3")
    assert there["summary"] == here["summary"]
    assert there["fingerprint"] == here["fingerprint"]
    assert there["events"] == here["events"]
    assert there["marks"] == here["marks"]
    sides = ((web, 1), (other, 3))
    heads = [next(run["numbers"] for run in one.get("runs")["runs"] if run["id"] == number) for one, number in sides]
    assert heads[0] == heads[1]
    courses = [course(one, number) for one, number in sides]
    assert courses[0] == courses[1] == [20.0, 20.0, 20.0]
    assert there["stretch"] == here["stretch"]
    mine, theirs = here["run"], there["run"]
    assert (theirs["by"], theirs["deployment"], theirs["engines"]) == ("foreign", "foreign:Kimi-K3", [])
    same = ("name", "model", "start", "end", "tags", "labels", "measured", "began", "ended")
    assert [theirs[name] for name in same] == [mine[name] for name in same]
    assert other.get("runs/3/benchmarks")["benchmarks"][0]["tool"] == "vllm bench serve"
    charts = [one for one in other.get("runs/3/charts")["series"] if one["target"] == "deployment/foreign:Kimi-K3"]
    assert charts
    text = other.client.get("/api/v1/runs/3/report.html").text
    assert "from another installation" in text
    assert "where it was run 1" in text
    onward = bundle.read(other.client.get("/api/v1/runs/3/bundle").data, tick(60))
    assert onward.key == bundle.read(data, tick(60)).key
    assert other.world.writer.unsettled_runs(digest.SUMMARY) == []


def test_alerts_travel_with_their_run(web: Web, make_world: MakeWorld, make_web: MakeWeb) -> None:
    web.world.writer.commit(Batch(alerts=ALERTS), web.world.now)
    data = fetch(web, "runs/1/bundle").data
    other = make_web(make_world())
    with collecting(other.world):
        other.client.post("/api/v1/runs/bundle", data=data)
    here, there = web.get("runs/1")["alerts"], other.get("runs/3")["alerts"]
    assert [one["t"] for one in there] == [tick(12), tick(16), tick(19)]
    assert there == [{**one, "alert": None} for one in here]
    for start, end, left in ((21, 22, [1, 2]), (13, 15, [0]), (9, 11, [])):
        part = other.get(f"runs/3?start={tick(start)}&end={tick(end)}")["alerts"]
        assert part == [{**there[one], "t": max(there[one]["t"], tick(start))} for one in left], (start, end)
    marks = [one for one in other.get("runs/3/timeline")["marks"] if one["kind"] == "alert"]
    assert [(one["text"], one["severity"]) for one in marks] == [(one["text"], one["severity"]) for one in there]
    text = fetch(other, "runs/3/report.html").text
    assert "GPU 0 is &lt;hot&gt; 1; fired for 8 s</td>" in text
    assert "GPU 0 is &lt;hot&gt; 2; still fired when the run was exported</td>" in text
    bare = fetch(other, "runs/3/report.md?anonymous=1").text
    assert "spark-02" not in bare
    assert "Kimi-K3" in bare
    onward = bundle.read(other.client.get("/api/v1/runs/3/bundle").data, tick(60))
    assert onward.key == bundle.read(data, tick(60)).key
    # What fires here in those minutes is of our own runs.
    other.world.writer.commit(Batch(alerts=[fired(9, 14, run=3)]), other.world.now)
    assert other.get("runs/3")["alerts"] == there


def test_foreign_runs_are_never_mixed_with_our_own(web: Web) -> None:
    """Here they even have the same minutes and names."""
    data = fetch(web, "runs/1/bundle").data
    with collecting(web.world):
        number = web.client.post("/api/v1/runs/bundle", data=data).json["run"]
        for kind, fields in (("baseline", {}), ("pin", {}), ("trim", {"start_ms": tick(12)}), ("nodes", {"nodes": []})):
            answer = web.client.post("/api/v1/runs/commands", json={"kind": kind, "run": number, **fields})
            assert answer.json["error"] == "this run has no samples here: it came from another installation", kind
        refused = send(web, packed(result()), f"&run={number}", 409)
        assert refused["error"] == f"Run {number} has no telemetry here."
    assert [one["id"] for one in web.get("runs?deployment=Kimi-K3")["runs"]] == [2, 1]
    note = {"start": tick(15), "end": None, "text": "ours"}
    assert web.client.post("/api/v1/annotations", json=note).status_code == 201
    assert "ours" in str(web.get("runs/1/timeline")["marks"])
    course = web.get(f"runs/{number}/timeline")
    assert "ours" not in str(course["marks"])
    assert (course["why"], course["prefills"]) == (ELSEWHERE, [])
    part = web.get(f"runs/{number}?start={tick(12)}&end={tick(20)}")
    assert (part["summary"], part["why"]) == ([], digest.ELSEWHERE)
    with collecting(web.world):
        assert send(web, packed(result()))["results"][0]["run"] == 1


def test_a_bundle_that_lies_about_its_times_is_refused(web: Web) -> None:
    content = bundle.read(fetch(web, "runs/1/bundle").data, tick(60)).to_json()
    for name, value, sentence in (
        ("start", 0, "The run begins before 2015."),
        ("end", 2**53 - 1, "“end” is expected to be an instant, a whole number of milliseconds since 1970."),
        (
            "end",
            tick(200) + AHEAD_MS,
            "The run ends in the future: the clock of one of the two installations is wrong.",
        ),
    ):
        lying = Bundle.checked({**content, "about": {**content["about"], name: value}})
        refused = web.client.post("/api/v1/runs/bundle", data=bundle.write(lying))
        assert (refused.status_code, refused.json["error"]) == (400, sentence)


def test_what_cannot_be_had(web: Web) -> None:
    assert fetch(web, "runs/9/report.html", 404).json["error"] == "There is no run 9."
    assert "report.doc" in fetch(web, "runs/1/report.doc", 404).json["error"]
    assert fetch(web, "runs/1/report.html?names=0", 400).json["error"].startswith("There is no parameter")
    assert fetch(web, "runs/2/bundle", 409).json["error"] == "Run 2 goes on: stop it first."
    assert fetch(web, "runs/9/bundle", 404).json["error"] == "There is no run 9."
    refused = web.client.post("/api/v1/runs/bundle", data=b"hello")
    assert (refused.status_code, refused.json["error"]) == (
        400,
        "This file is no run of a Tachograph: it is not packed, or damaged.",
    )


def test_a_run_that_has_no_numbers_yet(web: Web) -> None:
    """Of one that ended a moment ago they are worked out at once; of one without a length there are none."""
    web.world.writer.commit(Batch(runs=[run(5, 31, 39), run(6, 39, 39)]), web.world.now)
    assert "| Output tokens | 160 tokens |  |" in fetch(web, "runs/5/report.md").text
    assert bundle.read(fetch(web, "runs/5/bundle").data, tick(60)).parts["headline"]["requests.output"] == 160
    text = fetch(web, "runs/6/report.html").text
    assert "Its numbers are worked out within half a minute of its end, or of a change of it." in text
    refused = fetch(web, "runs/6/bundle", 409).json["error"]
    assert refused.startswith("Run 6 has no numbers yet")


def test_a_bundle_of_odd_entries_has_a_report(web: Web) -> None:
    """Numbers that nothing measures, and entries of one key that do not say of what they are."""
    content = bundle.read(fetch(web, "runs/1/bundle").data, tick(60)).to_json()
    entry = {"key": "odd", "label": "Odd", "unit": "tokens_per_second", "note": ""}
    entries = [{**entry, "value": value} for value in (1e100, -1e100, 5e-324)]
    content["parts"]["summary"]["sections"] = [{"key": "speed", "label": "Speed", "entries": entries}]
    nameless = [{**entry, "key": "power_mean_on", "value": value} for value in (1.0, 2.0, 3.0)]
    content["parts"]["summary"]["sections"].append({"key": "nodes", "label": "Nodes", "entries": nameless})
    for one in content["parts"]["charts"]["series"]:
        one["v"] = [1e100, -1e100, 5e-324, *one["v"][3:]]
    with collecting(web.world):
        told = web.client.post("/api/v1/runs/bundle", data=bundle.write(Bundle.from_json(content))).json
    for path in ("report.html", "report.md", "timeline", "summary.csv", "bundle"):
        fetch(web, f"runs/{told['run']}/{path}")
    text = fetch(web, f"runs/{told['run']}/report.html").text
    assert text.count("&gt;999E") >= 2
