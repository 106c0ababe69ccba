"""Small worlds to store: series, rows and commits with known numbers."""

from __future__ import annotations

from collections.abc import Sequence

from storage.records import Batch, Row
from storage.store import Store
from telemetry.model import Series

NOW = 1_796_000_400_000
SECOND = 1000


def series(target: str, *metrics: str) -> tuple[Series, ...]:
    """Series without labels."""
    return tuple(Series(target, metric) for metric in metrics)


def write(store: Store, target: str, metrics: Sequence[str], samples: dict[int, Sequence[float]]) -> int:
    """Commit rows (second after NOW → values; arrival 40 ms later), all at once; number of the layout."""
    layout = store.layout(target, series(target, *metrics))
    rows = [Row(NOW + at * SECOND, target, NOW + at * SECOND + 40, layout, values) for at, values in samples.items()]
    store.commit(Batch(rows=rows), NOW)
    return layout


def scribe_values(tick: int, target: int) -> list[float]:
    """What the process that is killed writes: values that only this tick and target have."""
    return [tick + target / 10.0, float(tick * 1000 + target), -float(target)]
