"""Tokens and requests of a stretch: exact counts from the engines' counters, whatever gaps there were."""

from __future__ import annotations

import math

from runs.coverage import touched
from runs.entries import Entry, Number, Section
from runs.stretch import Stretch
from telemetry.catalog import engine
from telemetry.model import Metric, Unit

NOT_OFFERED = "not offered by this engine"
OUTPUT = Number("output", "Output tokens", Unit.TOKENS, engine.GENERATION_TOKENS.help)
PROMPT = Number("prompt", "Prompt tokens", Unit.TOKENS, engine.PROMPT_TOKENS.help)
COMPUTED = Number("computed", "Prompt tokens computed", Unit.TOKENS, engine.PROMPT_TOKENS_COMPUTED.help)
CACHED = Number("cached", "Prompt tokens cached", Unit.TOKENS, engine.PROMPT_TOKENS_CACHED.help)
TRANSFERRED = Number("transferred", "Prompt tokens transferred", Unit.TOKENS, engine.PROMPT_TOKENS_TRANSFERRED.help)
FINISHED = Number(
    "finished", "Requests finished", Unit.REQUESTS, "Requests that finished in the stretch, all outcomes."
)
BY_OUTCOME = Number("finished_as", "Requests finished as", Unit.REQUESTS, engine.REQUESTS_FINISHED.help)
REJECTED = Number("rejected", "Requests rejected", Unit.REQUESTS, engine.HTTP_REJECTIONS.help)
PREEMPTIONS = Number("preemptions", "Preemptions", Unit.COUNT, engine.PREEMPTIONS.help)
PREFIX_HITS = Number(
    "prefix_hits",
    "Prefix hits",
    Unit.RATIO,
    "Cached ∕ all prompt tokens; where an engine does not count cached ones, hits ∕ queries of its prefix cache.",
)
COUNTED = (
    (OUTPUT, engine.GENERATION_TOKENS),
    (PROMPT, engine.PROMPT_TOKENS),
    (CACHED, engine.PROMPT_TOKENS_CACHED),
    (TRANSFERRED, engine.PROMPT_TOKENS_TRANSFERRED),
)


def section(stretch: Stretch) -> Section:
    """Tokens by kind, requests by outcome, prefix hits, preemptions."""
    tokens = [_count(stretch, number, metric) for number, metric in COUNTED]
    outcomes = stretch.gained_by(engine.REQUESTS_FINISHED, "outcome")
    return Section(
        "requests",
        "Tokens and requests",
        (
            *tokens[:2],
            _computed(stretch),
            *tokens[2:],
            _count(stretch, FINISHED, engine.REQUESTS_FINISHED),
            *(BY_OUTCOME.entry(value, of=outcome, note=_note(stretch)) for outcome, value in _in_order(outcomes)),
            _count(stretch, REJECTED, engine.HTTP_REJECTIONS),
            _count(stretch, PREEMPTIONS, engine.PREEMPTIONS),
            _prefix_hits(stretch),
        ),
    )


def _note(stretch: Stretch) -> str:
    """What came in gaps is in a total; what a process counted after its last reading is not."""
    restarts = sum(len(one.restarts) for one in stretch.engine_coverage)
    if not restarts:
        return ""
    word = "a restart" if restarts == 1 else f"{restarts} restarts"
    return f"{word}: what was counted after the last reading before it is not in it"


def _count(stretch: Stretch, number: Number, metric: Metric) -> Entry:
    gained = stretch.gained(metric)
    return number.entry(gained, note="" if math.isnan(gained) else _note(stretch), why=NOT_OFFERED)


def _in_order(outcomes: dict[str, float]) -> list[tuple[str, float]]:
    known = {name: place for place, name in enumerate(engine.OUTCOMES)}
    return sorted(outcomes.items(), key=lambda pair: (known.get(pair[0], len(known)), pair[0]))


def _computed(stretch: Stretch) -> Entry:
    """As counted, else all less the cached ones."""
    counted = stretch.gained(engine.PROMPT_TOKENS_COMPUTED)
    if not math.isnan(counted):
        return COMPUTED.entry(counted, note=_note(stretch))
    rest = stretch.gained(engine.PROMPT_TOKENS) - stretch.gained(engine.PROMPT_TOKENS_CACHED)
    if math.isnan(rest):
        return COMPUTED.entry(None, why=NOT_OFFERED)
    return COMPUTED.entry(max(rest, 0.0), note="prompt less cached tokens")


def _prefix_hits(stretch: Stretch) -> Entry:
    sides = (
        (engine.PROMPT_TOKENS_CACHED, engine.PROMPT_TOKENS, ""),
        (engine.PREFIX_CACHE_HITS, engine.PREFIX_CACHE_QUERIES, "hits ∕ queries of the prefix cache"),
    )
    for hits, all_of, how in sides:
        above, below = stretch.both(hits, all_of)
        if below > 0 and above == above:
            note = "; ".join(filter(None, (how, touched(stretch.engine_coverage, "the engine"))))
            return PREFIX_HITS.entry(above / below, count=below, note=note)
    return PREFIX_HITS.entry(None, why="no prompt token was counted, or cached ones are not")
