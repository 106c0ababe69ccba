"""The sentence: healthy, busy, idle, loading, broken; worst first, and never green while something is lost."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from telemetry.catalog import engine, gpu, memory, network
from telemetry.model import Metric, Series
from telemetry.states import REMOVED
from tests.web.conftest import MakeWeb, MakeWorld
from tests.web.world import ENGINE, GIB, HEAD, NAN, World, constant, rising, tick

Change = Callable[[World], None]


def told(make_world: MakeWorld, make_web: MakeWeb, change: Change, last: int = 60, **shape: object) -> dict[str, str]:
    world = make_world(**shape)
    change(world)
    world.run(0, last)
    return dict(make_web(world).step()["sentence"])


PHASES = [
    (1, "idle", "Kimi-K3 is idle on 4 nodes"),
    (2, "ok", "Serving Kimi-K3 on 4 nodes"),
    (3, "ok", "Serving Kimi-K3 on 4 nodes"),
    (4, "idle", "Kimi-K3 is loading on 4 nodes"),
    (5, "idle", "Kimi-K3 is asleep on 4 nodes"),
    (6, "critical", "Kimi-K3 has stalled on 4 nodes: requests run, but no token moves"),
    (7, "idle", "Kimi-K3 has stopped on 4 nodes"),
    (0, "unknown", "Kimi-K3 answers, but does not say what it does on 4 nodes"),
]


@pytest.mark.parametrize(("code", "level", "text"), PHASES)
def test_phases(make_world: MakeWorld, make_web: MakeWeb, code: int, level: str, text: str) -> None:
    sentence = told(make_world, make_web, lambda world: world.set(HEAD, engine.ENGINE_PHASE, constant(code)))
    assert (sentence["level"], sentence["text"]) == (level, text)


SEVERAL = [
    (1, "Kimi-K3 and Small are idle on 4 nodes"),
    (6, "Kimi-K3 and Small have stalled on 4 nodes: requests run, but no token moves"),
    (0, "Kimi-K3 and Small answer, but do not say what they do on 4 nodes"),
]


@pytest.mark.parametrize(("code", "text"), SEVERAL)
def test_several_engines_do_what_one_does(make_world: MakeWorld, make_web: MakeWeb, code: int, text: str) -> None:
    def change(world: World) -> None:
        world.second("second", "org/Small")
        for name in (HEAD, "second"):
            world.set(name, engine.ENGINE_PHASE, constant(code))

    assert told(make_world, make_web, change)["text"] == text


@pytest.mark.parametrize(
    ("state", "text"),
    [
        ("stopped", "Kimi-K3 and Small have stopped on 4 nodes"),
        ("restarting", "Kimi-K3 and Small are restarting on 4 nodes"),
        ("loading", "Kimi-K3 and Small are loading on 4 nodes"),
    ],
)
def test_several_engines_that_do_not_answer(make_world: MakeWorld, make_web: MakeWeb, state: str, text: str) -> None:
    def change(world: World) -> None:
        world.second("second", "org/Small")
        for name in (HEAD, "second"):
            world.away(name, 41, 60)
            world.silence(name, 41, state, "")

    assert told(make_world, make_web, change)["text"].startswith(text)


def test_a_node_that_the_settings_name_no_more_is_not_missed(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    world.silence("spark-03", 20, REMOVED, "the settings do not name it any more")
    world.run(0, 200)
    web = make_web(world)
    message = web.step()
    assert message["sentence"] == {"level": "ok", "text": "Serving Kimi-K3 on 3 nodes", "worst": None}
    assert [node["name"] for node in message["nodes"]] == ["spark-01", "spark-02", "spark-04"]
    assert [node["name"] for node in web.get("status")["nodes"]] == ["spark-01", "spark-02", "spark-04"]
    assert web.process.nodes() == ["spark-01", "spark-02", "spark-04"]
    own = web.client.get("/metrics").get_data(as_text=True)
    assert 'target="spark-02"' in own
    assert 'target="spark-03"' not in own
    assert web.get("series?metric=gpu_power_watts&node=spark-03")["series"], "its history can be asked for"


def test_one_node(make_world: MakeWorld, make_web: MakeWeb) -> None:
    assert told(make_world, make_web, lambda _world: None, nodes=1)["text"] == "Serving Kimi-K3 on 1 node"


def test_model_comes_from_facts_where_the_page_names_none(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    bare = (("engine", "0"), ("model", ""))
    world.series[HEAD] = {Series(HEAD, one.metric, bare): value for one, value in world.series[HEAD].items()}
    world.fact(HEAD, "served_models", "org/Other-7B,alias")
    world.run(0, 60)
    assert make_web(world).step()["sentence"]["text"] == "Serving Other-7B on 4 nodes"


def gpu_values(**values: float) -> Change:
    """spark-02 reports other values from the tick 30 on."""
    metrics = {
        "use": gpu.GPU_UTILIZATION,
        "clock": gpu.GPU_SM_CLOCK,
        "ceiling": gpu.GPU_SM_CLOCK_MAX,
        "power": gpu.GPU_POWER,
        "heat": gpu.GPU_TEMPERATURE,
        "bits": gpu.GPU_CLOCK_EVENT_REASONS,
        "reading": gpu.GPU_READING_STATE,
        "headroom": memory.MEMORY_HEADROOM,
        "cma": memory.CMA_DEFECT,
    }

    def change(world: World) -> None:
        for name, value in values.items():
            before = next(v for s, v in world.series["spark-02"].items() if s.metric == metrics[name].name)
            world.set("spark-02", metrics[name], lambda n, b=before, v=value: b(n) if n < 30 else v)  # type: ignore[misc]

    return change


def warned(text: str) -> tuple[str, str, str | None]:
    """The sentence about a warning of spark-02."""
    return "warning", f"Serving Kimi-K3 on 4 nodes; spark-02 {text}", "spark-02"


def alarmed(text: str) -> tuple[str, str, str | None]:
    """The sentence about something critical on spark-02."""
    return "critical", f"spark-02 {text} · Serving Kimi-K3 on 4 nodes", "spark-02"


FAULT = {"use": 0.96, "clock": 8.5e8, "power": 18.0, "heat": 55.0}
OK = ("ok", "Serving Kimi-K3 on 4 nodes", None)
NODE_CASES: list[tuple[str, dict[str, float], tuple[str, str, str | None]]] = [
    ("software thermal", {"bits": 0x20}, warned("is throttling (software thermal)")),
    ("hardware thermal", {"bits": 0x48}, alarmed("is throttling (hardware thermal)")),
    ("power brake beats thermal", {"bits": 0xA0}, alarmed("is throttling (power brake)")),
    ("idle power cap is harmless", {"bits": 0x5}, OK),
    ("too little power", FAULT, alarmed("gets too little power (850 MHz, 18 W while busy)")),
    ("not busy", FAULT | {"use": 0.79}, OK),
    ("fast enough", FAULT | {"clock": 1.4e9}, OK),
    ("enough power", FAULT | {"power": 30.0}, OK),
    ("hot", FAULT | {"heat": 75.0}, OK),
    ("clock locked on purpose", FAULT | {"ceiling": 1.4e9}, OK),
    ("heat explains it", FAULT | {"bits": 0x20}, warned("is throttling (software thermal)")),
    ("headroom low", {"headroom": 7.5 * GIB}, warned("has 7.5 GiB of memory left")),
    ("headroom very low", {"headroom": 4 * GIB}, alarmed("has 4.0 GiB of memory left")),
    ("headroom at ease", {"headroom": 8.1 * GIB}, OK),
    ("warm", {"heat": 85.0}, warned("has a GPU at 85.0 °C")),
    ("very hot", {"heat": 90.0}, alarmed("has a GPU at 90.0 °C")),
    ("GPU lost", {"reading": 2}, alarmed("cannot read its GPU (lost)")),
    ("GPU not supported", {"reading": 1}, OK),
    ("kernel defect", {"cma": 1}, warned("loses memory to a kernel defect (CMA)")),
]  # fmt: skip


@pytest.mark.parametrize(
    ("values", "expected"), [case[1:] for case in NODE_CASES], ids=[case[0] for case in NODE_CASES]
)
def test_nodes(
    make_world: MakeWorld, make_web: MakeWeb, values: dict[str, float], expected: tuple[str, str, str | None]
) -> None:
    sentence = told(make_world, make_web, gpu_values(**values))
    assert (sentence["level"], sentence["text"], sentence["worst"]) == expected


@pytest.mark.parametrize(("since", "level"), [(50, "critical"), (51, "ok")])
def test_throttling_must_last_ten_seconds(make_world: MakeWorld, make_web: MakeWeb, since: int, level: str) -> None:
    def change(world: World) -> None:
        world.set("spark-02", gpu.GPU_CLOCK_EVENT_REASONS, lambda number: 0x40 if number >= since else 0)

    assert told(make_world, make_web, change)["level"] == level


@pytest.mark.parametrize(("first", "second"), [(0x20, 0x100), (0x100, 0x20), (0x20, NAN), (NAN, 0x20)])
def test_a_bit_of_one_of_two_gpus_is_seen(
    make_world: MakeWorld, make_web: MakeWeb, first: float, second: float
) -> None:
    """The other GPU's mask is the larger number, and has not the bit."""

    def change(world: World) -> None:
        world.set("spark-02", gpu.GPU_CLOCK_EVENT_REASONS, constant(first))
        other = Series("spark-02", gpu.GPU_CLOCK_EVENT_REASONS.name, (("gpu", "1"),))
        world.series["spark-02"][other] = constant(second)

    assert told(make_world, make_web, change)["text"].endswith("; spark-02 is throttling (software thermal)")


@pytest.mark.parametrize(
    ("metric", "usual", "now_and_then"),
    [(memory.MEMORY_HEADROOM, 9 * GIB, 3 * GIB), (gpu.GPU_TEMPERATURE, 84.0, 91.0)],
)
def test_limits_must_be_passed_all_the_time(
    make_world: MakeWorld, make_web: MakeWeb, metric: Metric, usual: float, now_and_then: float
) -> None:
    def change(world: World) -> None:
        world.set("spark-02", metric, lambda number: now_and_then if number % 3 else usual)

    assert told(make_world, make_web, change)["level"] == "ok"


def test_too_few_samples_say_nothing(make_world: MakeWorld, make_web: MakeWeb) -> None:
    def change(world: World) -> None:
        world.set("spark-02", gpu.GPU_CLOCK_EVENT_REASONS, lambda number: 0x40 if number >= 59 else NAN)

    assert told(make_world, make_web, change)["level"] == "ok"


def test_a_lost_node_is_never_green(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    world.run(0, 57)
    world.silence("spark-03", 58)
    web = make_web(world)
    world.run(58, 59)
    assert web.step()["sentence"]["level"] == "ok", "one late answer is no loss"
    world.run(60, 60)
    message = web.step()
    assert message["sentence"] == {
        "level": "critical",
        "text": "spark-03 refuses the connection (no agent listens) · Serving Kimi-K3 (3 of 4 nodes answer)",
        "worst": "spark-03",
    }
    assert message["title"] == "⚠ spark-03 refuses the connection (no agent listens) · Tachograph"
    node = message["nodes"][2]
    assert (node["state"], node["level"]) == ("refused", "critical")
    assert {cell[0] for cell in node["cells"]} == {"–"}
    assert {cell[3] for cell in node["cells"]} == {"spark-03 refuses the connection (no agent listens)"}
    assert message["map"]["power"][2] is None


def test_a_node_whose_samples_stop_is_silent_whatever_its_row_says(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    world.silent["spark-03"] = 50
    world.run(0, 60)
    message = make_web(world).step()
    assert message["sentence"]["text"] == "spark-03 has been silent for 11.0 s · Serving Kimi-K3 (3 of 4 nodes answer)"
    assert message["sentence"]["level"] == "critical"


@pytest.mark.parametrize(
    ("state", "level", "text"),
    [
        ("stopped", "idle", "Serving Kimi-K3 (3 of 4 nodes answer); spark-03 has stopped"),
        ("not yet scraped", "unknown", "Serving Kimi-K3 (3 of 4 nodes answer); spark-03 has not been read yet"),
        ("timed out", "critical", "spark-03 does not answer in time · Serving Kimi-K3 (3 of 4 nodes answer)"),
        ("strange", "critical", "spark-03 strange · Serving Kimi-K3 (3 of 4 nodes answer)"),
    ],
)
def test_states_of_a_silent_node(make_world: MakeWorld, make_web: MakeWeb, state: str, level: str, text: str) -> None:
    sentence = told(make_world, make_web, lambda world: world.silence("spark-03", 10, state, ""))
    assert (sentence["level"], sentence["text"]) == (level, text)


def test_several_lost_nodes_are_listed(make_world: MakeWorld, make_web: MakeWeb) -> None:
    def change(world: World) -> None:
        for name in ("spark-01", "spark-02", "spark-04"):
            world.silence(name, 10, "timed out", "")
        world.set("spark-03", gpu.GPU_CLOCK_EVENT_REASONS, constant(0x20))

    assert told(make_world, make_web, change)["text"] == (
        "spark-01, spark-02 and 1 more do not answer in time · 1 more · Serving Kimi-K3 (1 of 4 nodes answer)"
    )


def test_two_nodes_with_the_same_problem(make_world: MakeWorld, make_web: MakeWeb) -> None:
    def change(world: World) -> None:
        for name in ("spark-01", "spark-02"):
            world.set(name, gpu.GPU_CLOCK_EVENT_REASONS, constant(0x20))

    text = told(make_world, make_web, change)["text"]
    assert text == "Serving Kimi-K3 on 4 nodes; spark-01 and spark-02 are throttling (software thermal)"


def cut(target: str, cage: str, *, used: bool) -> Change:
    """A cage without a link, which carried traffic before or never did."""

    def change(world: World) -> None:
        for series in list(world.series[target]):
            if series.label("cage") == cage and series.metric == network.LINK_UP.name:
                world.series[target][series] = lambda number: float(number < 30 and used)
            if series.label("cage") == cage and series.metric == network.RDMA_TRANSMIT.name:
                world.series[target][series] = (lambda number: 1e8 * min(number, 30)) if used else constant(0.0)

    return change


@pytest.mark.parametrize(("without", "level"), [(3, "ok"), (2, "warning")])
def test_a_missing_link_is_told_where_more_than_half_of_the_peers_have_one(
    make_world: MakeWorld, make_web: MakeWeb, without: int, level: str
) -> None:
    """Of five nodes the last ones have none: each of three has two peers with a link and two without."""

    def change(world: World) -> None:
        for place in range(without):
            cut(f"spark-{5 - place:02}", "p1", used=False)(world)

    assert told(make_world, make_web, change, nodes=5)["level"] == level


def test_link_down_where_the_peers_are_up(make_world: MakeWorld, make_web: MakeWeb) -> None:
    sentence = told(make_world, make_web, cut("spark-04", "p1", used=True))
    assert sentence["text"] == "spark-04 has no link on p1 · Serving Kimi-K3 on 4 nodes"
    assert sentence["level"] == "critical"


def test_link_that_never_carried_anything_is_a_warning(make_world: MakeWorld, make_web: MakeWeb) -> None:
    sentence = told(make_world, make_web, cut("spark-04", "p1", used=False))
    assert (sentence["level"], sentence["worst"]) == ("warning", "spark-04")


def test_uncabled_everywhere_is_healthy(make_world: MakeWorld, make_web: MakeWeb) -> None:
    def change(world: World) -> None:
        for name in ("spark-01", "spark-02", "spark-03", "spark-04"):
            cut(name, "p1", used=False)(world)

    assert told(make_world, make_web, change)["level"] == "ok"


def test_one_function_down_is_not_the_cage_down(make_world: MakeWorld, make_web: MakeWeb) -> None:
    def change(world: World) -> None:
        world.series["spark-04"][Series("spark-04", network.LINK_UP.name, (("cage", "p1"), ("function", "f3")))] = (
            constant(0.0)
        )

    assert told(make_world, make_web, change)["level"] == "ok"


def test_silent_collector(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    world.run(0, 60)
    web = make_web(world)
    web.step()
    world.now = tick(65)
    assert web.get("status")["sentence"]["level"] == "ok"
    world.now = tick(67)
    status = web.get("status")
    assert status["sentence"] == {"level": "critical", "text": "Collector silent for 7.0 s", "worst": None}
    assert {(node["state"], node["level"]) for node in status["nodes"]} == {("unknown", "unknown")}
    assert status["nodes"][0]["reason"] == "Collector silent for 7.0 s"
    live = web.get("live?minutes=0")
    assert live["age_ms"] == 7000
    assert live["sentence"]["text"] == "Collector silent for 7.0 s"


def test_empty_installation(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world(nodes=0, engines=False)
    world.series.clear()
    web = make_web(world)
    assert web.process.follower.step() == 0
    assert web.process.live(15) is None
    assert web.get("live")["tick"] is None
    assert web.get("live")["sentence"]["level"] == "empty"
    status = web.get("status")
    assert status["sentence"] == {"level": "empty", "text": "Nothing is watched yet", "worst": None}
    assert (status["nodes"], status["engines"], status["deployments"]) == ([], [], [])


def test_busiest_phase_of_several_engines(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    world.series[HEAD][Series(HEAD, engine.ENGINE_PHASE.name, (("engine", "1"), ENGINE[1]))] = constant(1.0)
    world.set(HEAD, engine.GENERATION_TOKENS, rising(20.0))
    world.run(0, 30)
    message = make_web(world).step()
    assert message["cells"]["phase"][0] == "decoding"
    assert message["sentence"]["text"] == "Serving Kimi-K3 on 4 nodes"
