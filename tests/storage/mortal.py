"""A process that works on copies of a store, and on the k-th copy dies before its k-th statement.

mortal.py BASE DIRECTORY ACTION: prints the number of copies, DIRECTORY/1.db and so on; in the last the action ended.
"""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

from sqlalchemy import event

from storage.store import Store, open_store
from telemetry.summary import HOUR_MS
from tests.storage.worlds import NOW

LATER = NOW + 10 * HOUR_MS
DIED = 7


ACTIONS: Mapping[str, Callable[[Store], object]] = {
    "seal": lambda store: store.seal("a", NOW, LATER),
    "prune": lambda store: store.prune(LATER),
    "forget": lambda store: store.forget(NOW + HOUR_MS),
    "drop_summaries": lambda store: store.drop_summaries(NOW + HOUR_MS),
}


def act(path: Path, action: str, last: int) -> None:
    """The action, up to the statement of this number; a commit is one, too."""
    store = open_store(str(path), writer=True, now_ms=NOW)
    left = last

    def count(*_: object) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os._exit(DIED)

    for name in ("before_cursor_execute", "commit"):
        event.listen(store._database._engine, name, count)
    ACTIONS[action](store)
    os._exit(0)


def main(base: Path, directory: Path, action: str) -> None:
    """Copy after copy, until one is not died on."""
    warnings.simplefilter("ignore", DeprecationWarning)  # forks of a process with threads: the library's, which wait
    number, status = 0, DIED
    while status == DIED:
        number += 1
        path = directory / f"{number}.db"
        shutil.copy(base, path)
        child = os.fork()
        if not child:
            act(path, action, number)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == 0, status
    print(number)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
