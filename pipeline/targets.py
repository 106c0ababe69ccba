"""Targets: one object per configured URL, with its connection, its reader, and what is known of it now."""

from __future__ import annotations

import logging
import math
import statistics
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from collectors.scrape.engines import STATISTICS, stranger
from collectors.scrape.facts import FactReader
from collectors.scrape.http import Reply, TargetClient
from collectors.scrape.outcome import Outcome
from collectors.scrape.page import Page
from collectors.scrape.politeness import Politeness
from collectors.scrape.text import PageReader
from pipeline.agents import AgentEvent, AgentState, parse_state
from pipeline.clock import HubClock
from pipeline.config import TargetConfig, TargetKind
from pipeline.desk import Desk
from pipeline.pulse import Pulse
from pipeline.resume import Left
from pipeline.worker import Arrival, Reader, Sample
from storage.records import TargetRow
from telemetry.catalog import engine, host
from telemetry.model import Scope
from telemetry.states import Before, TargetState, Verdict, silent_engine, silent_node

STATE_EVERY_MS = 10_000.0
ANSWERS = 5
"""Answers whose median time says how often a slow target can be read."""
FRESH = frozenset({"not yet"})
"""Reasons for a page without numbers that are no lack: the engine is there, and has served nothing so far."""
LOADING_STATUS = 503
"""What servers that listen before their model is loaded answer meanwhile."""

log = logging.getLogger(__name__)


class StrangerError(Exception):
    """A page that is not that of a target of this kind; the text says what it is instead."""


@dataclass
class Health:
    """What is known of a target now; becomes its row in the store.

    failing_since: tick of the first failure, failing_so_since: of the first for the present reason.
    missed: ticks at which it was due and gave no page. late: ticks that found its last request still under way.
    impossible: numbers of its pages that cannot be.
    """

    verdict: Verdict = field(default_factory=lambda: Verdict(TargetState.NOT_YET_SCRAPED, "no answer yet"))
    since_ms: int = 0
    last_ok_ms: int | None = None
    failing_since: int | None = None
    failing_so_since: int | None = None
    scrapes: int = 0
    missed: int = 0
    late: int = 0
    restarts: int = 0
    impossible: int = 0

    def ok(self, verdict: Verdict, now_ms: int) -> None:
        """It answered with a page."""
        self._become(verdict, now_ms)
        self.last_ok_ms, self.failing_since, self.failing_so_since = now_ms, None, None
        self.scrapes += 1

    def failed(self, verdict: Verdict, tick: int) -> None:
        """It was asked at this tick and gave no page."""
        self.missed += 1
        if self.failing_since is None:
            self.failing_since = tick
        if self.failing_so_since is None or verdict != self.verdict:
            self.failing_so_since = tick
        self._become(verdict, tick)

    def _become(self, verdict: Verdict, now_ms: int) -> None:
        if verdict.state is not self.verdict.state or not self.since_ms:
            self.since_ms = now_ms
        self.verdict = verdict


class Target:
    """One configured URL."""

    def __init__(
        self,
        config: TargetConfig,
        clock: HubClock,
        monotonic: Callable[[], float],
        interval_s: float,
        left: Left,
        desk: Desk,
        pulse: Pulse,
    ) -> None:
        self.config = config
        self._desk = desk
        self._pulse = pulse
        self.health = Health()
        self.state = AgentState()
        self.read_up_to: str | None = None
        self.before = Before()
        self.politeness = Politeness(interval_s, by_cost=not self.is_node)
        self.facts = FactReader()
        self.busy = False
        self.layout_engine = ""
        self.warnings: tuple[int, int] = (0, 0)
        self._clock = clock
        self._client = TargetClient(config.url, clock=monotonic, token=config.token)
        self._pages = PageReader(config.name, scopes=(Scope.NODE if self.is_node else Scope.ENGINE,))
        self._reader = Reader(config, left)
        self._state_at_ms = float("-inf")
        self._answers: deque[float] = deque(maxlen=ANSWERS)

    @property
    def name(self) -> str:
        """Identity in the store."""
        return self.config.name

    @property
    def is_node(self) -> bool:
        """Whether it is a node's agent."""
        return self.config.kind is TargetKind.NODE

    @property
    def interval_ms(self) -> int:
        """Milliseconds between two of its samples: as it is asked, or as slowly as it answers."""
        tick_s = self.politeness.tick_s
        answer_s = statistics.median(self._answers) if self._answers else 0.0
        return round(max(self.politeness.interval_s, math.ceil(answer_s / tick_s - 1e-9) * tick_s) * 1000)

    async def poll(self, tick: int, due_s: float) -> Sample | None:
        """Ask for the page once; None when none came, and `health` says why.

        None, too, for an engine's page of which nobody knows when it was true, because this process stood still: its
        counters would have gained in a moment what they gained in the pause. The next page has all of it. A node's page
        says itself when it was true. And nobody is silent who was not listened to.
        """
        reply = await self._client.page()
        timed = self.is_node and reply.outcome is Outcome.OK
        if not timed and self._pulse.hid(reply.sent_s):
            return None
        if reply.outcome is not Outcome.OK:
            self._fail(reply, tick, due_s)
            return None
        try:
            sample = await self._understood(reply, tick)
        except StrangerError as told:
            self._fail(replace(reply, outcome=Outcome.BAD_ANSWER, reason=str(told)), tick, due_s)
            return None
        except (ArithmeticError, ValueError, TypeError, LookupError):
            log.exception("the page of %s cannot be understood", self.name)
            bad = replace(reply, outcome=Outcome.BAD_ANSWER, reason="its page cannot be understood")
            self._fail(bad, tick, due_s)
            return None
        self._answers.append(reply.seconds)
        self.politeness.answered(due_s, reply.seconds, idle=sample.total(engine.REQUESTS_RUNNING) == 0)
        return sample

    async def _understood(self, reply: Reply, tick: int) -> Sample:
        sent_ms, arrived_ms = (self._clock.at(instant * 1000.0) for instant in (reply.sent_s, reply.arrived_s))

        def read(page: Page | None = None) -> Sample:
            page = page or self._pages.read(reply.body)
            told = stranger(page.layout.engine, reply.body, reply.content_type, agent=self.is_node)
            if told is not None:
                raise StrangerError(told)
            return self._reader.sample(Arrival(tick, page, sent_ms, arrived_ms, len(reply.body)))

        sample = await self._desk.read(reply.body, self._pages.again, read)
        self._succeed(sample, arrived_ms)
        return sample

    def _succeed(self, sample: Sample, arrived_ms: float) -> None:
        layout = sample.layout
        why = layout.facts.get("statistics")
        state = TargetState.NO_STATISTICS if why and why not in FRESH else TargetState.OK
        verdict = Verdict(state, STATISTICS.get(why, why) if why else "")
        returned = self.health.verdict.state is not TargetState.OK
        self.health.ok(verdict, int(arrived_ms))
        self.health.restarts += sample.restarted
        self.health.impossible += sample.nonsense
        if returned or sample.restarted or layout.engine != self.layout_engine:
            self.facts.restarted(layout.engine)
        self.layout_engine = layout.engine
        self.warnings = (layout.dropped_families, layout.refused_series)
        running = sample.total(engine.REQUESTS_RUNNING)
        self.before = Before(True, sample.value(host.AGENT_GOODBYE) == 1, running)

    def _fail(self, reply: Reply, tick: int, due_s: float) -> None:
        failure = TargetState.BAD_ANSWER if reply.outcome is Outcome.CLOSED else TargetState(reply.outcome.value)
        detail = reply.reason
        if reply.status == LOADING_STATUS:
            failure, detail = TargetState.LOADING, "it listens, and answers that it is not ready yet"
        judge = silent_node if self.is_node else silent_engine
        self.health.failed(judge(failure, detail, self.before), tick)
        self.politeness.failed(due_s, reply.outcome)

    async def read_facts(self) -> dict[str, str] | None:
        """Ask an engine for the next of its pages of facts that is due; its facts when there is something new, or when
        that was the last page: then `facts.complete`, and what they do not say is not so any more."""
        path = self.facts.due()
        if path is None:
            return None
        reply = await self._client.beside(path)
        learned = self.facts.learn(reply.outcome, reply.body)
        return dict(self.facts.facts) if learned or self.facts.complete else None

    async def read_state(self, now_ms: float, sample: Sample) -> list[AgentEvent] | None:
        """A node's state page, when it is due or has news: its new events. None when it was not read."""
        news = sample.value(host.AGENT_EVENTS) > self.state.sequence
        if now_ms - self._state_at_ms < STATE_EVERY_MS and not news:
            return None
        self._state_at_ms = now_ms
        state = await self._ask_state(self.state.sequence)
        if state is not None and self.state.sequence and state.started_s != self.state.started_s:
            state = await self._ask_state(0)  # another agent: its events have numbers of their own
        if state is None:
            return None
        fresh = state.unread(self.read_up_to)
        self.state, self.read_up_to = state, state.mark
        return fresh

    async def _ask_state(self, after: int) -> AgentState | None:
        reply = await self._client.beside(f"/state?after={after}")
        return parse_state(reply.body) if reply.outcome is Outcome.OK else None

    def note(self, **changes: Any) -> None:
        """Remember something about the time before a silence."""
        self.before = replace(self.before, **changes)

    def row(self) -> TargetRow:
        """The target's row in the store."""
        health = self.health
        detail: dict[str, Any] = {
            "scrapes": health.scrapes,
            "missed": health.missed,
            "late": health.late,
            "restarts": health.restarts,
            "engine": self.layout_engine,
            "dropped_families": self.warnings[0],
            "refused_series": self.warnings[1],
            "impossible_numbers": health.impossible,
            "silent_s": self.politeness.silent_s,
        }
        if self.is_node:
            detail |= {"processes": list(self.state.processes), "readings": dict(self.state.readings)}
        return TargetRow(
            name=self.name,
            kind=self.config.kind.value,
            url=self.config.url,
            interval_ms=self.interval_ms,
            state=health.verdict.state.value,
            reason=health.verdict.reason,
            since_ms=health.since_ms,
            last_ok_ms=health.last_ok_ms,
            detail=detail,
        )

    async def close(self) -> None:
        """Close the connection."""
        await self._client.close()
