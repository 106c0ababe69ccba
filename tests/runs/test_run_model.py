"""Records of runs."""

from __future__ import annotations

import pytest

from runs.model import Measured, Run


@pytest.mark.parametrize(
    ("end", "trim", "now", "window"),
    [
        (900, (None, None), 5000, (100, 900)),
        (None, (None, None), 500, (100, 500)),
        (900, (200, 800), 5000, (200, 800)),
        (900, (50, 1000), 5000, (100, 900)),
        (None, (200, None), 500, (200, 500)),
        (None, (None, 300), 500, (100, 300)),
        (900, (850, 800), 5000, (850, 850)),
        (None, (None, None), 50, (100, 100)),
    ],
)
def test_window(end: int | None, trim: tuple[int | None, int | None], now: int, window: tuple[int, int]) -> None:
    run = Run(1, "Kimi-K3", "one", 100, end, trim_start_ms=trim[0], trim_end_ms=trim[1])
    assert run.window(now) == window
    assert run.live is (end is None)


@pytest.mark.parametrize(
    ("end", "trim", "stretch", "trimmed"),
    [
        (900, (None, None), (100, 900), False),
        (900, (200, None), (200, 900), True),
        (900, (None, 800), (100, 800), True),
        (900, (50, 1000), (100, 900), False),
        (900, (850, 800), (850, 850), True),
        (None, (None, None), (100, None), False),
        (None, (200, None), (200, None), True),
    ],
)
def test_the_stretch_that_is_told(
    end: int | None, trim: tuple[int | None, int | None], stretch: tuple[int, int | None], trimmed: bool
) -> None:
    run = Run(1, "Kimi-K3", "one", 100, end, trim_start_ms=trim[0], trim_end_ms=trim[1])
    assert (run.stretch, run.trimmed) == (stretch, trimmed)


def test_how_it_was_measured() -> None:
    told = Measured(concurrency="16", tool="vllm bench serve")
    assert told.to_json() == {"concurrency": "16", "tool": "vllm bench serve"}
    assert Measured.from_json({**told.to_json(), "of another version": 1}) == told
    assert Measured.from_json({}) == Measured()
