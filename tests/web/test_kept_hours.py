"""What the web process keeps of sealed hours is never older than what the store holds."""

from __future__ import annotations

from storage.records import Batch, Row
from telemetry.model import Series
from telemetry.summary import HOUR_MS, hour_of
from tests.web.conftest import MakeWeb, MakeWorld, make_web, make_world
from tests.web.world import T0, tick

__all__ = ["make_web", "make_world"]
FIRST = (hour_of(T0) + HOUR_MS - T0) // 1000
"""Second of the first whole hour."""
POWER = Series("spark-01", "gpu_power_watts", (("gpu", "0"),))


def test_late_rows_sealing_anew_and_forgetting(make_world: MakeWorld, make_web: MakeWeb) -> None:
    """Four hours of a node with a reading every two minutes, 50 W; then one of 90 W that came late."""
    world = make_world(nodes=1, engines=False)
    for second in range(FIRST, FIRST + 4 * 3600, 120):
        world.run(second, second)
    store, start = world.writer, tick(FIRST)
    for target, hour in store.due(start + 9 * HOUR_MS):
        store.seal(target, hour, start + 9 * HOUR_MS)
    web = make_web(world)
    web.step()
    kept, path = (
        web.process.sources.kept,
        f"series?metric=gpu_power_watts&start={start}&end={start + 4 * HOUR_MS - 1}&step=10m",
    )

    def largest() -> float:
        (line,) = web.get(path)["series"]
        return max(value for value in line["max"] if value is not None)

    assert [largest(), largest()] == [50.0, 50.0]
    before = dict(kept.states(start, start + 4 * HOUR_MS - 1, None))
    assert list(before) == [start + hour * HOUR_MS for hour in range(4)]
    assert kept.nbytes > 0
    late = start + HOUR_MS + 61_000
    row = Row(late, "spark-01", late, store.layout("spark-01", (POWER,)), [90.0])
    store.commit(Batch(rows=[row]), start + 9 * HOUR_MS)
    assert start + HOUR_MS not in kept.states(start, start + 4 * HOUR_MS - 1, None)
    assert largest() == 90.0
    for hour in (1, 2):
        store.seal("spark-01", start + hour * HOUR_MS, start + 9 * HOUR_MS)
    after = kept.states(start, start + 4 * HOUR_MS - 1, None)
    assert [hour for hour in before if after[hour] != before[hour]] == [start + HOUR_MS]
    assert [largest(), largest()] == [90.0, 90.0]
    store.forget(start + 2 * HOUR_MS)
    gone = kept.states(start, start + 4 * HOUR_MS - 1, None)
    assert [gone[hour] != after[hour] for hour in before] == [True, True, False, False]
    assert kept.states(start, start + HOUR_MS, ["nobody"])[start] != after[start]
    said = web.get(path, 400)["error"]
    assert said.startswith("Samples before 2026-11-30T03:00Z are given up, and only their hours")
    (told,) = web.get(path.replace("step=10m", "step=1h"))["series"]
    assert told["max"] == [50.0, 90.0, 50.0, 50.0]
    (left,) = web.get(path.replace(f"start={start}", f"start={start + 2 * HOUR_MS}"))["series"]
    assert left["max"] == [50.0] * 12
