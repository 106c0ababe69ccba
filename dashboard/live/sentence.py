"""The sentence on top of every page: is it healthy? Worst first; never green while something is lost."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from dashboard.live import current
from dashboard.live.cells import LEVELS, worst
from dashboard.live.concerns import concerns
from dashboard.live.prefill import quiet_text, running, running_text
from dashboard.live.problems import STALLED, Problem, lost
from dashboard.live.reasons import STATE_WORDS, listed
from dashboard.live.scene import Scene
from pipeline.deployments import short_model
from storage.records import TargetRow
from telemetry import formatting
from telemetry.catalog import engine
from telemetry.model import Unit

SILENT_AFTER_MS = 5_000
"""A collector that has committed nothing for this long is silent."""
LONG_PREFILL_S = 10.0
WEDGED = "engine_wedged"
"""The rule that says for how long an engine has stalled."""

PHASE_WORDS = {
    "idle": ("is idle", "idle"),
    "loading": ("is loading", "idle"),
    "restarting": ("is restarting", "idle"),
    "asleep": ("is asleep", "idle"),
    "stalled": ("has stalled", "critical"),
    "stopped": ("has stopped", "idle"),
    "unknown": ("answers, but does not say what it does", "unknown"),
}
SEVERAL = {
    "is": "are",
    "has": "have",
    "does": "do",
    "it": "they",
    "answers": "answer",
    "answers,": "answer,",
    "refuses": "refuse",
    "wants": "want",
    "offers": "offer",
}
"""Words of one engine, and of several."""
SERVING = ("decoding", "prefilling")
BUSIEST = (*SERVING, "stalled", "loading", "asleep", "idle", "stopped", "unknown")
"""Phases in the order in which one of them stands for several engines."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """level, text, and the node or engine that is worst (None when nothing is wrong)."""

    level: str
    text: str
    worst: str | None = None

    def as_json(self) -> dict[str, str | None]:
        """As it stands in messages and in /api/v1/status."""
        return {"level": self.level, "text": self.text, "worst": self.worst}


EMPTY = Sentence("empty", "Nothing is watched yet")


def phases(scene: Scene) -> dict[str, str]:
    """Phase of every engine endpoint that answers: the busiest of its engines."""
    part = scene.engines.select(lambda series: series.metric == engine.ENGINE_PHASE.name)
    found: dict[str, str] = {}
    for series, value in zip(part.series, current.newest(part, scene.tick), strict=True):
        name = formatting.state(float(value), engine.PHASES)
        if name in BUSIEST:
            found[series.target] = min(found.get(series.target, name), name, key=BUSIEST.index)
    return found


def engine_state(scene: Scene, target: TargetRow) -> str:
    """What an engine endpoint does: its phase, or why it has none (a state of its target)."""
    if lost(target, scene):
        return target.state if target.state != "ok" else "unreachable"
    if target.state != "ok":
        return target.state
    return phases(scene).get(target.name, "unknown")


def engine_name(scene: Scene, target: TargetRow) -> str:
    """What people call an engine: its model, else its target's name."""
    labels = [series.label("model") for series in scene.engines.series if series.target == target.name]
    model = scene.models.get(target.name) or next((label for label in labels if label), "")
    return short_model(model) if model else target.name


def _head(scene: Scene) -> tuple[str, str]:
    """First half of the sentence, with its level."""
    nodes = len(scene.node_targets)
    here = sum(scene.alive(target) for target in scene.node_targets)
    counted = f"{here} of {nodes} nodes" if here < nodes else _nodes(nodes)
    if not scene.engine_targets:
        return f"Watching {counted}, no engine", "ok"
    # A node whose agent does not answer may serve all the same.
    where = f" ({counted} answer)" if here < nodes else f" on {counted}" if nodes else ""
    states = {target.name: engine_state(scene, target) for target in scene.engine_targets}
    serving = [target for target in scene.engine_targets if states[target.name] in SERVING]
    if serving:
        return f"Serving {listed(_unique(scene, serving))}{where}", "ok"
    first = Counter(states.values()).most_common(1)[0][0]
    names = _unique(scene, [target for target in scene.engine_targets if states[target.name] == first])
    words, grade = PHASE_WORDS.get(first, (STATE_WORDS.get(first, first), "unknown"))
    return f"{listed(names)} {words if len(names) == 1 else _of_several(words)}{where}", grade


def _of_several(words: str) -> str:
    return " ".join(SEVERAL.get(word, word) for word in words.split(" "))


def _nodes(count: int) -> str:
    return f"{count} node" if count == 1 else f"{count} nodes"


def _unique(scene: Scene, targets: list[TargetRow]) -> list[str]:
    return list(dict.fromkeys(engine_name(scene, target) for target in targets))


def silent_collector(scene: Scene) -> Sentence | None:
    """The collector commits nothing any more, so nothing on the page is of now."""
    age_ms = scene.now_ms - scene.seen_ms
    if age_ms <= SILENT_AFTER_MS:
        return None
    return Sentence("critical", f"Collector silent for {formatting.text(age_ms / 1000, Unit.SECONDS)}")


def sentence(scene: Scene, problems: list[Problem] | None = None) -> Sentence:
    """The state of everything in one sentence. problems: `concerns`, where they are known already."""
    if not scene.targets:
        return EMPTY
    silent = silent_collector(scene)
    if silent is not None:
        return silent
    found = sorted(concerns(scene) if problems is None else problems, key=lambda problem: -LEVELS.index(problem.level))
    head, grade = _head(scene)
    extra = _extra(scene)
    if not found:
        return Sentence(worst([grade, "idle"]) if scene.silenced else grade, head + _silenced(scene.silenced) + extra)
    level = worst([grade, found[0].level])
    if found[0].text == STALLED and grade == "critical":
        text = _stalled(head, found, scene)
    elif found[0].level == "critical":
        text = f"{_told(found, scene)} · {head}"
    else:
        text = f"{head}; {_going_on(_told(found, scene))}"
    return Sentence(level, text + extra, found[0].target or None)


def _stalled(head: str, found: list[Problem], scene: Scene) -> str:
    """Head and problem say the same of engines that have stalled: once, with since when an alert says so."""
    alike = {problem.target for problem in found if problem.text == STALLED}
    instants = [one.began_ms for one in scene.alerts if one.rule == WEDGED and one.owner in alike]
    lasted = formatting.about((scene.tick - min(instants)) / 1000) if instants else ""
    rest = len({problem.target for problem in found} - alike)
    told = f"{head}: {STALLED.partition(': ')[2]}" + (f", for {lasted}" if lasted else "")
    return told + (f" · {rest} more" if rest else "")


def _going_on(words: str) -> str:
    """Words as they go on inside a sentence: an article is small there, the name of a node or a model as it is."""
    return words[0].lower() + words[1:] if words.startswith("The ") else words


def _told(found: list[Problem], scene: Scene) -> str:
    """The gravest problem, with all that share it, and how many more there are."""
    shared = [problem for problem in found if problem.text == found[0].text]
    alike = list(dict.fromkeys(problem.target for problem in shared))
    return _words(shared, alike, scene.tick) + _more(found, set(alike), scene)


def _more(found: list[Problem], alike: set[str], scene: Scene) -> str:
    """How many others there are: alerts each for itself, else the nodes and engines, which are said to be alerts where
    one fires of each."""
    rest = [problem for problem in found if problem.text != found[0].text]
    others = {problem.target for problem in found} - alike
    if rest and all(problem.since_ms is not None for problem in rest):
        return _alerts(len(rest))
    if others and others <= {alert.owner for alert in scene.alerts}:
        return _alerts(len(others))
    return f" · {len(others)} more" if others else ""


def _silenced(count: int) -> str:
    """That something fires of which nobody wants to hear: not green, and no alarm."""
    return "" if not count else "; 1 alert fires, silenced" if count == 1 else f"; {count} alerts fire, all silenced"


def _alerts(count: int) -> str:
    return " · 1 more alert" if count == 1 else f" · {count} more alerts"


def _words(shared: list[Problem], alike: list[str], tick: int) -> str:
    """One problem of some targets; of an alert also for how long."""
    text, instants = shared[0].text, [problem.since_ms for problem in shared if problem.since_ms is not None]
    if not instants:
        return f"{listed(alike)} {text if len(alike) == 1 else plural(text)}"
    lasted = formatting.about((tick - min(instants)) / 1000)
    names = f"{listed(alike)}: " if any(alike) else ""
    return f"{names}{text}" + (f", for {lasted}" if lasted else "")


PLURALS = {"is": "are", "has": "have", "does": "do", "was": "were", "cannot": "cannot"}


def plural(text: str) -> str:
    """A predicate of several: "does not answer" becomes "do not answer", "answers, but" becomes "answer, but"."""
    first, space, rest = text.partition(" ")
    verb = first.rstrip(",")
    return PLURALS.get(verb, verb.removesuffix("s")) + first[len(verb) :] + space + rest


def _extra(scene: Scene) -> str:
    now = running(scene)
    if now is None or now.seconds < LONG_PREFILL_S:
        return ""
    # Only a KV cache that fills shows that the silence is a prefill.
    return f" · {quiet_text(now) if now.tokens is None else running_text(scene)}"
