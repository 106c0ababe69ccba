"""Two deployments at once: what their runs' pages say of the energy of the nodes."""

from __future__ import annotations

from dataclasses import replace

from pipeline.digest import digest
from runs.entries import find
from runs.model import Run
from storage.records import Batch
from storage.store import open_store
from tests.storage.worlds import NOW
from tests.web.summary_worlds import MEMBER, NODES, fill


def test_runs_at_once_may_share_their_nodes(tmp_path: object) -> None:
    store = open_store(f"{tmp_path}/store.db", writer=True, now_ms=NOW)
    fill(store, 4)
    low, high = NOW + 1_000_000, NOW + 2_000_000
    mine = Run(1, "mine", "mine", low, high, engines=(MEMBER,))
    others = [
        Run(2, "again", "again", NOW, low + 250_000),
        Run(3, "goes on", "goes on", high - 500_000, None),
        Run(4, "brought", "brought", low, high, by="foreign"),
        Run(5, "mine", "a second one", low, high),
        Run(6, "elsewhere", "elsewhere", low, high, nodes=("spark-9",)),
        Run(7, "here", "here", low, high, nodes=NODES[:1]),
    ]
    store.commit(Batch(runs=[mine, *others]), high)
    words = (
        "may be shared with again, which worked for 25 % of the time: on which nodes nobody said; "
        "may be shared with goes on, which worked for 50 % of the time: on which nodes nobody said; "
        f"shared with here, which worked for 100 % of the time on {NODES[0]}"
    )
    found = find(digest(store, mine, low, high).summary, "energy.energy")
    assert found is not None
    assert found.note.endswith(words)
    alone = find(digest(store, replace(mine, nodes=NODES[1:2]), low, low + 1000 * 1000 - 1).summary, "nodes.took_part")
    assert alone is not None
    assert alone.note.startswith("may be shared with again")
    assert "here" not in alone.note
    store.close()
