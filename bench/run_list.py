"""What the list of runs costs: `python -m bench.run_list [DIRECTORY]`.

Ten thousand runs with key numbers and courses in a store, as the web process reads and encodes them for the page:
all of them (at first, and once a minute), and those of the last hour (every five seconds). Prints the best of five,
on the clock and of CPU.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

from bench.summary import tell
from dashboard.api.lists import encoded
from dashboard.run_list import table
from dashboard.run_numbers import RunNumbers
from dashboard.sources import Sources
from pipeline.digest import HEADLINE, HEADLINES, SPARK, SPARK_POINTS
from pipeline.tail import Tail
from runs.model import Run
from runs.subject import Member
from storage.records import Batch
from storage.store import Store, open_store

RUNS, EVERY_MS, LENGTH_MS = 10_000, 3_600_000, 1_800_000
START_MS = 1_796_000_400_000
MODELS = ("moonshotai/Kimi-K3", "meta-llama/Llama-3.1-405B", "openai/gpt-oss-120b")
BUDGET_MS = 100


def fill(store: Store) -> int:
    """Runs of three deployments; the instant at which the last one ended."""
    dice = random.Random(1)
    for low in range(0, RUNS, 500):
        found = [_run(number, dice) for number in range(low + 1, low + 501)]
        store.commit(Batch(runs=found), START_MS)
        for run in found:
            line = [round(dice.uniform(10, 40), 1) for _ in range(SPARK_POINTS)]
            store.settle_run(run, {HEADLINE: {path: dice.uniform(1, 1000) for path in HEADLINES}, SPARK: line})
    return START_MS + RUNS * EVERY_MS + LENGTH_MS


def _run(number: int, dice: random.Random) -> Run:
    model, start = dice.choice(MODELS), START_MS + number * EVERY_MS
    deployment = model.split("/")[1]
    tags, labels = dice.choice(((), ("fp8",), ("fp8", "night"))), {"drafts": str(dice.randrange(8))}
    engines, name = (Member("head", "0", model),), f"{deployment} #{number}"
    kept = {"engines": engines, "tags": tags, "labels": labels, "baseline": number in (1, 2, 3)}
    return Run(number, deployment, name, start, start + LENGTH_MS, "tokens flowed", "by itself", model=model, **kept)


def main() -> None:
    """Build, ask, and leave nothing behind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", nargs="?", help="where the file is made (default: the temporary directory)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        store = open_store(str(Path(directory) / "bench.db"), writer=True, now_ms=START_MS)
        now = fill(store)
        sources = Sources(store, Tail(store), lambda: now)
        numbers = RunNumbers(sources)
        for label, since in ((f"{RUNS} runs", None), ("those of the last hour", now - 3_600_000)):

            def listed(since: int | None = since) -> bytes:
                return encoded(table(sources, numbers, since))

            tell(f"{label}, {len(listed()) / 1e6:.2f} MB", listed, BUDGET_MS)
        store.close()


if __name__ == "__main__":
    sys.exit(main())
