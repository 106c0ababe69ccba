"""Files of published results: those that come with the product, and one of the user's own."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path

from runs.references import Reference, reference

SHIPPED = Path(__file__).with_name("references.toml")
TABLE = "reference"
MOST = 200


class ReferencesError(ValueError):
    """A file of references cannot be used; the text names file, row and key."""


def read(path: Path) -> tuple[Reference, ...]:
    """The references of one file, in its order."""
    try:
        rows = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ReferencesError(f"{path} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise ReferencesError(f"{path} is no TOML: {error}") from error
    found = rows.get(TABLE)
    if set(rows) != {TABLE} or not isinstance(found, list) or not 0 < len(found) <= MOST:
        raise ReferencesError(f"{path} must hold [[{TABLE}]] tables, at most {MOST}, and nothing else")
    return tuple(_row(path, number, row) for number, row in enumerate(found, 1))


def _row(path: Path, number: int, row: object) -> Reference:
    try:
        return reference(row if isinstance(row, dict) else {})
    except ValueError as error:
        raise ReferencesError(f"{path}, reference {number}: {error}") from error


def references(own: Path | None = None) -> tuple[Reference, ...]:
    """Those that come with the product, then the user's own; one of the same name takes the product's place."""
    further: Sequence[Reference] = () if own is None else read(own)
    names = {one.name for one in further}
    return (*(one for one in read(SHIPPED) if one.name not in names), *further)
