"""Rules as a Prometheus rules file: what PromQL can say of the pages of agents and of the hub, and why not the rest.

Prometheus reads the agents' pages itself, under the job that its settings give them; the node's name is `instance`
there. Of engines, which it reads under names of their own, of deployments and of the collector's memory it knows
nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from alerts import expression as ex
from alerts.constants import constant
from alerts.given import COMMIT_AGE, GIVEN, STATES, TARGET_STATE
from alerts.places import PLACES, Place
from alerts.rule import Rule
from exchange.promql import Told, UntoldError, all_of, any_of, compared, joined, vector
from telemetry.catalog import WIRE_PREFIX, host
from telemetry.model import Fold, Kind, Metric, Ratio, Scope
from telemetry.states import TargetState

JOB = "tachograph"
"""Name of the job that reads the agents, where the settings of Prometheus give it no other."""
NODE = "instance"
TURNED: Mapping[str, str] = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
FOLDS: Mapping[Fold, str] = {Fold.SUM: "sum", Fold.MAX: "max", Fold.MIN: "min", Fold.MEAN: "avg"}
OVER: Mapping[str, str] = {
    "now": "{}",
    "mean": "avg_over_time({}[{}])",
    "min": "min_over_time({}[{}])",
    "max": "max_over_time({}[{}])",
    "increase": "increase({}[{}])",
    "rate": "rate({}[{}])",
}
GOODBYE = "10m"
"""For how long an agent's goodbye makes its silence a stop."""
SILENT = frozenset(
    STATES.index(state.value)
    for state in (
        TargetState.REFUSED,
        TargetState.TIMED_OUT,
        TargetState.UNREACHABLE,
        TargetState.BAD_ANSWER,
        TargetState.NOT_FOUND,
        TargetState.UNAUTHORISED,
    )
)
"""States of a node that Prometheus knows as `up == 0`, without telling one from another."""
WHY_NOT: Mapping[Scope, str] = {
    Scope.ENGINE: "it is about engines, which Prometheus reads under their own names",
    Scope.DEPLOYMENT: "it is about deployments, which Prometheus does not know",
    Scope.TARGET: "it is about what the collector alone knows",
}


@dataclass(frozen=True)
class Exported:
    """text: the file. told: names of the rules in it; left_out: why others are not; partly: what of a rule is not."""

    text: str
    told: tuple[str, ...]
    left_out: Mapping[str, str]
    partly: Mapping[str, tuple[str, ...]]


def exported(rules: Iterable[Rule], job: str = JOB) -> Exported:
    """The rules that are on. job: see `JOB`."""
    blocks, left_out, partly = dict[str, str](), dict[str, str](), dict[str, tuple[str, ...]]()
    for rule in rules:
        if not rule.enabled:
            continue
        writer = _Writer(rule.place, job)
        try:
            text = writer.condition(rule.condition).text
        except UntoldError as why:
            left_out[rule.name] = str(why)
            continue
        notes = [*writer.notes, *(["it has an end of its own, which Prometheus cannot wait for"] if rule.clear else [])]
        if notes:
            partly[rule.name] = tuple(dict.fromkeys(notes))
        blocks[rule.name] = _block(rule, text, partly.get(rule.name, ()))
    head = ["# Alert rules of Tachograph. Left out, because Prometheus cannot know it:"]
    head += [f"# {name}: {why}" for name, why in left_out.items()] or ["# nothing"]
    groups = ["groups:", "  - name: tachograph", "    rules:"] if blocks else ["groups: []"]
    return Exported("\n".join([*head, *groups, *blocks.values(), ""]), tuple(blocks), left_out, partly)


def _block(rule: Rule, text: str, notes: Iterable[str]) -> str:
    title, text_of = _literal(rule.title), _literal(rule.text)
    description = f"{title} on {{{{ $labels.{NODE} }}}}: {{{{ $value }}}}. {text_of}".strip()
    annotations = {"summary": title, "description": description, "runbook_url": _literal(rule.runbook)}
    lines = [
        *(f"      # {rule.name}: {note}" for note in notes),
        f"      - alert: {rule.name}",
        f"        expr: {_yaml(text)}",
        f"        for: {_span(rule.timing.for_ms)}",
        *([f"        keep_firing_for: {_span(rule.timing.clear_for_ms)}"] if rule.timing.clear_for_ms else []),
        "        labels:",
        f"          severity: {rule.severity.value}",
        "        annotations:",
        *(f"          {name}: {_yaml(value)}" for name, value in annotations.items() if value),
    ]
    return "\n".join(lines)


def _span(ms: float) -> str:
    """PromQL's durations are whole numbers of a unit."""
    whole = round(ms)
    return f"{whole // 1000}s" if whole % 1000 == 0 else f"{whole}ms"


def _literal(text: str) -> str:
    """A text in an annotation, which Prometheus reads as a template."""
    return text.replace("{{", '{{ "{{" }}')


def _yaml(text: str) -> str:
    """A text in quotes; what YAML takes in no text is written by its number."""
    return "".join(sign if sign.isprintable() else f"\\U{ord(sign):08x}" for sign in _quoted(text))


@dataclass
class _Writer:
    """One rule's. notes: what was left out of it."""

    place: Place
    job: str
    notes: list[str] = field(default_factory=list)

    def condition(self, of: ex.Condition, *, negated: bool = False) -> Told:
        """Something where it holds, or does not."""
        match of:
            case ex.Not(term):
                return self.condition(term, negated=not negated)
            case ex.Maybe(term):
                return self.condition(term, negated=negated)
            case ex.All(terms) | ex.Some(terms):
                every = isinstance(of, ex.All) is not negated
                return (
                    self._all(terms, negated) if every else any_of([self.condition(t, negated=negated) for t in terms])
                )
            case ex.Compare(sign, left, right):
                return compared(TURNED[sign] if negated else sign, self.value(left), self.value(right))
            case ex.Is(reading, codes):
                return self._is(reading, codes, negated)
            case ex.Has(masked, bits):
                found = self.value(masked)
                each = [f"floor({found.text} / {1 << bit}) % 2" for bit in range(bits.bit_length()) if bits >> bit & 1]
                return compared("==" if negated else ">", Told(f"({' + '.join(each)})", found.labels), Told("0"))
        raise UntoldError("it compares what belongs to a deployment, or asks what is absent")

    def _all(self, terms: Iterable[ex.Condition], negated: bool) -> Told:
        """All terms; one that corroborates only where it is known not to hold."""
        asked: list[Told] = []
        against: list[Told] = []
        for term in terms:
            if not isinstance(term, ex.Maybe):
                asked.append(self.condition(term, negated=negated))
                continue
            try:
                against.append(self.condition(term.term, negated=not negated))
            except UntoldError as why:
                self.notes.append(f"a part that only corroborates is left out: {why}")
        return all_of(asked, against)

    def _is(self, reading: ex.Reading, codes: Iterable[int], negated: bool) -> Told:
        silent = reading.metric.name == TARGET_STATE.name and self.place is PLACES["node"] and SILENT.issuperset(codes)
        if silent and not negated:
            if SILENT.difference(codes):
                self.notes.append("why a node does not answer is left out: Prometheus knows only that it does not")
            gone = f"max_over_time({WIRE_PREFIX}{host.AGENT_GOODBYE.name}[{GOODBYE}]) == 1"
            return Told(f"(up{{job={_quoted(self.job)}}} == 0 unless on ({NODE}) {gone})", (NODE,))
        found = self.value(reading)
        each = [compared("!=" if negated else "==", found, Told(str(code))) for code in codes]
        return all_of(each, []) if negated else any_of(each)

    # Values ---------------------------------------------------------------------------------------------------------

    def value(self, of: ex.Value, place: Place | None = None) -> Told:
        """A value of each instance."""
        place = place or self.place
        number = constant(of)
        if number is not None:
            return Told(f"{number.value:.12g}")
        match of:
            case ex.Reading():
                return self._reading(of, place)
            case ex.Arithmetic(sign, left, right):
                return joined(sign, self.value(left, place), self.value(right, place))
            case ex.Across(larger, inner):
                return self.value(inner, larger)
        raise UntoldError("it compares with others of a deployment, which Prometheus does not know")

    def _reading(self, of: ex.Reading, place: Place) -> Told:
        metric = of.metric
        if metric.name == COMMIT_AGE.name:
            return Told(f"max({WIRE_PREFIX}{metric.name})", ())
        if metric.name in GIVEN:
            raise UntoldError(WHY_NOT[Scope.TARGET])
        if metric.scope is not Scope.NODE or place.owner is not Scope.NODE:
            raise UntoldError(WHY_NOT.get(metric.scope, WHY_NOT.get(place.owner, WHY_NOT[Scope.TARGET])))
        labels = (NODE, *(label for label in place.labels if label in metric.by))
        if isinstance(metric, Ratio):
            return self._ratio(metric, of, labels)
        if of.how == "change":
            now, then = (
                self._folded(metric, _selector(metric.name, of) + back, labels)
                for back in ("", f" offset {_span(of.window_s * 1000)}")
            )
            return joined("-", now, then)
        if of.how not in OVER or metric.kind is Kind.HISTOGRAM:
            raise UntoldError(f"PromQL has no {of.how} as it is meant here")
        return self._folded(metric, OVER[of.how].format(_selector(metric.name, of), _span(of.window_s * 1000)), labels)

    def _folded(self, metric: Metric, text: str, labels: tuple[str, ...]) -> Told:
        return vector(FOLDS.get(metric.across, "max"), labels, text)

    def _ratio(self, ratio: Ratio, of: ex.Reading, labels: tuple[str, ...]) -> Told:
        """Σ numerator ∕ Σ denominator over the window; a gauge in it by its mean."""
        if of.how not in ("now", "mean"):
            raise UntoldError(f"PromQL has no {of.how} of a quotient")
        window = _span((of.window_s if of.how == "mean" else ratio.window_s) * 1000)
        above = self._side(ratio.numerator, of, labels, window)
        found = (
            above if not ratio.denominator else joined("/", above, self._side(ratio.denominator, of, labels, window))
        )
        found = found if ratio.scale == 1 else joined("*", found, Told(f"{ratio.scale:.12g}"))
        return found if ratio.offset == 0 else joined("+", found, Told(f"{ratio.offset:.12g}"))

    def _side(self, terms: Iterable[Metric], of: ex.Reading, labels: tuple[str, ...], window: str) -> Told:
        sums: list[Told] = []
        for term in terms:
            if term.scope is not Scope.NODE:
                raise UntoldError(WHY_NOT[Scope.ENGINE])
            selector = _selector(term.name, of)
            moving = term.kind is Kind.COUNTER
            text = (
                f"rate({selector}[{window}])"
                if moving
                else selector
                if window == "0s"
                else f"avg_over_time({selector}[{window}])"
            )
            sums.append(vector("sum", labels, text))
        found = sums[0]
        for other in sums[1:]:
            found = joined("+", found, other)
        return found


def _selector(name: str, of: ex.Reading) -> str:
    chosen = [f"{label}=~{_quoted('|'.join(map(_escaped, texts)))}" for label, texts in of.labels]
    return f"{WIRE_PREFIX}{name}" + (f"{{{','.join(chosen)}}}" if chosen else "")


def _quoted(text: str) -> str:
    """A text in quotes as PromQL has them: no halves of pairs."""
    return json.dumps(text.encode("utf-8", "replace").decode("utf-8"), ensure_ascii=False)


def _escaped(text: str) -> str:
    """A text as a regular expression of itself."""
    return "".join(f"\\{sign}" if sign in r"\.+*?()|[]{}^$" else sign for sign in text)
