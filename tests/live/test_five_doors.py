"""One number, every door, on the running demo: pages, /latest, /series, CSV and the store agree after one formatter.

An alert's value is held to the other doors at its tick. Doors to come join as functions of a question beside
`through_series` and `through_store`, or as something asked in `Demo.moment` where they know only now.
"""

from __future__ import annotations

import math
import random
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest
from playwright.sync_api import Page, sync_playwright

from telemetry import catalog, formatting
from telemetry.catalog import gpu
from telemetry.model import Kind, Metric, Ratio, Scope
from telemetry.near import answer
from telemetry.query import Line, Query
from tests.browser.conftest import CHROMIUM, FLAGS
from tests.live.demo import INTERVAL_S, Demo, Drawn, Entry, Moment, running
from tests.live.files import Labels, of_answer, of_file
from tests.live.runs import NUMBERS, compare_runs
from tests.web.test_five_doors import CELLS

pytestmark = pytest.mark.live

APP = Path(__file__).parents[2] / "app.py"
QUESTIONS = 200
FIRST_AFTER_MS, MOMENTS = 75_000, 3
KEY_OF = {metric.name: key for key, metric in CELLS.items()}
SCOPES = {
    Scope.NODE: ("node",),
    Scope.ENGINE: ("engine", "deployment"),
    Scope.DEPLOYMENT: ("deployment",),
    Scope.TARGET: ("node", "engine"),
    Scope.CLUSTER: ("node",),
}
TEXTS = """() => Object.fromEntries([...document.querySelectorAll("main [data-cell]")].map(
    (place) => [place.dataset.cell, place.textContent.replaceAll("\u00a0", " ").trim()]))"""


Lines = dict[Labels, dict[str, list[float | None]]]


@dataclass(frozen=True)
class Question:
    """A metric, whose, and a window that ends at a moment's tick."""

    metric: Metric | Ratio
    scope: Mapping[str, str]
    moment: Moment = field(repr=False)
    span_ms: int
    points: int
    total: bool
    quantile: float

    @property
    def start(self) -> int:
        """First instant of the window."""
        return self.moment.tick - self.span_ms

    def shown(self, value: float | None) -> str:
        """The value as text, by the one formatter."""
        if isinstance(self.metric, Metric) and self.metric.kind is Kind.STATE:
            return formatting.state(value, self.metric.states)
        return formatting.text(value, self.metric.unit)


def draw(dice: random.Random, demo: Demo, moments: Sequence[Moment]) -> Question:
    moment = dice.choice(moments)
    known = sorted({one["metric"] for one in moment.latest[""] if one["v"] is not None})
    metric = catalog.find(dice.choice(known))
    assert metric is not None
    recorded = isinstance(metric, Metric) and metric.scope is Scope.CLUSTER
    kind = dice.choice([None, *(() if recorded else SCOPES[metric.scope])])
    names = {"node": demo.nodes(), "engine": ["head"], "deployment": deployments(demo)}
    scope = {} if kind is None else {kind: dice.choice(names[kind])}
    span, points = dice.choice([7_000, 20_000, 55_000]), dice.choice([1, 3, 30, 5000, 5000])
    return Question(metric, scope, moment, span, points, dice.random() < 0.25, dice.choice([0.5, 0.95]))


def deployments(demo: Demo) -> list[str]:
    return [one["name"] for one in demo.get("status")["deployments"]]


def parameters(asked: Question) -> dict[str, object]:
    """Those that the API and files share."""
    query: dict[str, object] = {"metric": asked.metric.name, "start": asked.start, "end": asked.moment.tick}
    return query | {**asked.scope, "total": int(asked.total), "quantile": asked.quantile}


def through_series(demo: Demo, asked: Question) -> Lines:
    query = parameters(asked) | {"points": asked.points}
    told = demo.get(f"series?{urlencode(query)}")["series"]
    return {labels(one["labels"]): {key: one[key] for key in ("t", *VALUES) if key in one} for one in told}


VALUES = {"v": "values", "min": "minimum", "max": "maximum", "mean": "mean", "last": "last"}
"""List of an answer → field of a line."""


def through_store(demo: Demo, asked: Question, points: int | None) -> Lines:
    rows = demo.store.targets()
    slow, step = (most(row.interval_ms for row in rows) for most in (max, min))
    window = (asked.start, asked.moment.tick)
    query = Query(asked.metric, *window, points, targets(demo, asked), {}, asked.total, asked.quantile, slowest_ms=slow)
    frame = demo.store.frame(query.stored(), None, query.start_ms - query.lead_ms, query.end_ms)
    return {labels(line.labels): lists(line) for line in answer(query, frame, step)}


def targets(demo: Demo, asked: Question) -> frozenset[str] | None:
    """The demo has one engine, which serves its one deployment."""
    if "deployment" in asked.scope and asked.metric.scope is Scope.DEPLOYMENT:
        return frozenset({f"deployment/{asked.scope['deployment']}"})
    names = {"head"} if "deployment" in asked.scope else set(asked.scope.values())
    return frozenset(names) or None


def labels(found: Mapping[str, str]) -> Labels:
    return tuple(found.items())


def lists(line: Line) -> dict[str, list[float | None]]:
    arrays = {key: getattr(line, name) for key, name in VALUES.items()}
    known = {
        key: [None if one != one else one for one in array.tolist()]
        for key, array in arrays.items()
        if array is not None
    }
    return {"t": line.t_ms.tolist(), **known}


def same(one: float | None, other: float | None) -> bool:
    return one is other if one is None or other is None else math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)


def compare_histories(asked: Question, api: Lines, stored: Lines) -> None:
    assert sorted(api) == sorted(stored), asked
    for line, ours in stored.items():
        for key, values in api[line].items():
            assert len(values) == len(ours[key]) <= asked.points
            assert all(map(same, values, ours[key])), (asked, line, key)
            if key != "t":
                assert [asked.shown(one) for one in values] == [asked.shown(one) for one in ours[key]]


def compare_files(demo: Demo, asked: Question, api: Lines) -> int:
    """Values of a file that were compared: every sample where the API gives samples, else the same bins."""
    whole = any("v" in line for line in api.values())
    filed = of_file(demo.url, parameters(asked) | ({"raw": 1} if whole else {"points": asked.points}))
    told, compared = of_answer(api), 0
    assert filed.keys() == told.keys(), asked
    for line, lists in told.items():
        for key, values in lists.items():
            mine = filed[line][key]
            assert mine.keys() == values.keys(), (asked, line, key)
            assert all(same(value, mine[at]) for at, value in values.items()), (asked, line, key)
            compared += len(values)
    return compared


def of_now(asked: Question, line: Labels) -> list[Entry]:
    """Entries of /latest that say what a line's newest value says."""
    if asked.total or asked.metric.kind is Kind.HISTOGRAM:
        return []  # no total there, and percentiles of another window
    entries = asked.moment.latest[asked.scope.get("node", "")]
    mine = [one for one in entries if one["metric"] == asked.metric.name]
    whole = isinstance(asked.metric, Ratio) and asked.metric.scope is Scope.CLUSTER
    return mine if whole else [one for one in mine if labels(one["labels"]) == line]


def texts_of_now(asked: Question, line: Labels) -> list[tuple[int, str]]:
    """What pages show of it, with its tick: the first screen of what is of all, a node's page of what is of it."""
    moment, found = asked.moment, list[tuple[int, str]]()
    if asked.total or asked.metric.kind is Kind.HISTOGRAM:
        return found
    key = KEY_OF.get(asked.metric.name)
    if key is not None and not asked.scope:
        screens = (moment.cells, moment.drawn or {})
        found += [(moment.cells_tick, screen[key]) for screen in screens if key in screen]
    owner, rest = dict(line).get("target", ""), ", ".join(value for name, value in line if name != "target")
    text, entry = moment.readings.get((owner, asked.metric.label, rest), ("", {}))
    if entry and entry["metric"] == asked.metric.name and entry["t"] is not None:
        found.append((entry["t"], text))
    return found


def compare_now(asked: Question, stored: Lines) -> tuple[int, int]:
    """Values of /latest and texts of pages that were compared."""
    values = texts = 0
    for line, ours in stored.items():
        at = dict(zip(ours["t"], ours["v"], strict=True))
        for entry in of_now(asked, line):
            value = at.get(entry["t"])
            if entry["v"] is not None and value is not None:
                assert same(entry["v"], value), (asked, line, entry, value)
                assert asked.shown(entry["v"]) == asked.shown(value)
                values += 1
        for tick, text in texts_of_now(asked, line):
            if at.get(tick) is not None:
                assert text == asked.shown(at[tick]), (asked.metric.name, asked.scope, line, tick)
                texts += 1
    return values, texts


RULE = ("title=Draws power", "place=gpu", "severity=info", "when=gpu_power_watts > 0 W")


def shows(demo: Demo, query: Mapping[str, object]) -> bool:
    return any(query["end"] in line["t"] for line in demo.get(f"series?{urlencode(query)}")["series"])


def compare_alerts(demo: Demo, path: Path) -> int:
    """An alert's value, in numbers and in words, is what every other door says of its tick; how many there were."""
    made = [sys.executable, str(APP), "alerts", "set", "draws_power", *RULE, "--store", str(path)]
    subprocess.run(made, check=True, capture_output=True, timeout=60)
    nodes = demo.nodes()
    demo.wait(lambda: len(demo.get("alerts?rule=draws_power")["alerts"]) == len(nodes), "the rule fires on every node")
    alerts = demo.get("alerts?rule=draws_power")["alerts"]
    for alert in alerts:
        node, tick = alert["key"][0], alert["fired"]
        (told,) = alert["values"]
        frame = demo.store.frame([gpu.GPU_POWER.name], [node], tick - 3 * INTERVAL_S * 1000, tick)
        seen = ~np.isnan(frame.values[0])
        known, newest = frame.values[0][seen], int(frame.ticks[seen][-1])
        asked = {
            "metric": gpu.GPU_POWER.name,
            "node": node,
            "start": int(frame.ticks[0]),
            "end": newest,
            "points": 5000,
        }
        demo.wait(partial(shows, demo, asked), "the page's own copy has the tick, up to a second after the store")
        (line,) = demo.get(f"series?{urlencode(asked)}")["series"]
        at = dict(zip(line["t"], line["v"], strict=True))
        assert same(told["value"], float(known[-1])), (alert, known)
        assert same(told["value"], at[newest]), (alert, line)
        assert told["text"] == formatting.text(float(known[-1]), gpu.GPU_POWER.unit)
        assert told["text"] in alert["message"]
        assert demo.get(f"alerts/{alert['id']}")["alert"]["values"] == alert["values"]
    return len(alerts)


@contextmanager
def browser(url: str) -> Iterator[Drawn | None]:
    """What Chromium shows of the first screen; None where there is no Chromium."""
    if not CHROMIUM.exists():
        yield None
        return
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        page: Page = chromium.new_page(viewport={"width": 1440, "height": 900})
        page.goto(url, wait_until="commit")
        page.wait_for_selector("main [data-cell]")
        yield lambda: dict(page.evaluate(TEXTS))
        chromium.close()


def moments_of(demo: Demo) -> list[Moment]:
    with browser(demo.url) as drawn:
        demo.wait(lambda: max(demo.ticks(), default=0) - min(demo.ticks(), default=0) > FIRST_AFTER_MS, "windows fill")
        return [demo.moment(drawn) for _ in range(MOMENTS)]


def test_two_hundred_questions(tmp_path: Path) -> None:
    dice = random.Random(2026)
    with running(tmp_path) as demo:
        moments = moments_of(demo)
        for moment in moments:
            assert moment.drawn is None or set(KEY_OF.values()) <= set(moment.drawn)
        counts, filed = [0, 0], 0
        for _ in range(QUESTIONS):
            asked = draw(dice, demo, moments)
            api = through_series(demo, asked)
            compare_histories(asked, api, through_store(demo, asked, asked.points))
            filed += compare_files(demo, asked, api)
            compared = compare_now(asked, through_store(demo, asked, None))
            counts = [old + new for old, new in zip(counts, compared, strict=True)]
        of_runs = compare_runs(demo, dice)
        assert compare_alerts(demo, tmp_path / "demo.db") == len(demo.nodes())
    print(
        f"{len(moments)} moments, {counts[0]} values of /latest, {counts[1]} texts of pages, {filed} of files compared"
    )
    assert filed > 10 * QUESTIONS
    assert of_runs > NUMBERS / 4
    assert counts[0] > QUESTIONS
    assert counts[1] > QUESTIONS / 2
