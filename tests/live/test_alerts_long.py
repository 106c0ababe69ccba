"""An hour of the demo over HTTP, with what only looks wrong: nobody is woken.

The clock runs as fast as the pages can be read, one look a second, through the collector that a user starts, with its
rules as they are delivered. `a_day.py` plays a day.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.alert_demo import play

HOUR_S = 3_600
CABLES = "uncabled@2:0"


@pytest.mark.live
def test_an_hour_of_the_demo_raises_nothing(tmp_path: Path) -> None:
    assert play(tmp_path / "store.db", HOUR_S, [CABLES, "engine-stop:900+300", "long-prefill:2400+600"]) == []
