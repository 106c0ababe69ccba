"""A day of the demo with all that only looks wrong: nobody is woken. Played by `make test-day`; a quarter of an hour.

The clock runs as fast as the pages can be read, one look in ten seconds, through the collector that a user starts, with
its rules as they are delivered.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.alert_demo import play

HOUR_S, DAY_S, EACH_S = 3_600, 86_400, 600
LOOK_ALIKES = ("long-prefill", "weight-copy@1", "idle-power-cap@1", "engine-stop")
"""When a stop by hand is over the engine loads. Late answers take real seconds: they have a play of their own."""
CABLES = "uncabled@2:0"


def one_after_the_other(until_s: int, every_s: int) -> list[str]:
    """Look-alikes in turn, ten minutes each, over an uncabled node."""
    begins = range(EACH_S, until_s - EACH_S, every_s)
    return [CABLES, *(f"{LOOK_ALIKES[at // every_s % len(LOOK_ALIKES)]}:{at}+{EACH_S}" for at in begins)]


@pytest.mark.live
def test_a_day_with_all_that_only_looks_wrong_raises_nothing(tmp_path: Path) -> None:
    assert play(tmp_path / "store.db", DAY_S, one_after_the_other(DAY_S, HOUR_S), nodes=3, step_s=10) == []
