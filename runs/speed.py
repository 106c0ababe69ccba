"""Speed of a stretch: decode and prefill, by the rules of measurement."""

from __future__ import annotations

import math

from runs.coverage import no_window, touched
from runs.entries import Entry, Number, Section
from runs.rates import PEAK_S, PEAK_SHORT_S, STEP, Median
from runs.reader import Episode
from runs.stretch import Stretch
from telemetry.catalog import engine
from telemetry.model import Unit, part

TPS = Unit.TOKENS_PER_SECOND
WHOLE_TOKEN = 0.5
"""Less is nothing but rounding."""
WORTH_SAYING = 0.01
"""A doubt of less than this share changes hardly a digit of what is shown."""

DECODE_MEAN = Number(
    "decode_mean",
    "Decode, mean while decoding",
    TPS,
    "Output tokens ∕ seconds of the active windows, each from the last reading before its first increase to that "
    "of its last. Pauses of more than 10 s without a token are left out; so is what came in a gap or over a restart, "
    "with its time.",
)
DECODE_WALL = Number(
    "decode_wall",
    "Decode, mean over wall time",
    TPS,
    "Output tokens ∕ seconds of the whole stretch, pauses included.",
)
DECODE_MEDIAN = Number(
    "decode_median",
    "Decode, median",
    TPS,
    "Median of the 10 s means at the readings of the active windows; those that touch a gap or a restart are left out.",
)
DECODE_PEAK = Number(
    "decode_peak",
    "Decode, peak of 10 s",
    TPS,
    "Largest mean of 10 s that lies in the stretch and touches neither a gap nor a restart.",
)
BELOW_MEAN = "below the mean: a peak is of a whole window of the stretch without a gap, the mean leaves pauses out"
DECODE_PEAK_SHORT = Number(
    "decode_peak_1s",
    "Decode, peak of 1 s",
    TPS,
    "Largest mean of 1 s; a step of speculative decoding adds many tokens at once. A benchmark's peak counts stream "
    "chunks in fixed bins and cannot be compared.",
)
STREAM_MEAN = Number(
    "stream_mean",
    "Decode per request",
    TPS,
    "Output tokens ∕ requests running over time, those in prefill included; both of the time in which both are known.",
)
LEFT_OUT = Number(
    "decode_left_out",
    "Tokens of gaps",
    Unit.TOKENS,
    "Output tokens that came in gaps or over restarts: nobody knows how fast, so they are in no mean while decoding.",
)
DECODING = Number(
    "decoding_seconds",
    "Time decoding",
    Unit.SECONDS,
    "Length of the active windows together, as far as they lie in the stretch, without gaps.",
)
LENGTH = Number("seconds", "Length", Unit.SECONDS, "From the start to the end of the stretch.")
PREFILL_THROUGHPUT = Number(
    "prefill_throughput",
    "Prefill throughput",
    TPS,
    "Computed prompt tokens of the prefills that ended in the stretch ∕ their lengths added up: of one at a time.",
)
PREFILL_SPEED = Number(
    "prefill_speed",
    "Prefill speed",
    TPS,
    "Computed prompt tokens ∕ time to first token: the speed of one request, its queue included.",
)
EPISODES = Number("prefill_episodes", "Prefills", Unit.COUNT, "Prefill episodes that ended in the stretch.")
PREFILL_SECONDS = Number(
    "prefill_seconds",
    "Time in prefills",
    Unit.SECONDS,
    "Time of the stretch in which one of its prefills of known length ran; several at once count once.",
)
PREFILL_TOKENS = Number(
    "prefill_tokens", "Prefilled tokens", Unit.TOKENS, "Computed prompt tokens of the prefills of known size together."
)
LARGEST_TOKENS = Number("largest_prefill_tokens", "Largest prefill", Unit.TOKENS, "Its computed prompt tokens.")
LARGEST_SECONDS = Number("largest_prefill_seconds", "Largest prefill, length", Unit.SECONDS, "How long it took.")
LARGEST_SPEED = Number(
    "largest_prefill_speed", "Largest prefill, speed", TPS, "Its computed prompt tokens ∕ its length."
)


def section(stretch: Stretch) -> Section:
    """Decode and prefill."""
    return Section("speed", "Speed", (*_decode(stretch), *_prefill(stretch)))


def _decode(stretch: Stretch) -> list[Entry]:
    tokens, seconds = stretch.output_tokens, stretch.decoding_s
    gaps = touched(stretch.engine_coverage, "the engine")
    silent = _silent(tokens, gaps)
    wall = stretch.subject.seconds
    mean = stretch.engines.decoding.mean if seconds > 0 else None
    hidden = _hidden(stretch)
    return [
        DECODE_MEAN.entry(
            mean,
            note="; ".join(filter(None, (_doubt(stretch), hidden))) if seconds > 0 else silent,
        ),
        DECODE_WALL.entry(tokens / wall if wall > 0 else None, note=gaps if tokens == tokens else silent),
        *_of_windows(stretch, silent, gaps, mean),
        _stream(stretch),
        LEFT_OUT.entry(_left_out(stretch) if tokens == tokens else None, note=hidden, why=silent),
        DECODING.entry(
            seconds - stretch.engines.decoding.early_s if tokens == tokens else None,
            count=len(stretch.windows),
            note=hidden if seconds > 0 else "",
            why=silent,
        ),
        LENGTH.entry(wall),
    ]


def _doubt(stretch: Stretch) -> str:
    """What one interval at each window's edge may change."""
    share = stretch.engines.interval_s * len(stretch.windows) / stretch.decoding_s
    if share < WORTH_SAYING:
        return ""
    return f"± {100 * share:.2g} %: one interval of each window" if share < 1 else "± all of it: one interval each"


def _silent(tokens: float, gaps: str) -> str:
    """Why there is no mean."""
    if tokens > 0:
        told = f" ({gaps})" if gaps else ""
        return f"output tokens came in gaps or over restarts alone{told}, so nobody knows how fast"
    return "no output token came" if tokens == 0 else "the engine does not count output tokens"


def _left_out(stretch: Stretch) -> float:
    left = stretch.output_tokens - stretch.engines.decoding.tokens
    return left if left >= WHOLE_TOKEN else 0.0


def _hidden(stretch: Stretch) -> str:
    """Gaps and restarts that the mean leaves out: inside the active windows, or with tokens in them."""
    gaps = [gap for one in stretch.engine_coverage for gap in one.gaps]
    inside = any(start < one.end_ms and end > one.start_ms for start, end in gaps for one in stretch.windows)
    if not inside and not _left_out(stretch):
        return ""
    restarts = sum(len(one.restarts) for one in stretch.engine_coverage)
    counted = f"{restarts} restart{'s' * (restarts != 1)} of the engine" if restarts else ""
    told = " and ".join(filter(None, (touched(stretch.engine_coverage, "the engine"), counted)))
    return f"{told}; tokens of that time are left out" if told else "tokens of steps that are not known are left out"


def _of_windows(stretch: Stretch, silent: str, gaps: str, mean: float | None) -> list[Entry]:
    found, interval = stretch.engines.rates, stretch.engines.interval_s
    some = stretch.output_tokens > 0
    why = no_window(PEAK_S, stretch.subject.seconds) if some else silent
    slow = f"not measurable: the engine is read every {interval:g} s"
    shortly = no_window(PEAK_SHORT_S, stretch.subject.seconds) if interval <= PEAK_SHORT_S else slow
    return [
        _median(found.median, gaps, why),
        _peak(DECODE_PEAK, found.peak, gaps, why, mean),
        _peak(DECODE_PEAK_SHORT, found.peak_short, gaps, shortly if some else silent, mean),
    ]


def _median(median: Median, gaps: str, why: str) -> Entry:
    rough = "" if median.exact else f"± {50 * STEP:g} %: so many means are counted in steps"
    note = "; ".join(filter(None, (gaps, rough))) if median.count else ""
    return DECODE_MEDIAN.entry(median.value, count=median.count, note=note, why=why)


def _peak(number: Number, peak: float, gaps: str, why: str, mean: float | None) -> Entry:
    """The largest of whole windows. A mean counts also what came in gaps and at the edges, so it may be above that."""
    if math.isnan(peak):
        return number.entry(None, why=why)
    below = BELOW_MEAN if mean is not None and mean > peak else ""
    return number.entry(peak, note="; ".join(filter(None, (gaps, below))))


def _stream(stretch: Stretch) -> Entry:
    found = stretch.engines.streams
    gaps = touched(stretch.engine_coverage, "the engine")
    return STREAM_MEAN.entry(
        found.mean,
        note=f"{gaps}; tokens of that time are left out" if gaps and found.mean == found.mean else "",
        why="an engine does not tell how many requests run" if found.telling.untold else "no request was seen running",
    )


def _prefill(stretch: Stretch) -> list[Entry]:
    ended = [one for one in stretch.episodes if stretch.start_ms < one.end_ms <= stretch.end_ms]
    whole = [one for one in ended if one.tokens is not None and one.seconds]
    tokens, seconds = (sum(float(getattr(one, name) or 0) for one in whole) for name in ("tokens", "seconds"))
    left = len(ended) - len(whole)
    note = f"{left} of {len(ended)} prefills are left out: size or length not known" if left else ""
    why = "no prefill ended in the stretch" if not ended else "size or length of the prefills is not known"
    computed, waited = stretch.both(engine.PROMPT_TOKENS_COMPUTED, part(engine.TTFT, "sum"))
    _, answered = stretch.both(engine.PROMPT_TOKENS_COMPUTED, part(engine.TTFT, "count"))
    together = _together(answered, len(ended)) if whole else ""
    faster, shorter = (
        "; ".join(filter(None, (note, f"{together}, so it may have been {word}" if together else "")))
        for word in ("faster", "less")
    )
    return [
        PREFILL_THROUGHPUT.entry(tokens / seconds if seconds > 0 else None, count=len(whole), note=faster, why=why),
        PREFILL_SPEED.entry(
            computed / waited if waited > 0 else None, count=answered, why="the engine does not tell both of its terms"
        ),
        EPISODES.entry(len(ended)),
        PREFILL_SECONDS.entry(
            _covered(whole, stretch.start_ms) if whole or not ended else None, count=len(whole), note=shorter, why=why
        ),
        PREFILL_TOKENS.entry(tokens if whole or not ended else None, count=len(whole), note=note, why=why),
        *_largest_of(whole, why),
    ]


def _together(prompts: float, readings: int) -> str:
    """What makes prefills too long: within a reading nobody sees how far its prompts ran side by side."""
    if not prompts > readings * (1 + WORTH_SAYING):
        return ""
    return f"{prompts:,.0f} prompts ended in {readings:,} readings, and those of one reading count one after the other"


def _covered(whole: list[Episode], start_ms: int) -> float:
    """Seconds since the start in which at least one prefill ran."""
    covered, until = 0.0, float(start_ms)
    spans = sorted((one.end_ms - 1000.0 * (one.seconds or 0.0), float(one.end_ms)) for one in whole)
    for start, end in spans:
        covered += max(end - max(start, until), 0.0)
        until = max(until, end)
    return covered / 1000.0


def _largest_of(whole: list[Episode], why: str) -> list[Entry]:
    largest = max(whole, key=lambda one: one.tokens or 0, default=None)
    if largest is None or largest.tokens is None or not largest.seconds:
        return [number.entry(None, why=why) for number in (LARGEST_TOKENS, LARGEST_SECONDS, LARGEST_SPEED)]
    return [
        LARGEST_TOKENS.entry(largest.tokens),
        LARGEST_SECONDS.entry(largest.seconds),
        LARGEST_SPEED.entry(largest.tokens / largest.seconds),
    ]
