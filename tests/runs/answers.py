"""Reading summaries in tests."""

from __future__ import annotations

from collections.abc import Sequence

from runs import history
from runs.detect import SILENCE_MS
from runs.entries import Entry, Section, find
from storage.store import Store
from tests.runs import recorded


def entry(sections: Sequence[Section], path: str, of: str = "") -> Entry:
    """The entry "section.key", which must be there."""
    found = find(sections, path, of)
    assert found is not None, f"{path} {of}"
    return found


def value(sections: Sequence[Section], path: str, of: str = "") -> float:
    """Its value, which must be known."""
    found = entry(sections, path, of)
    assert found.value is not None, f"{path} {of}: {found.note}"
    return found.value


def found(store: Store, silence_ms: int = SILENCE_MS) -> list[history.Found]:
    """Runs in a store of one recorded engine."""
    return history.over(store.frame(history.METRICS, [recorded.TARGET], 0, 2**62), silence_ms=silence_ms)
