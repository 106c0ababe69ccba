"""A page on which all goes on is looked at as a whole: it makes what looking at each line would have made."""

from __future__ import annotations

import pytest

from pipeline.ingest import Ingest, Reading
from pipeline.shape import Shape
from tests.pipeline.source import Source

HEAD = '{engine="0",model_name="m"'
TTFT = "vllm:time_to_first_token_seconds"


def body(tokens: object, running: object = 1, buckets: tuple[int, int, int] = (1, 2, 3), started: float = 50.0) -> str:
    edges = zip(("0.1", "1", "+Inf"), buckets, strict=True)
    lines = [f'{TTFT}_bucket{HEAD},le="{edge}"}} {count}' for edge, count in edges]
    lines += [f"{TTFT}_sum{HEAD}}} {buckets[2] / 2}", f"{TTFT}_count{HEAD}}} {buckets[2]}"]
    lines += [f"vllm:generation_tokens_total{HEAD}}} {tokens}", f"vllm:num_requests_running{HEAD}}} {running}"]
    return "\n".join([*lines, f"process_start_time_seconds {started}", ""])


class Line(Ingest):
    """One that looks at each line of every page."""

    def take(self, *page: object) -> Reading:  # type: ignore[override]
        if self._shape is not None:
            self._shape.steady = False
        return super().take(*page)  # type: ignore[arg-type]


def sources() -> tuple[Source, Source]:
    whole, single = Source(), Source()
    single.ingest = Line("head")
    return whole, single


def told(reading: Reading) -> tuple[object, ...]:
    steps = [(one.series, one.tick, one.offset, one.reason) for one in reading.offsets]
    return reading.values.tobytes(), steps, reading.restarted, reading.nonsense, dict(reading.why)


STORIES: dict[str, list[tuple[str, bool]]] = {
    "goes on": [(body(10), False), (body(20, 2, (1, 2, 4)), True), (body(20), False), (body(25, 0, (5, 6, 9)), True)],
    "gauge outside": [(body(10), False), (body(11, 1e9), False), (body(12, -1), False), (body(13, 1e7), True)],
    "gauge unknown": [(body(10), False), (body(11, "NaN"), True), (body(12, 3), True)],
    "counter unknown": [(body(10), False), (body("NaN"), False), (body(12), True)],
    "falls a little": [(body(100), False), (body(99), False), (body(101), True)],
    "restarts": [(body(100), False), (body(4, started=99.0), False), (body(6, started=99.0), True)],
    "unknown at a restart": [
        (body(100), False),
        (body("NaN", 1, (0, 1, 1), 99.0), False),
        (body(101, 1, (0, 1, 1), 99.0), False),
        (body(103, 1, (0, 1, 1), 99.0), True),
    ],
    "leaps": [(body(100), False), (body(1e9), False), (body(101), False), (body(102), True)],
    "at most": [(body(100), False), (body(100 + 1_000_000), True), (body(100 + 2_000_001), False)],
    "beyond a counter": [(body(2**53 - 8), False), (body(2**53 - 1), True), (body(2**53 + 2), False)],
    "buckets fall": [(body(10), False), (body(11, 1, (3, 2, 3)), False), (body(12, 1, (3, 3, 3)), True)],
}


@pytest.mark.parametrize("story", STORIES)
def test_whole_pages_and_single_lines_say_the_same(story: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, single = sources()
    taken, go_on = [], Shape.go_on
    monkeypatch.setattr(Shape, "go_on", lambda shape, *page: taken.append(shape) or go_on(shape, *page))
    for text, as_whole in STORIES[story]:
        for source in (whole, single):
            source.tick += 1000
        taken.clear()
        assert told(whole.body(text)) == told(single.body(text))
        assert len(taken) == as_whole, text


def test_a_minute_after_a_bare_restart_pages_are_looked_at_as_a_whole_again(monkeypatch: pytest.MonkeyPatch) -> None:
    source, taken, go_on = Source(), [], Shape.go_on
    monkeypatch.setattr(Shape, "go_on", lambda shape, *page: taken.append(source.tick) or go_on(shape, *page))
    line = f"vllm:generation_tokens_total{HEAD}}} "
    totals = {}
    for tick, tokens in ((0, 100), (20_000, 3), (21_000, 5), (59_000, 6), (60_000, 7), (60_001, 8), (61_000, 9)):
        source.tick = tick
        totals[tick] = source.total(source.body(f"{line}{tokens}"))
    assert taken == [60_001, 61_000]
    assert list(totals.values()) == [0.0, 3.0, 5.0, 6.0, 7.0, 8.0, 9.0]
