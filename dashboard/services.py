"""What the pages ask of the process they live in: each answer is that of the JSON route of that name (docs/live.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

Answer = Mapping[str, Any]


class Services(Protocol):
    """Data behind the pages: values in base units, epoch milliseconds, None where unknown. Nothing here is formatted
    but the live message."""

    version: str
    demo_control: bool
    """Whether a simulator's fault panel answers under /api/v1/demo/faults."""

    def live(self, minutes: float) -> Answer | None:
        """The bootstrap message with `history`; None before the first tick.

        While what was recorded is being loaded: {tick: None, sentence}.
        """

    def status(self) -> Answer:
        """{sentence, nodes, engines, deployments, versions, store}, as /api/v1/status."""

    def nodes(self) -> list[str]:
        """Names of all nodes, in the order of their names."""

    def node(self, name: str) -> Answer | None:
        """{name, state, level, reason, age_s, facts, processes, events}, as /api/v1/node?name=; None: not known."""

    def latest(self, *, node: str) -> Answer:
        """{values: [{metric, unit, labels, t, v, state, reason}]} of one node, ratios included, as /api/v1/latest."""

    def reading(self, target: str, metric: str) -> list[Answer]:
        """Values of one metric of a target now, each as `latest` has it."""

    def series(self, metric: str, *, node: str | None, start_ms: int, end_ms: int, points: int) -> Answer:
        """{metric, unit, step_ms, series: [{labels, t, v}]} or min, max, mean in place of v, as /api/v1/series."""

    def alerts(self) -> Answer:
        """{alerts, pending, silences, now}, as /api/v1/alerts?state=firing and /silences; now: an instant."""

    def alerts_over(self, given: Mapping[str, str]) -> Answer:
        """{alerts, now}: those that are over, as /api/v1/alerts with these; ParameterError with a sentence."""

    def alert(self, number: str) -> Answer | None:
        """{alert, effects, because, silenced, rule, now}, as /api/v1/alerts/ID; None: there is none."""

    def alert_evidence(self, number: str) -> Answer | None:
        """{kept, due, start, end, cut, events, absences, facts, run}, as /api/v1/alerts/ID/charts; None: no alert."""

    def rules(self) -> Answer:
        """{rules, problems}, as /api/v1/rules."""

    def rule_log(self) -> Answer:
        """{changes}, as /api/v1/rules/log."""

    def channels(self) -> Answer:
        """{channels}, as /api/v1/channels."""

    def absences(self) -> Answer:
        """{absences: [{target, metric, from, to, reason}]}, newest first, as /api/v1/absences; `to` None: it lasts."""

    def run(self, number: str, start: str = "", end: str = "") -> Answer | None:
        """{run, stretch, why, fingerprint, summary, marks, events}, as /api/v1/runs/ID, and unread_since: the newest
        commit of a collector that is silent, None of one that is not. None: there is no such run."""

    def run_instead(self, number: str) -> Answer | None:
        """{id, name, end} of the run that stands for one that is not there: of “live” the last, else the one that it
        was merged into; None where there is none."""

    def run_marks(self, number: str, start: str = "", end: str = "") -> Answer | None:
        """{marks: [{t, end, kind, target, text}]}, as in /api/v1/runs/ID/timeline; None: there is no such run."""

    def run_moment(self, number: str, at: str) -> Answer | None:
        """{at, why, nodes}, as /api/v1/runs/ID/moment; None: there is no such run."""

    def compare(self, runs: str, align: str) -> Answer:
        """As /api/v1/compare?runs=&align=; ParameterError with a sentence."""
