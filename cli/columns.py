"""Rows as aligned text."""

from __future__ import annotations

from collections.abc import Sequence

from cli.words import clean


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Lines with columns as wide as their longest cell, without signs that do something; "" of no rows."""
    if not rows:
        return ""
    rows = [[clean(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
