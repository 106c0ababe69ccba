"""Known: which nodes, engines and deployments a request may name, in a list with commas between them too."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from dashboard.api import parameters
from dashboard.sources import Sources
from telemetry import catalog
from telemetry.model import Scope

SCOPES = {"node": Scope.NODE, "engine": Scope.ENGINE}
METRICS = {kind: frozenset(one.name for one in catalog.METRICS if one.scope is scope) for kind, scope in SCOPES.items()}
"""Metrics by which it is seen that a target is of a kind, where nobody reads it any more."""


def target(kind: str, given: str, sources: Sources) -> str:
    """A name of a node or an engine: one that is read, or of which something was recorded or imported.

    ParameterError with those that there are.
    """
    read = [one.name for one in sources.store.targets() if one.kind == kind]
    if given in read:
        return given
    return parameters.one_of(kind, given, [*read, *sorted(sources.store.recorded(METRICS[kind]) - {*read})])


def listed(given: str, known: Collection[str]) -> Sequence[str]:
    """The names in a list with commas between them; a known name that has commas itself is one.

    >>> listed("a,b,c,d", ["b,c"])
    ['a', 'b,c', 'd']
    """
    pieces, found = given.split(","), []
    longest = max((name.count(",") for name in known), default=0) + 1
    while pieces:
        fits = (size for size in range(min(longest, len(pieces)), 0, -1) if ",".join(pieces[:size]) in known)
        size = next(fits, 1)
        found.append(",".join(pieces[:size]))
        del pieces[:size]
    return found
