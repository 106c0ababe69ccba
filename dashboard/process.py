"""The web process: sources, hub and follower, and the answers that pages and routes share."""

from __future__ import annotations

import threading
import time
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dashboard.ahead import Ahead
from dashboard.annotations import Annotations
from dashboard.api import alert_answers, benchmark_answers, channel_answers, evidence_answers, rule_answers
from dashboard.api import latest as latest_route
from dashboard.api import run_answers as runs_route
from dashboard.api import series as series_route
from dashboard.api import status as status_route
from dashboard.api.lists import plain
from dashboard.api.parameters import metric as metric_named
from dashboard.comparison import Comparisons, chosen
from dashboard.config import WebConfig
from dashboard.live.follow import Follower
from dashboard.live.history import history
from dashboard.live.hub import Hub
from dashboard.live.scene import SHOWN_MS, Scene, gather, watched
from dashboard.live.sentence import Sentence, sentence
from dashboard.renewal import Renewal, lost
from dashboard.run_numbers import RunNumbers
from dashboard.services import Answer
from dashboard.sources import Sources
from pipeline.tail import Tail
from runs.model import Run
from storage.records import RunFilter
from storage.store import Store
from telemetry import catalog

LOADING = Sentence("unknown", "Loading what was recorded")
MOST_MINUTES = SHOWN_MS / 60_000
LIVE_RUN = "live"
LATELY_MS = 86_400_000
"""The last run is looked for in so long before all others."""
SHARED_MS = 1_000
"""A bootstrap is shared by all who ask for the same time span within this time."""
MOST_KEPT = 4
"""Spans of time whose bootstraps are kept: pages ask for none and for all, scripts for whatever they like."""


def wall_clock() -> int:
    """Epoch milliseconds."""
    return time.time_ns() // 1_000_000


def version() -> str:
    """The version in pyproject.toml, the one place it is written."""
    content = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text("utf-8"))
    return str(content["project"]["version"])


@dataclass
class _Kept:
    """A bootstrap, and the tick and number of messages that it was made at."""

    of: tuple[int, int]
    made_ms: int
    message: dict[str, Any]


def _is_number(text: str, letters: int) -> bool:
    """Whether a part of an address is a number of fewer letters than this."""
    return text.isascii() and text.isdecimal() and len(text) < letters


class WebProcess:
    """Implements `dashboard.services.Services`. `start` begins to follow the store; `close` ends everything."""

    def __init__(
        self,
        config: WebConfig,
        store: Store,
        clock: Callable[[], int] = wall_clock,
        renew: Callable[[], None] = lambda: None,
    ) -> None:
        """renew: called once another store stands where ours was."""
        self.config = config
        self.version = version()
        self.demo_control = config.demo_control_url is not None
        self.sources = Sources(store, Tail(store), clock)
        self.run_numbers = RunNumbers(self.sources)
        self.comparisons = Comparisons(self.sources, self.run_numbers, config.roofline, config.references)
        self.hub = Hub()
        self.follower = Follower(store, self.sources.tail, self.hub, clock, config.roofline)
        self.renewal = Renewal(store, self.hub, config.store_url, clock, renew)
        self.ahead = Ahead(self.sources, self.run_numbers)
        self._kept: dict[float, _Kept] = {}
        self._turn = threading.Lock()

    def start(self) -> None:
        """Load the tail and follow the store in a thread; another looks whether it is still there, a third works
        numbers of long runs out ahead."""
        self.follower.start()
        self.renewal.start()
        self.ahead.start()

    def close(self) -> None:
        """End streams and thread, close the store."""
        self.hub.close()
        self.renewal.close()
        self.ahead.close()
        self.follower.close()
        self.sources.store.close()

    def scene(self) -> Scene:
        """The scene at the newest tick; before the first one, of now."""
        now = self.sources.now_ms()
        recent = self.sources.recent
        tick = recent.latest_tick
        return gather(self.sources.store, recent, now if tick is None else tick, now)

    def live(self, minutes: float) -> dict[str, Any] | None:
        """The bootstrap message with `history`; None before the first tick.

        The same object for all who ask for as many minutes within a second and the same tick.
        While the tail is being loaded, or the store is gone: that it is so, and nothing else.
        """
        if (gone := lost(self.sources.store)) is not None:
            return {"tick": None, "sentence": gone.as_json()}
        if self.sources.loading:
            return {"tick": None, "sentence": LOADING.as_json()}
        tick = self.sources.tail.latest_tick
        if tick is None or self.hub.latest()[1] is None:
            return None
        now = self.sources.now_ms()
        of = (tick, self.hub.sequence)
        with self._turn:
            kept = self._kept.pop(minutes, None)
            if kept is None or kept.of != of or now - kept.made_ms >= SHARED_MS:
                kept = _Kept(of, now, self._bootstrap(minutes))
            self._kept[minutes] = kept  # at the end: the one asked for longest ago is the first
            while len(self._kept) > MOST_KEPT:
                del self._kept[next(iter(self._kept))]
            return kept.message

    def _bootstrap(self, minutes: float) -> dict[str, Any]:
        """The hub's latest message, so that its differences fit, with age and sentence of now."""
        _, message = self.hub.latest()
        assert message is not None, "there is a message once there is a sequence"
        now = self.sources.now_ms()
        scene = gather(self.sources.store, self.sources.tail, message["tick"], now)
        fresh = {"age_ms": max(now - scene.seen_ms, 0)}
        span = min(max(minutes, 0.0), MOST_MINUTES) * 60_000
        told = sentence(scene)
        return {**message, **fresh, "sentence": told.as_json(), "history": history(scene, self.sources.tail, span)}

    def status(self) -> dict[str, Any]:
        """As /api/v1/status."""
        return status_route.status(self.sources, self.scene(), self.version)

    def nodes(self) -> list[str]:
        """Names of all nodes."""
        return [target.name for target in watched(self.sources.store) if target.kind == "node"]

    def node(self, name: str) -> dict[str, Any] | None:
        """As /api/v1/node; None for a name that is no node."""
        return status_route.node(self.sources, self.scene(), name)

    def latest(self, *, node: str) -> dict[str, Any]:
        """As /api/v1/latest?node=."""
        return latest_route.latest(self.sources, self.scene(), {node}, catalog.METRICS)

    def reading(self, target: str, metric: str) -> list[dict[str, Any]]:
        """Values of one metric of a node or an engine now, as /api/v1/latest?metric= has them."""
        values: list[dict[str, Any]] = latest_route.latest(
            self.sources, self.scene(), {target}, [metric_named(metric)]
        )["values"]
        return values

    def series(self, metric: str, *, node: str | None, start_ms: int, end_ms: int, points: int) -> dict[str, Any]:
        """As /api/v1/series; ParameterError with a sentence."""
        asked = series_route.Asked(metric_named(metric), start_ms, end_ms, points, node=node)
        found: dict[str, Any] = plain(series_route.series(asked, self.sources))
        return found

    def run(self, number: str, start: str = "", end: str = "") -> Answer | None:
        """As /api/v1/runs/ID with its benchmarks, “live” for the newest that goes on; None: there is no such run."""
        found = self._run(number)
        given = {name: value for name, value in (("start", start), ("end", end)) if value}
        if found is None:
            return None
        told = runs_route.one(self.sources, self.run_numbers, found, given)
        return {
            **told,
            "benchmarks": benchmark_answers.answers(self.sources, self.run_numbers, found),
            "references": self.references(),
            "unread_since": alert_answers.silent_since(self.sources),
        }

    def run_instead(self, number: str) -> Answer | None:
        """{id, name, end} of what stands for a run that is not there."""
        if number == LIVE_RUN:
            found = self._last_run()
        else:
            found = self.sources.store.merged_into(int(number)) if _is_number(number, 10) else None
        return None if found is None else {"id": found.id, "name": found.name, "end": found.end_ms}

    def _last_run(self) -> Run | None:
        """The run that ended last; one that came from elsewhere only where none was taken here. Of ten thousand those
        of the last day are asked first."""
        found: Run | None = None
        for since in (self.sources.now_ms() - LATELY_MS, None):
            runs = self.sources.store.runs(RunFilter(live=False, start_ms=since))
            found = max(runs, key=lambda run: (run.own, run.end_ms or 0), default=None)
            if found is not None and found.own:
                break
        return found

    def run_marks(self, number: str, start: str = "", end: str = "") -> Answer | None:
        """{marks} of /api/v1/runs/ID/timeline."""
        found = self._run(number)
        given = {name: value for name, value in (("start", start), ("end", end)) if value}
        notes = Annotations(self.sources.store).between
        if found is None:
            return None
        return {"marks": runs_route.happened_in(self.sources, self.run_numbers, notes, found, given)}

    def run_moment(self, number: str, at: str) -> Answer | None:
        """As /api/v1/runs/ID/moment."""
        found = self._run(number)
        return None if found is None else runs_route.moment_of(self.sources, found, {"at": at})

    def _run(self, number: str) -> Run | None:
        if number == LIVE_RUN:
            return next(iter(self.sources.store.runs(RunFilter(live=True))), None)
        return self.sources.store.run(int(number)) if _is_number(number, 10) else None

    def references(self) -> list[dict[str, Any]]:
        """Published results, as /api/v1/references tells them."""
        return [one.to_json() for one in self.config.references]

    def compare(self, runs: str, align: str) -> Answer:
        """As /api/v1/compare; ParameterError with a sentence."""
        given = {"runs": runs, "align": align} if align else {"runs": runs}
        return self.comparisons.of(*chosen(self.sources.store, given))

    def alerts(self) -> Answer:
        """What fires and what may, as /api/v1/alerts, with /silences and the instant of the answer."""
        found = alert_answers.listed(self.sources, self.config.alerts, {"state": "firing"})
        return {**found, **alert_answers.silences(self.sources), "now": self.sources.now_ms()}

    def alerts_over(self, given: Mapping[str, str]) -> Answer:
        """What is over, as /api/v1/alerts with these parameters; ParameterError with a sentence."""
        found = alert_answers.listed(self.sources, self.config.alerts, {**given, "state": "resolved"})
        return {"alerts": found["alerts"], "now": self.sources.now_ms()}

    def alert(self, number: str) -> Answer | None:
        """As /api/v1/alerts/ID; None: there is no such alert."""
        return alert_answers.one(self.sources, self.config.alerts, int(number)) if self._is_alert(number) else None

    def alert_evidence(self, number: str) -> Answer | None:
        """What is kept with an alert but its samples; None: there is no such alert."""
        if not self._is_alert(number):
            return None
        return evidence_answers.around(evidence_answers.evidence(self.sources, self.config.alerts, int(number)))

    def _is_alert(self, number: str) -> bool:
        return _is_number(number, 16) and self.sources.store.alert(int(number)) is not None

    def rules(self) -> Answer:
        """As /api/v1/rules."""
        channels = (one.channel for one in self.config.channels)
        return rule_answers.rules(self.sources, self.config.alerts, channels)

    def rule_log(self) -> Answer:
        """As /api/v1/rules/log."""
        return rule_answers.log(self.sources)

    def channels(self) -> Answer:
        """As /api/v1/channels."""
        return channel_answers.listed(self.sources, self.config.channels)

    def absences(self) -> Answer:
        """As /api/v1/absences: those of the last day."""
        now = self.sources.now_ms()
        return status_route.absences(self.sources, now - status_route.ABSENCES_MS, now)
