"""What engines are doing, judged from recorded pages; and what is known of the machines meanwhile."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pytest

from collectors.scrape.text import PageReader
from pipeline.deployments import EngineId
from pipeline.ingest import Ingest
from pipeline.judge import Judge, engine_reading, phase_series, places, surroundings, unwatched
from pipeline.recorded import Prefills
from pipeline.window import Window
from storage.store import open_store
from telemetry import catalog
from telemetry.catalog import engine, gpu, network
from telemetry.model import Metric, Series, part
from telemetry.phases import Judgement, Phase, Surroundings
from tests.pipeline.stage import Stage
from tests.scrape.recordings import pages

KIMI = EngineId("head", "0", "moonshotai/Kimi-K3")


def story(prefix: str) -> dict[int, dict[EngineId, Judgement]]:
    """Judgements by second of a recorded history."""
    reader, ingest, judge = PageReader("head"), Ingest("head"), Judge()
    found = {}
    for name in sorted(
        name for name in pages() if name.startswith(f"vllm-history/{prefix}__t") and name.endswith("prom")
    ):
        second = int(name.split("__t")[1][:3])
        page = reader.read(pages()[name])
        reading = ingest.take(page, second * 1000)
        found[second] = judge.page(
            "head",
            page.layout,
            reading.values,
            second * 1000.0,
            restarted=reading.restarted,
            around=Surroundings(),
        )
    return found


@pytest.fixture(scope="module")
def kimi() -> dict[int, Judgement]:
    return {second: found[KIMI] for second, found in story("vllm_main-2026-08-17_dspark_single").items()}


@pytest.mark.parametrize(
    ("second", "phase"),
    [
        (0, Phase.IDLE),
        (30, Phase.DECODING),
        (40, Phase.DECODING),
        (95, Phase.IDLE),
        (110, Phase.PREFILLING),
        (135, Phase.PREFILLING),
        (145, Phase.DECODING),
        (183, Phase.DECODING),
    ],
)
def test_phases_of_a_recorded_history(kimi: dict[int, Judgement], second: int, phase: Phase) -> None:
    assert kimi[second].phase is phase


def test_a_prefill_of_sixty_thousand_tokens_ran_at_fifteen_hundred_a_second(kimi: dict[int, Judgement]) -> None:
    assert kimi[110].prefilling_since_ms == kimi[135].prefilling_since_ms == 95_000
    assert kimi[110].finished is kimi[135].finished is None
    finished = kimi[145].finished
    assert finished is not None
    assert finished.tokens == 60_000
    assert finished.seconds == pytest.approx(40, rel=0.01)
    assert finished.tokens / finished.seconds == pytest.approx(1500, rel=0.01)
    assert finished.start_ms == pytest.approx(105_000, abs=300)


def test_the_total_of_that_prefill(kimi: dict[int, Judgement]) -> None:
    prefills = Prefills()
    assert kimi[145].finished is not None
    prefills.add("Kimi-K3", kimi[145].finished)
    tokens, seconds = prefills.totals["Kimi-K3"]
    assert tokens / seconds == pytest.approx(1500, rel=0.01)


def test_tokens_after_a_restart_are_those_since_it(kimi: dict[int, Judgement]) -> None:
    finished = kimi[183].finished
    assert finished is not None
    assert finished.tokens == 7300
    assert finished.seconds is not None
    assert finished.seconds <= 183 - 145


def test_two_engines_of_one_page_are_judged_apart() -> None:
    found = story("vllm_v0.11.0_dp2")
    assert {one.engine for one in found[40]} == {"0", "1"}
    for second, phase in ((0, Phase.IDLE), (30, Phase.DECODING), (40, Phase.DECODING), (95, Phase.IDLE)):
        assert {judgement.phase for judgement in found[second].values()} == {phase}
    for judgement in found[40].values():
        assert judgement.finished is not None
        assert judgement.finished.tokens is None, "0.11 does not count computed or cached tokens"
        assert judgement.finished.seconds is not None


# One page's values ----------


def test_readings_are_none_where_not_offered_or_not_a_number() -> None:
    where = {engine.GENERATION_TOKENS.name: 0, engine.REQUESTS_RUNNING.name: 1, engine.SLEEP_STATE.name: 2}
    reading = engine_reading(where, np.array([7.0, np.nan, 0.0]), 5.0, restarted=True)
    assert (reading.generation, reading.running, reading.prompt, reading.asleep) == (7.0, None, None, False)
    assert (reading.at_ms, reading.restarted) == (5.0, True)
    assert engine_reading(where, np.array([7.0, 1.0, 2.0]), 5.0, restarted=False).asleep
    assert not engine_reading(where, np.array([7.0, 1.0, np.nan]), 5.0, restarted=False).asleep
    assert not engine_reading({}, np.zeros(0), 5.0, restarted=False).asleep


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("generation", engine.GENERATION_TOKENS),
        ("prompt", engine.PROMPT_TOKENS),
        ("computed", engine.PROMPT_TOKENS_COMPUTED),
        ("cached", engine.PROMPT_TOKENS_CACHED),
        ("ttft_sum", part(engine.TTFT, "sum")),
        ("prompt_seconds", engine.PREFILL_SECONDS_BUSY),
        ("running", engine.REQUESTS_RUNNING),
    ],
)
def test_each_reading_comes_from_its_metric(name: str, metric: Metric) -> None:
    assert getattr(engine_reading({metric.name: 0}, np.array([3.0]), 0.0, restarted=False), name) == 3.0


def test_places_are_found_by_engine() -> None:
    page = PageReader("head").read(
        b'vllm:num_requests_running{engine="0",model_name="m"} 1\n'
        b'vllm:num_preemptions_total{engine="0",model_name="m"} 1\n'
        b'vllm:num_requests_running{engine="1",model_name="m"} 2\n'
    )
    found = places(page.layout)
    assert set(found) == {EngineId("head", "0", "m"), EngineId("head", "1", "m")}
    assert [page.raw[where["requests_running"]] for _, where in sorted(found.items())] == [1.0, 2.0]
    assert all(set(where) == {"requests_running"} for where in found.values())


def named(count: int) -> bytes:
    line = 'vllm:num_requests_running{{engine="{}",model_name="m{}"}} 1\n'
    lines = [line.format(number % 2, number) for number in range(count)]
    more = 'vllm:num_requests_running{engine="9",model_name="m0"} 1\nvllm:num_preemptions_total{model_name="x"} 1\n'
    return "".join([*lines, more]).encode()


@pytest.mark.parametrize(("count", "followed", "left"), [(3, 3, 0), (32, 32, 0), (33, 32, 1), (300, 32, 268)])
def test_a_page_that_makes_models_up_does_not_cost_all_others(count: int, followed: int, left: int) -> None:
    layout = PageReader("head").read(named(count)).layout
    found = places(layout)
    assert {one.model for one in found} == {f"m{number}" for number in range(followed)}
    assert EngineId("head", "9", "m0") in found, "another engine of a model that is followed"
    assert unwatched(layout) == left


def test_that_models_are_not_followed_is_told_once(stage: Stage) -> None:
    async def story(stage: Stage) -> None:
        stage.status, stage.body = 200, named(40)
        for second in range(1, 4):
            await stage.tick(second)
        assert len(stage.sampler.hub.deployments()) == 32

    stage.play(story)
    with closing(open_store(str(stage.path), writer=False, now_ms=0)) as store:
        told = [one.text for one in store.events(0, 2**60) if one.kind == "engine"]
    assert told == ["its page names 40 models; what the first 32 do is followed"]


def test_a_silent_target_is_not_known_to_do_anything() -> None:
    judge = Judge()
    page = PageReader("head").read(b'vllm:num_requests_running{engine="0",model_name="m"} 0')
    for target in ("head", "other"):
        layout = PageReader(target).read(b'vllm:num_requests_running{engine="0",model_name="m"} 0').layout
        judge.page(target, layout, page.values(), 0.0, restarted=False, around=Surroundings())
    judge.silent("head")
    assert [one.target for one in judge.latest] == ["other"]


def test_the_series_of_a_phase() -> None:
    assert phase_series(KIMI) == Series("head", "engine_phase", (("engine", "0"), ("model", "moonshotai/Kimi-K3")))
    assert catalog.stored("engine_phase") is engine.ENGINE_PHASE


# The machines meanwhile ----------

TICKS = range(0, 31_000, 1000)
FABRIC = (network.RDMA_TRANSMIT, network.RDMA_RECEIVE, network.NETDEV_TRANSMIT, network.NETDEV_RECEIVE)


def machines(watts: dict[str, float | None], bytes_per_second: dict[str, float], until: int = 30_000) -> Window:
    window = Window(120_000)
    for node, level in watts.items():
        flow = [Series(node, metric.name, (("cage", "p0"),)) for metric in FABRIC]
        series = (Series(node, gpu.GPU_POWER.name, (("gpu", "0"),)), *(flow if node in bytes_per_second else ()))
        for tick in TICKS:
            if tick > until and node == "n2":
                continue
            gained = bytes_per_second.get(node, 0.0) * tick / 1000
            values = [np.nan if level is None else level, gained, gained, 0.0, 0.0]
            window.add(node, tick, float(tick), series, np.array(values[: len(series)]))
    return window


@pytest.mark.parametrize(
    ("watts", "flow", "nodes", "expected"),
    [
        ({"n1": 12.0, "n2": 29.9}, {"n1": 0.0, "n2": 999_999.0}, 2, Surroundings(True, True)),
        ({"n1": 12.0, "n2": 30.0}, {"n1": 0.0, "n2": 1e6}, 2, Surroundings(False, False)),
        ({"n1": 12.0, "n2": None}, {"n1": 0.0}, 2, Surroundings(None, None)),
        ({"n1": 12.0}, {"n1": 0.0}, 2, Surroundings(None, None)),
        ({"n1": 12.0}, {"n1": 0.0}, 1, Surroundings(True, None)),
        ({}, {}, 0, Surroundings(None, None)),
        ({"n1": 80.0, "n2": 90.0}, {"n1": 1e9, "n2": 1e9}, 2, Surroundings(False, False)),
    ],
)
def test_surroundings(
    watts: dict[str, float | None], flow: dict[str, float], nodes: int, expected: Surroundings
) -> None:
    assert surroundings(machines(watts, flow), 30_000, [f"n{place + 1}" for place in range(nodes)]) == expected


def test_a_node_that_fell_silent_is_not_known_to_be_cold() -> None:
    window = machines({"n1": 12.0, "n2": 12.0}, {"n1": 0.0, "n2": 0.0}, until=20_000)
    assert surroundings(window, 30_000, ["n1", "n2"]) == Surroundings(None, None)


def test_nodes_that_serve_something_else_say_nothing() -> None:
    window = machines({"n1": 12.0, "n2": 12.0, "n3": 90.0}, {"n1": 0.0, "n2": 0.0, "n3": 1e9})
    assert surroundings(window, 30_000, ["n1", "n2"]) == Surroundings(True, True)
    assert surroundings(window, 30_000, ["n1", "n2", "n3"]) == Surroundings(False, False)
