"""The recorded benchmark at its own pace: a collector process asks a server that shows each page for its second."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import numpy as np
import pytest

from pipeline.tail import Tail
from storage.store import open_store
from telemetry.catalog import cluster, engine
from telemetry.counters import active_windows
from tests.pipeline.killed import collector
from tests.pipeline.replay import recording
from tests.pipeline.served import serving


class Recording:
    """Serves the page of the moment. The first request falls into the middle of the first second."""

    def __init__(self) -> None:
        self._began_s: float | None = None
        self.shown = 0

    def answer(self, where: str) -> tuple[int, bytes]:
        if where != "/metrics":
            return 404, b""
        if self._began_s is None:
            self._began_s = time.monotonic() - 0.5
        self.shown = min(int(time.monotonic() - self._began_s), len(recording()) - 1)
        return 200, recording()[self.shown].body


@pytest.mark.live
def test_at_its_own_pace(tmp_path: Path) -> None:
    played = Recording()
    with serving(played.answer) as url:
        process = collector(tmp_path / "store.db", url, interval_s=1.0, kind="ENGINE")
        deadline = time.monotonic() + len(recording()) + 30
        while played.shown < len(recording()) - 1:
            assert time.monotonic() < deadline, "the collector does not ask"
            time.sleep(0.5)
        time.sleep(2)
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    store = open_store(str(tmp_path / "store.db"), writer=False, now_ms=0)
    tail = Tail(store)
    tail.follow()
    tokens = tail.frame([engine.GENERATION_TOKENS.name])
    ((start, end, gained),) = active_windows(tokens.at_ms[0], tokens.values[0], pause_ms=10_000)
    assert gained == 26_176
    assert gained / (end - start) * 1000 == pytest.approx(198.3, rel=0.01), "± one interval of 132 s"
    # Pages of whole seconds say nothing of a single second once a scrape is late; ten of them do.
    assert np.nanmax(tail.frame([cluster.RECORDED_DECODE.name]).values) == pytest.approx(262, rel=0.05)
    store.close()
