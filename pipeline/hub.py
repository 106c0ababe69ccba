"""Hub: what the arrivals of a tick become: judged, folded, and put into one batch for the store."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from alerts.places import Members
from alerts.rulebook import Rulebook
from pipeline.absences import AbsenceBook
from pipeline.agents import AgentEvent
from pipeline.alarms import Alarms, Raised
from pipeline.chronicle import Chronicle, Told
from pipeline.config import CollectorConfig
from pipeline.deployments import DEPLOYMENT_FACT, MODEL_FACTS, EngineId, group, model_in
from pipeline.evidence import Evidence
from pipeline.inbox import Asked
from pipeline.judge import MOST_MODELS, Judge, phase_series, surroundings, unwatched
from pipeline.lookout import Lookout
from pipeline.notify.teller import Spoken, Teller
from pipeline.reads import why_missing
from pipeline.recorded import Prefills, Recorder
from pipeline.resume import STARTED_FACT
from pipeline.sighting import Eyes, silence
from pipeline.targets import Target
from pipeline.turns import Turns
from pipeline.window import Window
from pipeline.worker import Sample
from pipeline.writer import Draft, Work
from runs.fingerprint import change
from runs.sights import speculative_text
from storage.intervals import OWN_FACT
from storage.records import Batch, Episode, Event, Fact, TargetRow
from telemetry.catalog import cluster
from telemetry.counters import Step
from telemetry.frame import Floats
from telemetry.model import Series
from telemetry.phases import Judgement, Phase, Surroundings
from telemetry.states import TargetState, Verdict

log = logging.getLogger(__name__)

WINDOW_MS = 120_000
TARGETS_EVERY_MS = 10_000
READ_FACT = "events_read"
"""How far an agent's events have been read, so that a collector that starts anew tells none twice."""
NOTED = frozenset({READ_FACT, STARTED_FACT, OWN_FACT})
"""What the collector notes of a target by itself."""
CHANGE = "change"
"""Kind of an event: something that a run's fingerprint has is another one now."""
HELD_MS = 3_000
"""What another value follows sooner goes to and fro, and is no change."""
NO_RULES = "rules of alerts cannot be worked out; see the log"
TOO_MANY = "its page names {} models; what the first {} do is followed"
NO_WORDS = "it cannot be worked out who is told of alerts; see the log"
MOST_TOKENS = 1e12
MOST_AGE_MS = 30 * 86_400_000.0
"""Beyond these a number on a page is nonsense: the size of a prefill is then unknown, an event as old as that."""


@dataclass
class Pending:
    """What has come in since the last batch, beside samples."""

    facts: list[Fact] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)


class Hub:
    """Turns samples into work for the writer. No I/O."""

    def __init__(self, config: CollectorConfig, targets: list[Target], book: AbsenceBook) -> None:
        self.window = Window(WINDOW_MS)
        self.judge = Judge()
        self.prefills = Prefills()
        self._recorder = Recorder(self.window, self.prefills)
        self.chronicle = Chronicle()
        on = [channel.name for channel in config.channels if channel.enabled]
        self.lookout = Lookout(targets, config.interval_s * 1000, on)
        self.alarms = Alarms(Rulebook(config.alerts))
        self.lookout.read(self.alarms.rulebook.rules.values())
        self.teller = Teller(config.channels)
        self._members = Members()
        self._eyes = Eyes()
        self._turns = Turns()
        self._config = config
        self._targets = {target.name: target for target in targets}
        self._book = book
        self._evidence = Evidence()
        self._pending = Pending()
        self._layouts: dict[str, tuple[tuple[Series, ...], tuple[Series, ...]]] = {}
        self._models: dict[str, str] = {}
        self._served: set[str] = set()
        self._facts: dict[tuple[str, str], str] = {}
        self._since_ms: dict[tuple[str, str], int] = {}
        self._rows_at: int | None = None
        self._states: dict[str, tuple[Verdict, int, int]] = {}
        self._defects: set[str] = set()

    def learn_facts(self, target: str, facts: Mapping[str, str], now_ms: int) -> None:
        """Facts as a target states them now; the store keeps what changed."""
        changes = []
        for name, value in facts.items():
            before, since_ms = self._facts.get((target, name)), self._since_ms.get((target, name), now_ms)
            if before != value:
                self._pending.facts.append(Fact(target, name, value, now_ms))
                self.remember_fact(target, name, value, now_ms)
                if before is not None and now_ms - since_ms >= HELD_MS:
                    changes.append(change(name, before, value))
        self._note_changes(target, changes, now_ms)

    def _note_changes(self, target: str, changes: Iterable[str], now_ms: int) -> None:
        """What a run's fingerprint has stands on every timeline when it changes, once for devices that change alike."""
        for what in filter(None, dict.fromkeys(changes)):
            self.note_event(target, CHANGE, what, now_ms)

    def remember_fact(self, target: str, name: str, value: str, since_ms: int) -> None:
        """A fact that the store knows already."""
        self.lookout.fact(target, name, value, since_ms)
        self._facts[target, name], self._since_ms[target, name] = value, since_ms
        if name in MODEL_FACTS:
            self._name_model(target)
        if name.startswith(DEPLOYMENT_FACT):
            self._served.add(name.removeprefix(DEPLOYMENT_FACT) or self._models.get(target, ""))

    def end_facts(self, target: str, stated: Collection[str], now_ms: int) -> None:
        """An engine has stated all facts that it has: what it said of itself before, and says no more, is over."""
        for name in [name for owner, name in self._facts if owner == target]:
            if name not in stated and name not in NOTED and not name.startswith(DEPLOYMENT_FACT):
                value, since_ms = self._facts.pop((target, name)), self._since_ms.pop((target, name))
                self._pending.facts.append(Fact(target, name, value, since_ms, now_ms))
                self._name_model(target)
                self._note_changes(target, [change(name, value, "")], now_ms)

    def _name_model(self, target: str) -> None:
        named = [known for one in MODEL_FACTS if (known := self.fact(target, one)) is not None]
        self._models.pop(target, None)
        if named:
            self._models[target] = model_in(named[-1])

    def fact(self, target: str, name: str) -> str | None:
        """A fact as it is known now."""
        return self._facts.get((target, name))

    def learn_state(self, target: Target, fresh: Iterable[AgentEvent], now_ms: int) -> None:
        """What a node's state page told; a fatal event is remembered for engines that fall silent.

        An event is dated by its age on the node's own clock, so that a skewed clock moves none.
        """
        known = [name for owner, name in self._facts if owner == target.name]
        facts = {**target.state.facts, **target.state.over(known), READ_FACT: target.state.mark}
        self.learn_facts(target.name, facts, now_ms)
        for event in fresh:
            age_ms = (target.state.time_s - event.time_s) * 1000 if target.state.time_s else 0.0
            at_ms = round(now_ms - min(max(age_ms, 0.0), MOST_AGE_MS))
            self.note_event(target.name, event.kind, event.text, at_ms, event.labels)
            if event.fatal:
                for other in self._targets.values():
                    other.note(fatal=True)

    def note_event(
        self, target: str, kind: str, text: str, now_ms: int, labels: Mapping[str, str] | None = None
    ) -> None:
        """An event to be stored with the next batch."""
        self._pending.events.append(Event(0, now_ms, target, kind, text, dict(labels or {})))

    def work(
        self,
        samples: list[Sample],
        tick: int,
        now_ms: int,
        asked: Sequence[Asked] = (),
        of_alerts: Sequence[Asked] = (),
    ) -> Work:
        """Everything that a tick writes. `samples` may be of earlier ticks, when they arrived late.

        asked: what people want done with runs; of_alerts: with alerts, silences and rules.
        """
        episodes: list[Episode] = []
        # Nodes first: what they say is the surroundings in which engines are judged.
        ordered = sorted(samples, key=lambda sample: not self._targets[sample.target].is_node)
        drafts = [draft for sample in ordered for draft in self._taken(sample, tick, episodes)]
        for row in self._recorder.rows(tick, self.deployments()):
            self.window.add(row.target, tick, tick, row.series, row.values)
            drafts.append(Draft(tick, row.target, tick, row.series, row.values))
        self.window.trim()
        self._evidence.gather(self._targets.values(), self.window, tick)
        self._mark_absences(samples, tick)
        self._pending.events += self._turns.look(self._targets.values(), samples, tick)
        told = self._runs(samples, tick, asked)
        self.alarms.follow(told.moved)
        raised = self._alerts(samples, drafts, tick, of_alerts)
        spoken = self._tell(tick, raised)
        return Work(now_ms, tuple(drafts), self._batch(samples, episodes, told, raised, spoken, now_ms))

    def _batch(
        self, samples: list[Sample], episodes: list[Episode], told: Told, raised: Raised, spoken: Spoken, now_ms: int
    ) -> Batch:
        """All that is committed with a tick's rows."""
        opened, closed = self._book.drain()
        pending, self._pending = self._pending, Pending()
        return Batch(
            offsets=[offset for sample in samples for offset in sample.offsets],
            absences_opened=opened,
            absences_closed=closed,
            facts=pending.facts,
            events=pending.events,
            episodes=episodes,
            targets=self._target_rows(now_ms),
            runs=list(told.runs.values()),
            marks=told.marks,
            parts=told.parts,
            marks_moved=told.moved,
            parts_moved=told.parts_moved,
            runs_deleted=told.deleted,
            detectors=told.detectors,
            commands=[*told.commands, *raised.commands],
            alerts=list(raised.alerts.values()),
            standings=raised.standings,
            rule_changes=raised.changes,
            silences=raised.silences,
            notices=spoken.notices,
            memories=spoken.memories,
        )

    def _taken(self, sample: Sample, tick: int, episodes: list[Episode]) -> list[Draft]:
        """One sample's row. What one target says must never stop the others: a defect costs it this sample."""
        target = self._targets[sample.target]
        try:
            return [self._node_row(sample) if target.is_node else self._engine_row(sample, tick, episodes)]
        except (ArithmeticError, ValueError, TypeError, LookupError):
            log.exception("a page of %s cannot be understood; it is left out", target.name)
            target.health.failed(Verdict(TargetState.BAD_ANSWER, "its page cannot be understood"), sample.tick)
            return []

    def deployments(self) -> dict[str, list[EngineId]]:
        """Engines that answered, by deployment."""
        return group(self.judge.latest, self._config.deployments, self._models, self._served)

    def _runs(self, samples: list[Sample], tick: int, asked: Sequence[Asked]) -> Told:
        """What begins, ends or changes of runs."""
        targets = [target for target in self._targets.values() if not target.is_node]
        settings = {
            target.name: (self._models.get(target.name, ""), self._speculation(target.name)) for target in targets
        }
        engines = [sample for sample in samples if sample.target in settings]
        silent = {one.name: silence(one.health.verdict.state) for one in targets if one.health.failing_so_since}
        seen = self._eyes.look(engines, self.judge.latest, settings)
        return self.chronicle.tick(tick, self.deployments(), seen, silent, asked)

    def _alerts(self, samples: list[Sample], drafts: Sequence[Draft], tick: int, asked: Sequence[Asked]) -> Raised:
        """What rules find in this tick. A defect in it costs no sample."""
        try:
            for draft in drafts:
                self.lookout.add(draft.target, draft.tick, draft.at_ms, draft.series, draft.values)
            for sample in samples:
                self.lookout.add_steps(sample.offsets)
            members = self._members = self.lookout.members(self.deployments())
            raised = self.alarms.tick(tick, self.lookout.view(tick, members), self.chronicle.going(), asked)
            if raised.changes:
                self.lookout.read(self.alarms.rulebook.rules.values())
            self._defects.discard(NO_RULES)
            return raised
        except (ArithmeticError, ValueError, TypeError, LookupError):
            self._defect(NO_RULES, tick)
            return Raised()

    def _defect(self, what: str, now_ms: int) -> None:
        """A part of the work fails by a fault of ours: said once, in the log and as an event, until it goes well."""
        if what not in self._defects:
            log.exception(what)
            self.note_event(cluster.CLUSTER_TARGET, "defect", what, now_ms)
            self._defects.add(what)

    def _told_once(self, target: str, what: str, now_ms: int) -> None:
        if f"{target}: {what}" not in self._defects:
            self._defects.add(f"{target}: {what}")
            self.note_event(target, "engine", what, now_ms)

    def _tell(self, tick: int, raised: Raised) -> Spoken:
        """Who is told what of alerts. A defect in it costs no sample."""
        alarms = self.alarms
        firing, silences = list(alarms.open.values()), list(alarms.silences.values())
        try:
            awaiting = alarms.awaiting(self._members, tick) if self.teller.channels else ()
            spoken = self.teller.tick(
                tick, firing, raised.alerts.values(), alarms.book.standings, silences, alarms.rulebook.rules, awaiting
            )
        except (ArithmeticError, ValueError, TypeError, LookupError):
            self._defect(NO_WORDS, tick)
            return Spoken()
        self._defects.discard(NO_WORDS)
        return spoken

    def _speculation(self, target: str) -> str | None:
        names = ("speculative_method", "speculative_tokens")
        return speculative_text({name: self._facts[target, name] for name in names if (target, name) in self._facts})

    def _node_row(self, sample: Sample) -> Draft:
        return self._row(sample, sample.series, sample.values)

    def _engine_row(self, sample: Sample, tick: int, episodes: list[Episode]) -> Draft:
        self.learn_facts(sample.target, sample.layout.facts, sample.tick)
        if sample.started_s is not None:
            self.learn_facts(sample.target, {STARTED_FACT: f"{sample.started_s:.3f}"}, sample.tick)
        around, restarted = self._surroundings(sample.target, tick), sample.restarted
        judgements = self.judge.page(
            sample.target,
            sample.layout,
            sample.values,
            sample.at_ms,
            restarted=restarted,
            around=around,
            leapt=any(offset.reason == Step.LEVEL.value for offset in sample.offsets),
        )
        series = self._with_phases(sample, judgements)
        phases = [float(judgement.phase.value) for judgement in judgements.values()]
        episodes += self._finished(judgements, sample.tick)
        return self._row(sample, series, np.concatenate((sample.values, phases)))

    def _with_phases(self, sample: Sample, judgements: Mapping[EngineId, Judgement]) -> tuple[Series, ...]:
        known = self._layouts.get(sample.target)
        if known is None or known[0] is not sample.series:
            if left := unwatched(sample.layout):
                self._told_once(sample.target, TOO_MANY.format(left + MOST_MODELS, MOST_MODELS), sample.tick)
            known = (sample.series, (*sample.series, *(phase_series(one) for one in judgements)))
            self._layouts[sample.target] = known
        return known[1]

    def _finished(self, judgements: Mapping[EngineId, Judgement], tick: int) -> list[Episode]:
        owner = {one: name for name, engines in self.deployments().items() for one in engines}
        for one in judgements:
            self.learn_facts(one.target, {DEPLOYMENT_FACT + one.model: owner[one]}, tick)
        found = []
        for one, judgement in judgements.items():
            prefill = judgement.finished
            if prefill is None:
                continue
            self.prefills.add(owner[one], prefill)
            known = prefill.tokens is not None and prefill.tokens <= MOST_TOKENS
            tokens = round(prefill.tokens) if known and prefill.tokens is not None else None
            start, end = round(prefill.start_ms), round(prefill.end_ms)
            found.append(Episode(owner[one], one.target, one.engine, start, end, tokens, prefill.seconds))
        return found

    def _row(self, sample: Sample, series: tuple[Series, ...], values: Floats) -> Draft:
        interval_ms = self._targets[sample.target].interval_ms
        before_ms = self._facts.get((sample.target, OWN_FACT), str(interval_ms))
        if before_ms != str(interval_ms):
            self.window.end_stretch(sample.target, float(before_ms), sample.tick)
        self.window.set_intervals({sample.target: interval_ms})
        self.lookout.set_interval(sample.target, interval_ms)
        self.learn_facts(sample.target, {OWN_FACT: str(interval_ms)}, sample.tick)
        self.window.add(sample.target, sample.tick, sample.at_ms, series, values)
        self.window.add_steps((offset.series, offset.tick, offset.reason) for offset in sample.offsets)
        return Draft(sample.tick, sample.target, round(sample.at_ms), series, values)

    def _surroundings(self, target: str, tick: int) -> Surroundings:
        """What is known of the machines of an engine's server: those of its deployment, all where that is not known."""
        suspicious = any(
            one.prefilling_since_ms is not None or one.phase is Phase.STALLED for one in self.judge.latest.values()
        )
        nodes = self.lookout.nodes_near(target) if suspicious else []
        return surroundings(self.window, tick, nodes) if nodes else Surroundings()

    def _mark_absences(self, samples: list[Sample], tick: int) -> None:
        for sample in samples:
            missing = {metric: why or self._why(sample.target, metric) for metric, why in sample.missing.items()}
            self._book.metrics(sample.target, missing, sample.tick)
        for target in self._targets.values():
            since = target.health.failing_so_since
            if since is None:
                if target.health.verdict.state is not TargetState.NOT_YET_SCRAPED:
                    self._book.present((target.name, None), tick)
            else:
                verdict = target.health.verdict
                self._book.missing((target.name, None), f"{verdict.state.value}: {verdict.reason}", since)
                self.judge.silent(target.name)

    def _why(self, target: str, metric: str) -> str:
        readings = self._targets[target].state.readings
        return why_missing(metric, readings) or "no longer on the page, or not a number"

    def _target_rows(self, now_ms: int) -> list[TargetRow]:
        states = {
            name: (one.health.verdict, one.health.restarts, one.interval_ms) for name, one in self._targets.items()
        }
        due = self._rows_at is None or now_ms - self._rows_at >= TARGETS_EVERY_MS
        changed = [name for name, state in states.items() if due or self._states.get(name) != state]
        self._states = states
        if due:
            self._rows_at = now_ms
        return [self._targets[name].row() for name in changed]
