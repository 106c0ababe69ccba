"""The checker finds a right store right, and each kind of wrong number wrong. Stores are written by hand here."""

from __future__ import annotations

import json
import random
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from simulator.pages import agent_page, engine_page
from simulator.truth import TruthLog
from tests.simulator.stage import CLOCKS, EPOCH_S, world

ROOT = Path(__file__).parent.parent.parent
UNTIL = 230
LABELS = 'engine="0",model_name="moonshotai/Kimi-K3"'
ENGINE = {
    f"vllm:generation_tokens_total{{{LABELS}}}": ("generation_tokens_total", {}),
    f"vllm:prompt_tokens_total{{{LABELS}}}": ("prompt_tokens_total", {}),
    f'vllm:prompt_tokens_by_source_total{{{LABELS},source="local_compute"}}': ("prompt_tokens_computed_total", {}),
    f"vllm:prompt_tokens_cached_total{{{LABELS}}}": ("prompt_tokens_cached_total", {}),
    f"vllm:spec_decode_num_drafts_total{{{LABELS}}}": ("speculative_drafts_total", {}),
    f"vllm:spec_decode_num_accepted_tokens_total{{{LABELS}}}": ("speculative_accepted_tokens_total", {}),
}
HISTOGRAMS = {
    "vllm:time_to_first_token_seconds_bucket": "time_to_first_token_seconds_bucket",
    "vllm:inter_token_latency_seconds_bucket": "inter_token_latency_seconds_bucket",
    "vllm:e2e_request_latency_seconds_bucket": "e2e_latency_seconds_bucket",
    "vllm:request_time_per_output_token_seconds_bucket": "time_per_output_token_seconds_bucket",
}
NODE = ("rdma_transmit", "rdma_receive", "netdev_transmit", "netdev_receive", "gpu_energy_joules_total")
Samples = dict[tuple[str, str, str], list[tuple[int, int, float]]]
"""(target, metric, labels) → (tick, at_ms, value)."""


def labels_of(line: str) -> dict[str, str]:
    inside = line.partition("{")[2].rstrip("}")
    return {name: value.strip('"') for name, _, value in (pair.partition("=") for pair in inside.split(",") if pair)}


def numbers(text: str) -> dict[str, float]:
    """Lines of a page that are known to be plain: series → value."""
    lines = (line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    return {series: float(value) for series, value in lines}


def wanted(line: str) -> tuple[str, dict[str, str]] | None:
    """Metric and labels under which a line of the engine's page is stored."""
    labels = labels_of(line)
    if line in ENGINE:
        return ENGINE[line]
    if line.startswith("vllm:request_success_total{"):
        return "requests_finished_total", {"outcome": labels["finished_reason"]}
    metric = HISTOGRAMS.get(line.partition("{")[0])
    return (metric, {"le": labels["le"]}) if metric else None


class Scraped:
    """What a collector would have stored of a world, at a rate of one sample a second, each a little late."""

    def __init__(self, folder: Path, *faults: str) -> None:
        self.samples: Samples = {}
        self.episodes: list[tuple[int, int]] = []
        looked = world(*faults, nodes=2, until=-1.0)
        about = {
            "epoch_s": EPOCH_S,
            "speed": 1.0,
            "names": list(looked.names),
            "booted": [round(CLOCKS.wall_s(float(at)), 6) for at in looked.cluster.booted],
        }
        log = TruthLog(folder, about)
        looked.on_second = log.second
        late = random.Random(3)
        for second in range(3, UNTIL - 3):
            looked.advance(second + late.uniform(0.0, 0.05))
            for number, name in enumerate(looked.names):
                self._node(second, looked.now, name, numbers(agent_page.render(looked, number, CLOCKS)))
            looked.advance(looked.now + late.uniform(0.0, 0.2))
            if looked.engine.life.value == "serving":
                self._engine(second, looked.now, numbers(engine_page.render(looked, CLOCKS)))
        looked.advance(UNTIL)
        log.close()
        for line in log.after(3):
            self.episodes += [(self._ms(one["first_token"] + 0.5), one["computed"]) for one in line["episodes"]]
        self.unwrap()

    def _ms(self, instant: float) -> int:
        return round((EPOCH_S + instant) * 1000)

    def _keep(self, second: int, at: float, target: str, metric: str, labels: dict[str, str], value: float) -> None:
        key = target, metric, json.dumps(labels, sort_keys=True)
        self.samples.setdefault(key, []).append((self._ms(second), self._ms(at), value))

    def _engine(self, second: int, at: float, page: dict[str, float]) -> None:
        for line, value in page.items():
            stored = wanted(line)
            if stored:
                self._keep(second, at, "head", stored[0], stored[1], value)

    def _node(self, second: int, at: float, name: str, page: dict[str, float]) -> None:
        for line, value in page.items():
            metric = line.partition("{")[0].removeprefix("tachograph_")
            if metric.startswith(NODE) or metric == "agent_monotonic_seconds":
                self._keep(second, at, name, metric, labels_of(line), value)

    def unwrap(self) -> None:
        """Counters from 0 on, never falling, as the store has them."""
        for (_, metric, _), rows in self.samples.items():
            if metric != "agent_monotonic_seconds":
                offset, before = -rows[0][2], rows[0][2]
                for at, (tick, at_ms, value) in enumerate(rows):
                    offset += before if value < before else 0.0
                    before = value
                    rows[at] = (tick, at_ms, value + offset)

    def change(self, metric: str, function: Callable[[int, float], float], target: str | None = None) -> None:
        """Spoil the samples of a metric: (position, value) → value."""
        for (of, name, _), rows in self.samples.items():
            if name == metric and target in (None, of):
                rows[:] = [(tick, at_ms, function(at, value)) for at, (tick, at_ms, value) in enumerate(rows)]

    def drop(self, metric: str) -> None:
        """Forget a metric."""
        self.samples = {key: rows for key, rows in self.samples.items() if key[1] != metric}

    def write(self, path: Path) -> Path:
        """The store as a file, one layout per target."""
        database = sqlite3.connect(path)
        database.executescript(
            "CREATE TABLE series (id INTEGER PRIMARY KEY, target TEXT, metric TEXT, labels TEXT);"
            "CREATE TABLE layout (id INTEGER PRIMARY KEY, target TEXT, series_ids TEXT);"
            "CREATE TABLE hot (tick INTEGER, target TEXT, at_ms INTEGER, layout INTEGER, data TEXT);"
            "CREATE TABLE episode (end_ms INTEGER, tokens INTEGER);"
        )
        keys = list(self.samples)
        database.executemany("INSERT INTO series VALUES (?, ?, ?, ?)", [(at, *key) for at, key in enumerate(keys)])
        for layout, target in enumerate(sorted({key[0] for key in keys})):
            ids = [at for at, key in enumerate(keys) if key[0] == target]
            database.execute("INSERT INTO layout VALUES (?, ?, ?)", (layout, target, json.dumps(ids)))
            times = {tick: at_ms for at in ids for tick, at_ms, _ in self.samples[keys[at]]}
            columns = [{tick: value for tick, _, value in self.samples[keys[at]]} for at in ids]
            for tick, at_ms in times.items():
                data = json.dumps([column.get(tick) for column in columns])
                database.execute("INSERT INTO hot VALUES (?, ?, ?, ?, ?)", (tick, target, at_ms, layout, data))
        database.executemany("INSERT INTO episode VALUES (?, ?)", self.episodes)
        database.commit()
        database.close()
        return path


def judged(store: Path, truth: Path, *more: str) -> tuple[int, list[str]]:
    """Exit status, and what was found bad."""
    command = [sys.executable, str(ROOT / "tests" / "check_truth.py"), str(store), str(truth), *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, [line for line in done.stdout.splitlines() if line.startswith("BAD")]


@pytest.fixture(scope="module")
def truth(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("truth")


@pytest.fixture(scope="module")
def pristine(truth: Path) -> Scraped:
    return Scraped(truth)


@pytest.fixture
def scraped(pristine: Scraped) -> Scraped:
    copy = Scraped.__new__(Scraped)
    copy.samples = {key: list(rows) for key, rows in pristine.samples.items()}
    copy.episodes = list(pristine.episodes)
    return copy


def test_a_right_store_is_found_right(scraped: Scraped, truth: Path, tmp_path: Path) -> None:
    assert judged(scraped.write(tmp_path / "store.db"), truth) == (0, [])


def test_part_of_a_store(scraped: Scraped, truth: Path, tmp_path: Path) -> None:
    store = scraped.write(tmp_path / "store.db")
    window = ("--from", str((EPOCH_S + 100) * 1000), "--to", str((EPOCH_S + 220) * 1000))
    status, bad = judged(store, truth, *window)
    assert (status in (0, 3), bad) == (True, [])


Spoil = Callable[[Scraped], None]
WRONG: tuple[tuple[str, Spoil, str], ...] = (
    (
        "one token too many",
        lambda of: of.change("generation_tokens_total", lambda at, value: value + (at > 200)),
        "generation_tokens_total",
    ),
    (
        "computed prompt tokens lost",
        lambda of: of.change("prompt_tokens_computed_total", lambda _, value: value * 0.999),
        "prompt_tokens_computed_total",
    ),
    (
        "a token a second late",
        lambda of: of.change("generation_tokens_total", lambda at, value: value - 60 if at % 50 == 49 else value),
        "tokens at every sample",
    ),
    (
        "a peak that never was",
        lambda of: of.change("generation_tokens_total", lambda at, value: value + 600 * (at > 120)),
        "peak of 10 s means, tokens/s",
    ),
    (
        "an observation in another bucket",
        lambda of: of.samples.__setitem__(
            ("head", "time_to_first_token_seconds_bucket", '{"le": "10.0"}'),
            [
                (tick, at_ms, value - (at > 100))
                for at, (tick, at_ms, value) in enumerate(
                    of.samples["head", "time_to_first_token_seconds_bucket", '{"le": "10.0"}']
                )
            ],
        ),
        "time_to_first_token_seconds",
    ),
    (
        "bytes counted in lanes instead of words",
        lambda of: of.change("rdma_receive_bytes_total", lambda _, value: value / 2, "spark-02"),
        "rdma_receive_bytes_total",
    ),
    (
        "energy of one sample doubled",
        lambda of: of.change("gpu_energy_joules_total", lambda at, value: value + 200 * (at == 77), "spark-01"),
        "gpu_energy_joules_total",
    ),
    ("a metric that is not there", lambda of: of.drop("speculative_drafts_total"), "speculative_drafts_total"),
    ("a histogram that is not there", lambda of: of.drop("e2e_latency_seconds_bucket"), "e2e_latency_seconds"),
    ("no bytes", lambda of: of.drop("netdev_transmit_bytes_total"), "netdev_transmit_bytes_total"),
    ("an episode lost", lambda of: of.episodes.pop(2), "prefill episodes"),
)


@pytest.mark.parametrize(("spoil", "found"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG])
def test_a_wrong_store_is_found_wrong(scraped: Scraped, truth: Path, tmp_path: Path, spoil: Spoil, found: str) -> None:
    spoil(scraped)
    status, bad = judged(scraped.write(tmp_path / "store.db"), truth)
    assert status == 1
    assert any(found in line for line in bad), bad


def test_restarts_are_no_errors(tmp_path: Path) -> None:
    truth = tmp_path / "truth"
    scraped = Scraped(truth, "engine-restart:100+30", "agent-down@spark-02:60+20")
    assert judged(scraped.write(tmp_path / "store.db"), truth) == (0, [])


def test_too_little_to_judge_is_neither_right_nor_wrong(scraped: Scraped, truth: Path, tmp_path: Path) -> None:
    window = ("--from", str((EPOCH_S + 20) * 1000), "--to", str((EPOCH_S + 24) * 1000))
    assert judged(scraped.write(tmp_path / "store.db"), truth, *window) == (3, [])


def test_nothing_to_compare(scraped: Scraped, truth: Path, tmp_path: Path) -> None:
    assert judged(tmp_path / "none.db", truth) == (2, [])
    assert judged(scraped.write(tmp_path / "store.db"), tmp_path) == (2, [])
