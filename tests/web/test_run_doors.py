"""A run's numbers, every door: page, API, CSV, report, list, command line and summary agree, after one formatter."""

from __future__ import annotations

import random

import pytest

from cli import runs as command
from pipeline.digest import HEADLINES
from telemetry.catalog import engine
from tests.web.conftest import MakeWeb, MakeWorld, Web
from tests.web.run_doors import by_api, by_csv, by_page, by_report, by_summary, text
from tests.web.test_five_doors import uneven
from tests.web.test_runs import keep, run
from tests.web.world import HEAD, tick

FIRST, LAST, QUESTIONS = 10, 380, 200
RUN = run(1, FIRST, LAST)


@pytest.fixture
def web(make_world: MakeWorld, make_web: MakeWeb) -> Web:
    """A run over an uneven world, with prefills, a node that was away for a while and an engine that was, too."""
    world = make_world()
    uneven(world, 3)
    world.away("spark-03", 100, 130)
    world.away(HEAD, 200, 210)
    world.run(0, LAST + 20)
    for first, tokens in ((30, 9_000), (150, 4_000), (300, None)):
        world.prefill(first, first + 9, tokens, 8.5)
    keep(world, RUN)
    web = make_web(world)
    web.step()
    return web


def get(web: Web, path: str) -> bytes:
    answer = web.pages.get(f"/{path}")
    assert answer.status_code == 200, answer.text
    return answer.data


def bare(shown: str) -> str:
    """Without spaces, which the doors set in their own ways."""
    return "".join(shown.split())


def stretches(dice: random.Random) -> list[tuple[int, int]]:
    """The whole run, and stretches of it."""
    found = [(tick(FIRST), tick(LAST))]
    for _ in range(5):
        low, high = sorted(dice.sample(range(FIRST, LAST), 2))
        found.append((tick(low), tick(high)))
    return found


def test_two_hundred_random_numbers(web: Web) -> None:
    dice, door = random.Random(2026), lambda path: get(web, path)
    labels = labelled(web)
    report = by_report(door, 1)
    asked = {"page": 0, "report": 0}
    told = {}
    for stretch in stretches(dice):
        told[stretch] = (
            by_summary(web.world.writer, RUN, *stretch),
            by_api(door, 1, *stretch),
            by_csv(door, 1, *stretch),
            by_page(door, 1, *stretch),
        )
    whole = (tick(FIRST), tick(LAST))
    for _ in range(QUESTIONS):
        stretch = whole if dice.random() < 0.5 else dice.choice(list(told))
        summary, api, csv, page = told[stretch]
        place = dice.choice([one for one, (value, _) in summary.items() if value is not None])
        value, shown = summary[place]
        assert api[place] == value
        assert csv[place] == value
        if place in labels:
            assert bare(page[labels[place]]) == bare(shown), (place, stretch)
            asked["page"] += 1
        key = (f"{place[0]}.{place[1]}", place[2])
        if stretch == whole and key in report:
            assert report[key][0] == value
            assert bare(report[key][1]) == bare(shown)
            asked["report"] += 1
    assert asked["page"] > QUESTIONS / 2
    assert asked["report"] > 10


def labelled(web: Web) -> dict[tuple[str, str, str], tuple[str, str]]:
    """Where the page shows each number: by the labels of its section and itself."""
    found = {}
    for section in web.get("runs/1")["summary"]:
        for one in section["entries"]:
            if not one["key"].endswith("_on"):
                label = f"{one['label']} · {one['of']}" if one.get("of") else one["label"]
                found[section["key"], one["key"], one.get("of", "")] = (section["label"], label)
    return found


def test_every_number_of_the_report_is_the_runs(web: Web) -> None:
    summary = by_summary(web.world.writer, RUN, tick(FIRST), tick(LAST))
    told = {(f"{section}.{key}", of): known for (section, key, of), known in summary.items()}
    report = by_report(lambda path: get(web, path), 1)
    assert len(report) > 60
    for place, (value, shown) in report.items():
        if place in told:
            assert (value, bare(shown)) == (told[place][0], bare(told[place][1])), place
    assert len(report.keys() & told.keys()) > 60


def test_the_list_and_the_command_line(web: Web, capsys: pytest.CaptureFixture[str]) -> None:
    summary = by_summary(web.world.writer, RUN, tick(FIRST), tick(LAST))
    expected = {path: summary.get((*path.split("."), ""), (None,))[0] for path in HEADLINES}  # type: ignore[arg-type]
    assert web.get("runs")["runs"][0]["numbers"] == expected
    found = web.get("runs/table")
    row = dict(zip(found["columns"], found["runs"][0], strict=True))
    assert {path: row[path] for path in HEADLINES} == expected
    table = command._row(web.get("runs")["runs"][0])
    for path, unit in command.HEADS:
        assert bare(text(expected[path], unit.value)) in map(bare, table)
    lines = "\n".join(command._lines(web.get("runs/1"), partly=False))
    for (_section, _key, of), (value, shown) in summary.items():
        assert value is None or bare(shown) in bare(lines), of


def test_a_stretch_is_that_of_the_summary_alone(web: Web) -> None:
    """What a door asks of the whole is not an average of parts: counters of two halves add up to it."""
    middle = tick(200)
    halves = [by_csv(lambda path: get(web, path), 1, *span) for span in ((tick(FIRST), middle), (middle, tick(LAST)))]
    whole = by_csv(lambda path: get(web, path), 1, tick(FIRST), tick(LAST))
    key = ("requests", "output", "")
    assert sum(half[key] or 0 for half in halves) == pytest.approx(whole[key] or 0)
    lines = web.world.series[HEAD]
    ((series, line),) = ((one, line) for one, line in lines.items() if one.metric == engine.GENERATION_TOKENS.name)
    assert whole[key] == pytest.approx(line(LAST) - line(FIRST)), series


def test_the_csv_says_what_is_not_known_and_why(web: Web) -> None:
    lines = get(web, "api/v1/runs/1/summary.csv").decode().split("\r\n")
    assert lines[0] == "section,key,of,label,value,unit,relation,count,note"
    assert lines[-1] == ""
    told = {tuple(line.split(",")[:3]): line for line in lines[1:-1]}
    entry = next(one for one in web.get("runs/1")["summary"] if one["key"] == "speed")["entries"][0]
    assert told["speed", "decode_mean", ""].startswith(
        f'speed,decode_mean,,"{entry["label"]}",{entry["value"]!r},tokens_per_second,,'
    )
    unknown = next(line for line in lines if line.startswith("latency,e2e_mean,"))
    assert unknown == 'latency,e2e_mean,,"E2E latency, mean",,seconds,,,not offered by this engine'
    bound = next(line for line in lines if line.startswith("latency,ttft_p99,"))
    assert bound.startswith('latency,ttft_p99,,"TTFT, p99",10.0,seconds,>,364.66')
    answer = web.pages.get("/api/v1/runs/1/summary.csv")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="run-1-summary.csv"'
    assert web.pages.get("/api/v1/runs/9/summary.csv").status_code == 404
    assert get(web, f"api/v1/runs/1/summary.csv?start={tick(20)}&end={tick(40)}") != get(
        web, "api/v1/runs/1/summary.csv"
    )
