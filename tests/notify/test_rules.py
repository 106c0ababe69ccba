"""Rules that are asked for every second: what people change holds at once, and nothing is made anew for nothing."""

from __future__ import annotations

from pathlib import Path

from alerts.record import RuleChange
from pipeline.notify.rules import Rules
from storage.records import Batch
from storage.store import Store, open_store
from tests.notify.stage import START_MS


def changed(store: Store, number: int, title: str | None) -> None:
    change = RuleChange(number, "gpu_hot", None if title is None else {"title": title}, START_MS)
    store.commit(Batch(rule_changes=[change]), START_MS)


def test_what_somebody_changes_holds_at_once(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}", writer=True, now_ms=START_MS)
    rules = Rules({"nvme_hot": {"title": "The disk boils"}}, store)
    before = rules()
    assert (before["gpu_hot"].title, before["nvme_hot"].title) == ("GPU hot", "The disk boils")
    assert rules() is before
    changed(store, 1, "Hotter than we like")
    assert rules()["gpu_hot"].title == "Hotter than we like"
    assert rules()["nvme_hot"].title == "The disk boils"
    changed(store, 2, None)
    assert rules()["gpu_hot"].title == "GPU hot"
    store.close()
