"""Which GPUs the nodes have, by the names their drivers give them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from storage.store import Store

EVERY_MS = 10_000


@dataclass
class Gpus:
    """Names of each node's GPUs, read anew every ten seconds: a node may tell of them late."""

    read_ms: int | None = None
    known: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def at(self, store: Store, now_ms: int) -> Mapping[str, tuple[str, ...]]:
        """Names by node, in the order of the driver; a node that has told of none is left out."""
        if self.read_ms is None or not 0 <= now_ms - self.read_ms < EVERY_MS:
            self.read_ms, self.known = now_ms, _read(store, now_ms)
        return self.known


def _read(store: Store, now_ms: int) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    index = 0
    while facts := store.facts(at_ms=now_ms, name=f"gpu.{index}.name"):
        for fact in facts:
            found[fact.target] = (*found.get(fact.target, ()), fact.value)
        index += 1
    return found
