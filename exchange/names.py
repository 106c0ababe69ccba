"""What a file of an export is called: metric, range and resolution."""

from __future__ import annotations

from datetime import UTC, datetime

from exchange.extract import Export
from exchange.table import Layout, name

LENGTHS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"), (1, "ms"))


def file_name(export: Export, ending: str) -> str:
    """Like gpu_power_watts_20261130T050000Z_20261130T070000Z_10s.csv; "_and_3_more" after the first of several."""
    names = [name(query) for query in export.queries]
    what = names[0] if len(names) == 1 else f"{names[0]}_and_{len(names) - 1}_more"
    parts = [what, *map(_instant, (export.start_ms, export.end_ms)), resolution(export)]
    return "_".join(parts) + ("_long" if export.layout is Layout.LONG else "") + f".{ending}"


def resolution(export: Export) -> str:
    """One of raw, 600points, or a width like 10s."""
    if export.points is not None:
        return f"{export.points}points"
    if export.width_ms is None:
        return "raw"
    return next(f"{export.width_ms // one}{unit}" for one, unit in LENGTHS if export.width_ms % one == 0)


def _instant(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms // 1000, UTC).strftime("%Y%m%dT%H%M%SZ")
