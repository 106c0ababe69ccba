"""`/api/v1/series`: the history of metrics and ratios. The same query object serves pages, scripts and exports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from dashboard.api import known, parameters
from dashboard.api.cost import Guarded
from dashboard.api.lists import number, numbers
from dashboard.api.parameters import ParameterError
from dashboard.live.deployments import engines_of
from dashboard.sources import Sources
from telemetry.catalog import cluster
from telemetry.model import Fold, Kind, Metric, Ratio, Scope
from telemetry.query import Line, Query
from telemetry.reader import Answer
from telemetry.reader import read as read_history
from telemetry.stats import Stats
from telemetry.summary import HOUR_MS, hour_of

KNOWN = (
    "metric",
    "node",
    "engine",
    "deployment",
    "start",
    "end",
    "points",
    "quantile",
    "total",
    "label",
    "rate",
    "step",
    "stats",
)
STATS = ("0", "1", "only")
DEFAULT_SPAN_MS = 15 * 60_000
MOST_SPAN_MS = 2 * 366 * 86_400_000
MOST_METRICS = 20
DEFAULT_POINTS = 600
MOST_POINTS = 5_000
MOST_SERIES = 1_000


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as values. Every filter that is None keeps everything."""

    metric: Metric | Ratio
    start_ms: int
    end_ms: int
    points: int = DEFAULT_POINTS
    node: str | None = None
    engine: str | None = None
    deployment: str | None = None
    labels: Mapping[str, str] | None = None
    total: bool = False
    quantile: float = 0.5
    rate: bool = False
    width_ms: int | None = None
    stats: str = STATS[0]


def read(arguments: Mapping[str, str], sources: Sources) -> Asked:
    """The question that a request's parameters ask; ParameterError with a sentence."""
    parameters.only(arguments, KNOWN)
    metric = parameters.metric(arguments.get("metric"))
    start, end = parameters.range_ms(arguments, sources.now_ms(), DEFAULT_SPAN_MS)
    return Asked(
        metric=metric,
        start_ms=start,
        end_ms=end,
        points=parameters.integer("points", arguments.get("points", str(DEFAULT_POINTS)), 1, MOST_POINTS),
        node=arguments.get("node"),
        engine=arguments.get("engine"),
        deployment=arguments.get("deployment"),
        labels=_labels(arguments.get("label"), metric),
        total=parameters.flag("total", arguments.get("total", "0")),
        quantile=parameters.number("quantile", arguments.get("quantile", "0.5"), 0.0, 1.0),
        rate=_rate(arguments.get("rate", "0"), metric),
        width_ms=_width(arguments),
        stats=parameters.one_of("stats", arguments.get("stats", STATS[0]), STATS),
    )


def _width(arguments: Mapping[str, str]) -> int | None:
    """Width of bins in ms where it is stated in place of points: a range that goes on keeps its bins so."""
    if "step" not in arguments:
        return None
    if "points" in arguments:
        raise ParameterError("Parameters “points” and “step” exclude each other.")
    width = parameters.duration_ms("step", arguments["step"])
    if width < 1:
        raise parameters.bad("step", arguments["step"], "at least 1ms")
    return width


def _rate(given: str, metric: Metric | Ratio) -> bool:
    """Whether the rate of a counter is asked for; of anything else it would be another number with the same name."""
    asked = parameters.flag("rate", given)
    if asked and metric.kind is not Kind.COUNTER:
        raise ParameterError(
            f"Parameter “rate” does not apply: {metric.name} is no counter, but a {metric.kind.value}."
        )
    return asked


def _labels(given: str | None, metric: Metric | Ratio) -> dict[str, str]:
    """`gpu:0,cage:p1` as a mapping; a label that the metric's lines do not carry would silently be no filter."""
    found: dict[str, str] = {}
    for part in [] if given is None else given.split(","):
        label, _, value = part.partition(":")
        if not label or not value:
            raise parameters.bad("label", given or "", "pairs like gpu:0 or cage:p1, separated by commas")
        if label not in metric.by:
            shown, known = label[: parameters.SHOWN], ", ".join(metric.by) or "none"
            raise ParameterError(f"There is no label “{shown}” on {metric.name}; it has: {known}.")
        if label in found:
            raise ParameterError(f"Label “{label}” is given more than once.")
        found[label] = value
    return found


def check(asked: Asked) -> None:
    """Refuse ranges that make no sense or cost too much."""
    parameters.ordered(asked.start_ms, asked.end_ms)
    span = asked.end_ms - asked.start_ms
    if span > MOST_SPAN_MS:
        most = MOST_SPAN_MS // 86_400_000
        raise ParameterError(f"The range is {span / 86_400_000:.1f} days long, expected at most {most}.")
    if asked.width_ms is not None and span > asked.width_ms * MOST_POINTS:
        raise ParameterError(f"Steps of {asked.width_ms} ms are more than {MOST_POINTS} here; ask for longer ones.")


def still_there(start_ms: int, end_ms: int, width_ms: int | None, sources: Sources) -> None:
    """Refuse samples, or bins that hours do not fill, of a time of which only hours are kept: the answer would look as
    if there had been nothing. width_ms: of bins, None for every sample."""
    hours = width_ms is not None and width_ms % HOUR_MS == 0
    if hours or not sources.forgotten(start_ms, end_ms):
        return
    low, high = hour_of(start_ms), hour_of(end_ms) + HOUR_MS
    while high - low > HOUR_MS:  # what is given up is older than all that is not
        middle = hour_of((low + high) // 2)
        low, high = (middle, high) if sources.forgotten(middle, end_ms) else (low, middle)
    since = datetime.fromtimestamp(high / 1000, UTC).strftime("%Y-%m-%dT%H:%MZ")
    raise ParameterError(
        f"Samples before {since} are given up, and only their hours are kept: "
        "ask for a step of whole hours, such as step=1h, or for a later start."
    )


APPLIES = {
    "node": (Scope.NODE, Scope.TARGET, Scope.CLUSTER),
    "engine": (Scope.ENGINE, Scope.TARGET),
    "deployment": (Scope.DEPLOYMENT, Scope.ENGINE),
}
"""Which filters mean something for a metric of which scope: see `applies`."""


def applies(name: str, metric: Metric | Ratio) -> bool:
    """Whether a filter means something for a metric. Of the whole cluster, only quotients have terms that nodes have;
    what is recorded of it is no node's."""
    recorded = metric.scope is Scope.CLUSTER and isinstance(metric, Metric)
    return metric.scope in APPLIES[name] and not recorded


def targets(asked: Asked, sources: Sources) -> frozenset[str] | None:
    """Targets whose series take part, None for all; ParameterError for names that are not known."""
    chosen = [(name, value) for name in APPLIES if (value := getattr(asked, name)) is not None]
    scope = asked.metric.scope
    for name, _ in chosen:
        if not applies(name, asked.metric):
            of = "the whole cluster" if scope is Scope.CLUSTER else f"each {scope.value}"
            raise ParameterError(f"Parameter “{name}” does not apply: {asked.metric.name} is of {of}.")
    found: set[str] | None = None
    for name, value in chosen:
        mine = set[str]().union(*(_named(name, one, scope, sources) for one in _list(name, value, sources)))
        found = mine if found is None else found & mine
    return None if found is None else frozenset(found)


def _list(name: str, value: str, sources: Sources) -> Sequence[str]:
    return known.listed(value, sources.deployments() if name == "deployment" else ())


def _named(name: str, value: str, scope: Scope, sources: Sources) -> set[str]:
    if name != "deployment":
        return {known.target(name, value, sources)}
    parameters.one_of(name, value, sources.deployments())
    return {cluster.DEPLOYMENT_PREFIX + value} if scope is Scope.DEPLOYMENT else engines_of(value, sources)


def answers(arguments: Mapping[str, str], sources: Sources) -> dict[str, Any]:
    """What a request gets: the answer about its metric; of several, separated by commas, {answers: one of each}."""
    names = arguments.get("metric", "").split(",")
    if len(names) == 1:
        return series(read(arguments, sources), sources)
    if len(names) > MOST_METRICS:
        raise ParameterError(f"These are {len(names)} metrics, expected at most {MOST_METRICS}.")
    start, end = parameters.range_ms(arguments, sources.now_ms(), DEFAULT_SPAN_MS)
    fixed = {**arguments, "start": str(start), "end": str(end)}
    return {"answers": [series(read({**fixed, "metric": name}, sources), sources) for name in names]}


def query_of(asked: Asked, sources: Sources) -> Query:
    """The question to the history; ParameterError for names that are not known."""
    return Query(
        metric=asked.metric,
        start_ms=asked.start_ms,
        end_ms=asked.end_ms,
        points=asked.points if asked.width_ms is None else None,
        width_ms=asked.width_ms,
        targets=targets(asked, sources),
        labels=asked.labels or {},
        total=asked.total,
        quantile=asked.quantile,
        slowest_ms=sources.slowest_ms(),
        rate=asked.rate,
    )


def series(asked: Asked, sources: Sources) -> dict[str, Any]:
    """{metric, unit, resolution, step_ms, series: [{labels, t, v}]}, or min, max and mean in place of v where reduced;
    arrays for `lists.encoded`.

    fold besides where reduced, and last in each series where that is its name; window_ms for ratios and percentiles;
    relation and count in each series of percentiles; stats in each where asked for, without all lists for "only";
    damaged where samples of the range cannot be read any more.
    """
    check(asked)
    if asked.width_ms is not None:
        still_there(asked.start_ms, asked.end_ms, asked.width_ms, sources)
    query = query_of(asked, sources)
    guarded = Guarded.of(sources, query)
    with guarded.turn(query):
        found = read_history(query, guarded, told=asked.stats != STATS[0], keeper=sources.kept)
    if len(found.lines) > MOST_SERIES:
        raise ParameterError(
            f"This is {len(found.lines)} series, expected at most {MOST_SERIES}; name a node, an engine or a label."
        )
    reduced = any(line.values is None for line in found.lines)
    window, damaged = _window_ms(query, found), _damaged(query, found, sources)
    return {
        "metric": asked.metric.name,
        "unit": query.unit.value,
        "resolution": found.resolution,
        "step_ms": found.step_ms,
        **({"rate": True} if asked.rate else {}),
        **({"fold": query.fold.value} if reduced else {}),
        **({"window_ms": window} if window else {}),
        **({"damaged": damaged} if damaged else {}),
        "series": _lines(asked, query, found),
    }


def _damaged(query: Query, found: Answer, sources: Sources) -> list[dict[str, Any]]:
    """Which samples of the answer's are unknown because the store's file is damaged there, and why, oldest first.
    Summaries of hours are whole without them."""
    if found.resolution == "hours":
        return []
    metrics, targets = {None, *query.stored()}, query.sources()
    holes = sources.store.damaged(query.start_ms - query.lead_ms, query.end_ms)
    mine = [one for one in holes if one.metric in metrics and (targets is None or one.target in targets)]
    return [
        {"target": one.target, "metric": one.metric, "from": one.start_ms, "to": one.end_ms, "reason": one.reason}
        for one in sorted(mine, key=lambda one: (one.start_ms, one.target, one.metric or "", one.reason))
    ]


def _lines(asked: Asked, query: Query, found: Answer) -> list[dict[str, Any]]:
    if asked.stats == "only":
        shown: list[dict[str, Any]] = [{"labels": dict(line.labels)} for line in found.lines]
    else:
        shown = [_line(line, query) for line in found.lines]
    for line, told in zip(shown, found.stats, strict=False):
        line["stats"] = _stats(told)
    return shown


def _stats(told: Stats) -> dict[str, Any]:
    values = {"min": told.minimum, "mean": told.mean, "max": told.maximum, "last": told.last}
    relations = {"relation": told.relation, "last_relation": told.last_relation}
    known = {name: word for name, word in relations.items() if word is not None}
    return {name: number(value) for name, value in values.items()} | known


def _window_ms(query: Query, found: Answer) -> int:
    """Window of each value. Percentiles of hours are of all that a bin observed."""
    whole = found.resolution == "hours" and query.metric.kind is Kind.HISTOGRAM
    return found.step_ms if whole else query.window_ms


def _line(line: Line, query: Query) -> dict[str, Any]:
    base: dict[str, Any] = {"labels": dict(line.labels), "t": numbers(line.t_ms)}
    if line.relation is not None and line.count is not None:
        base |= {"relation": list(line.relation), "count": numbers(line.count)}
    if line.values is not None:
        return base | {"v": numbers(line.values)}
    reduced = {"min": line.minimum, "max": line.maximum}
    if query.metric.kind is not Kind.STATE:  # there is nothing between two states
        reduced["mean"] = line.mean
    if query.fold is Fold.LAST:
        reduced["last"] = line.last
    return base | {name: numbers(values) for name, values in reduced.items() if values is not None}
