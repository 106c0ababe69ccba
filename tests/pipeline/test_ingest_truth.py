"""A made-up engine with a true total, read through everything that happens to pages: the stored total is the true one.

The engine has processes (raw lines that fold into one stored series). It works, restarts with or without saying so,
shows and hides lines, loses numbers; the collector restarts and goes on from what it had stored.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.scrape.page import Layout, Page
from pipeline.ingest import Ingest
from telemetry.counters import BREAKING
from telemetry.model import Fold, Series

TOKENS = Series("head", "generation_tokens_total", (("engine", "0"), ("model", "m")))


STEP_MS = 61_000
"""Between two pages: after a minute every fall is what it seems to be (`pipeline.doubts`)."""


@dataclass
class Line:
    """A process's counter: what it shows, and what of it has been seen."""

    raw: float
    visible: bool = True
    blank: bool = False
    seen: float | None = None
    reborn: bool = False


@dataclass
class Engine:
    """The truth. `total` is what a reader of all visible numbers can know to have been counted."""

    says_start: bool
    lines: dict[str, Line] = field(default_factory=dict)
    started_s: float = 1000.0
    total: float = 0.0
    restarted: bool = False
    pages: int = 0
    _layouts: dict[tuple[str, ...], Layout] = field(default_factory=dict)

    def restart(self) -> None:
        self.started_s += 100.0
        self.restarted = True
        for line in self.lines.values():
            line.raw, line.reborn = 0.0, True

    def page(self) -> Page:
        """A page, and the truth brought up to date with what it shows."""
        shown = {name: line for name, line in self.lines.items() if line.visible}
        for line in shown.values():
            if not line.blank:
                self.total += self._gained(line)
                line.seen, line.reborn = line.raw, False
            elif line.seen is None and not line.reborn:
                line.seen = np.nan
        self.restarted, self.pages = False, self.pages + 1
        raw = np.array([np.nan if line.blank else line.raw for line in shown.values()])
        return Page(self._layout(tuple(shown)), raw, self.started_s if self.says_start else None)

    def _gained(self, line: Line) -> float:
        if line.reborn:
            return line.raw if self.says_start or line.seen is not None else 0.0
        if line.seen is None:
            return line.raw if self.pages and not self.says_start else 0.0
        return 0.0 if np.isnan(line.seen) else line.raw - line.seen

    def _layout(self, names: tuple[str, ...]) -> Layout:
        if names not in self._layouts:
            source = np.zeros(len(names), np.int32)
            series = (TOKENS,) if names else ()
            self._layouts[names] = Layout(series, source, names, (Fold.SUM,) * len(series), {}, "vllm", 0, 0)
        return self._layouts[names]


ACTIONS = st.one_of(
    st.tuples(st.just("work"), st.integers(0, 3), st.integers(0, 10_000)),
    st.tuples(st.just("restart"), st.integers(0, 50)),
    st.tuples(st.just("hide"), st.integers(1, 3)),
    st.tuples(st.just("blank"), st.integers(0, 3)),
    st.tuples(st.just("add"), st.integers(0, 40)),
    st.tuples(st.just("collector")),
)


def act(engine: Engine, action: tuple[object, ...]) -> None:
    names = sorted(engine.lines)
    place = int(action[1]) if len(action) > 1 else 0  # type: ignore[call-overload]
    line = engine.lines[names[place % len(names)]]
    if action[0] == "work":
        line.raw += float(action[2])  # type: ignore[arg-type]
    elif action[0] == "restart" and may_restart(engine):
        engine.restart()
        for one in engine.lines.values():
            one.raw = float(place) if engine.says_start else min(float(place), (one.seen or 0) // 2)
    elif action[0] == "hide" and line is not engine.lines["0"]:
        line.visible = not line.visible
    elif action[0] == "blank":
        line.blank = not line.blank
    elif action[0] == "add" and len(names) < 4:
        engine.lines[str(len(names))] = Line(float(place))


def may_restart(engine: Engine) -> bool:
    """Without a start time, only a restart that every line shows by a fall to half or less can be known."""
    return engine.says_start or all(
        line.visible and not line.blank and line.seen is not None and line.seen > 0 for line in engine.lines.values()
    )


def resumed(ingest: Ingest, stored: dict[Series, float], offsets: dict[Series, float], engine: Engine) -> Ingest:
    known = {series: (value, offsets[series]) for series, value in stored.items()}
    return Ingest("head", known, engine.started_s if engine.says_start else None)


@settings(max_examples=150, deadline=None)
@given(st.booleans(), st.lists(st.integers(0, 10_000), min_size=1, max_size=3), st.lists(ACTIONS, max_size=25))
def test_the_stored_total_is_the_true_one(
    says_start: bool, first: list[int], actions: list[tuple[object, ...]]
) -> None:
    engine = Engine(says_start, {str(number): Line(float(raw)) for number, raw in enumerate(first)})
    ingest, tick = Ingest("head"), 0
    stored: dict[Series, float] = {}
    offsets: dict[Series, float] = {}
    for action in [("work", 0, 0), *actions]:
        quiet = all(line.visible and not line.blank and not line.reborn for line in engine.lines.values())
        if action[0] == "collector" and quiet and stored:
            ingest = resumed(ingest, stored, offsets, engine)
        act(engine, action)
        tick += STEP_MS
        restarted, page = engine.restarted, engine.page()
        reading = ingest.take(page, tick)
        offsets.update({one.series: one.offset for one in reading.offsets})
        told = {one.reason for one in reading.offsets}
        if restarted and not np.isnan(reading.values).any():
            assert told & BREAKING, "no rate crosses a restart"
            assert reading.restarted
        if not restarted and not any(line.reborn for line in engine.lines.values()):
            assert told <= BREAKING | {"first sample", "first use", "lines changed"}
        if np.isnan(reading.values[0]):
            continue
        value = float(reading.values[0])
        assert value >= stored.get(TOKENS, 0.0), "a stored counter never falls"
        assert value == engine.total
        assert value - offsets[TOKENS] == np.nansum(page.raw), "value is raw plus offset"
        stored[TOKENS] = value
