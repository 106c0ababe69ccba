"""The pages are what the product and every Prometheus can read, and name what the product's own agent names."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from simulator.pages import agent_page, engine_page, state_page
from simulator.pages.agent_names import FAMILIES
from simulator.pages.agent_page import number
from simulator.pages.clocks import Clocks
from simulator.tally import CONTEXT, DRAFT_TOKENS, EDGES
from simulator.world import World
from telemetry.catalog import WIRE_PREFIX, stored
from telemetry.model import Kind
from tests.simulator.stage import CLOCKS, EPOCH_S, engine, node, world

DATA = Path(__file__).parent.parent / "data"
ENGINE = 'engine="0",model_name="moonshotai/Kimi-K3"'


@pytest.fixture(scope="module")
def served() -> World:
    return world("memory-collapse@spark-02:0+30", until=300.0)


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("#")]


def names(text: str) -> set[str]:
    return {line.rsplit(" ", 1)[0] for line in lines(text)}


def test_every_family_is_in_the_catalogue() -> None:
    for family in FAMILIES:
        metric = stored(family.name.removeprefix(WIRE_PREFIX))
        assert (metric.kind is Kind.COUNTER) == (family.kind == "counter"), family.name
        for line in family.lines:
            labels = tuple(sorted(re.findall(r"(\w+)=", line.labels)))
            assert labels == tuple(sorted(metric.by)), family.name


def test_every_series_of_a_real_agent_is_there() -> None:
    """The golden page of an idle GB10, whose kernel log could not be read."""
    golden = names((DATA / "gb10" / "idle.metrics").read_text(encoding="utf-8"))
    ours = names(agent_page.render(world(), 1, CLOCKS))
    assert golden - ours == set()
    assert {name for name in ours - golden if "kernel" not in name} == set()


def test_agent_page_goes_through_the_prometheus_parser(served: World) -> None:
    text = agent_page.render(served, 1, CLOCKS)
    families = list(text_string_to_metric_families(text))
    assert len(families) == len(FAMILIES)
    assert all(family.documentation and family.type in ("gauge", "counter") for family in families)
    assert len(names(text)) == len(lines(text)), "no series twice"


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
@pytest.mark.parametrize("page", ["agent", "cabled off"])
def test_promtool_accepts_the_agent_page(served: World, page: str) -> None:
    of = served if page == "agent" else world("uncabled@spark-02:0")
    text = agent_page.render(of, 1, CLOCKS)
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_rdma_bytes_come_in_words(served: World) -> None:
    page = node(served, 1)
    values = [value for name, value in page.items() if name.startswith("rdma_") and value]
    assert len(values) == 4
    assert all(value % 4 == 0 for value in values)


def test_counters_have_a_past(served: World) -> None:
    page = node(served, 1)
    assert page['gpu_energy_joules_total{gpu="0"}'] > 1e6
    assert page['rdma_transmit_bytes_total{cage="p1",function="rocep1s0f1"}'] > 1e13
    assert page["uptime_seconds"] > 4e4
    assert page['system_energy_joules_total{rail="pkg"}'] < 2**32 / 1000, "32-bit millijoules wrap"


@pytest.mark.parametrize(
    ("value", "text"), [(3.0, "3"), (0.25, "0.25"), (25e9, "25000000000"), (1 / 3, "0.333333"), (1e-9, "0")]
)
def test_numbers_of_the_agent(value: float, text: str) -> None:
    assert number(value) == text


NUMBERS = (
    (3, "3.0"),
    (0, "0.0"),
    (0.25, "0.25"),
    (123456.0, "123456.0"),
    (1_000_000, "1e+06"),
    (2_106_654_720, "2.10665472e+09"),
    (1796005432.12, "1.79600543212e+09"),
    (2560.0, "2560.0"),
)


@pytest.mark.parametrize(("value", "text"), NUMBERS)
def test_numbers_of_the_engine(value: float, text: str) -> None:
    assert engine_page.number(value) == text


def test_every_histogram_is_cumulative(served: World) -> None:
    page = engine(served)
    for name in EDGES:
        buckets = [value for line, value in page.items() if line.startswith(f"vllm:{name}_bucket{{")]
        assert len(buckets) == len(EDGES[name]) + 1
        assert buckets == sorted(buckets)
        assert buckets[-1] == page[f"vllm:{name}_count{{{ENGINE}}}"]


def test_edges_are_those_of_a_real_server() -> None:
    assert EDGES["request_prompt_tokens"][:6] == (1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
    assert EDGES["request_prompt_tokens"][-1] == 200_000.0 <= CONTEXT
    assert EDGES["iteration_tokens_total"][:3] == (1.0, 8.0, 16.0)
    assert EDGES["iteration_tokens_total"][-1] == 16384.0
    assert (EDGES["time_to_first_token_seconds"][0], EDGES["time_to_first_token_seconds"][-1]) == (0.001, 2560.0)
    assert (len(EDGES["time_to_first_token_seconds"]), len(EDGES["inter_token_latency_seconds"])) == (22, 19)
    assert EDGES["e2e_request_latency_seconds"][0] == 0.3
    assert len(EDGES["e2e_request_latency_seconds"]) == 21


def test_the_engine_says_what_it_counted(served: World) -> None:
    page, tally = engine(served), served.engine.tally
    assert tally.generated > 0
    assert page[f"vllm:generation_tokens_total{{{ENGINE}}}"] == tally.generated
    assert page[f"vllm:prompt_tokens_total{{{ENGINE}}}"] == tally.prompt
    sources = {source: page[f'vllm:prompt_tokens_by_source_total{{{ENGINE},source="{source}"}}'] for source in SOURCES}
    assert sources == {
        "local_compute": tally.computed,
        "local_cache_hit": tally.cached,
        "external_kv_transfer": 0,
    }
    assert page[f"vllm:prompt_tokens_cached_total{{{ENGINE}}}"] == tally.cached
    assert page[f"vllm:prefix_cache_queries_total{{{ENGINE}}}"] == tally.queries
    assert page[f"vllm:prefix_cache_hits_total{{{ENGINE}}}"] == tally.hits
    assert page[f'vllm:prompt_tokens_cached_by_source_total{{{ENGINE},source="device"}}'] == tally.hits
    assert page[f'vllm:prompt_tokens_cached_by_source_total{{{ENGINE},source="disk"}}'] == 0
    drafts = page[f"vllm:spec_decode_num_drafts_total{{{ENGINE}}}"]
    assert drafts == tally.drafts
    assert page[f"vllm:spec_decode_num_draft_tokens_total{{{ENGINE}}}"] == DRAFT_TOKENS * drafts
    by_position = [
        page[f'vllm:spec_decode_num_accepted_tokens_per_pos_total{{{ENGINE},position="{at}"}}'] for at in range(8)
    ]
    assert by_position == tally.by_position
    assert sum(by_position) == page[f"vllm:spec_decode_num_accepted_tokens_total{{{ENGINE}}}"]
    finished = {
        reason: page[f'vllm:request_success_total{{engine="0",finished_reason="{reason}",{MODEL}}}']
        for reason in REASONS
    }
    assert finished == {**tally.finished, "error": 0, "repetition": 0}
    assert page[f"vllm:num_requests_running{{{ENGINE}}}"] == tally.running
    assert page[f"vllm:num_requests_waiting{{{ENGINE}}}"] == tally.waiting
    assert page[f'vllm:num_requests_waiting_by_reason{{{ENGINE},reason="capacity"}}'] == tally.waiting
    assert page[f'vllm:engine_sleep_state{{{ENGINE},sleep_state="awake"}}'] == 1
    assert page[f"vllm:kv_cache_usage_perc{{{ENGINE}}}"] == tally.kv_usage


SOURCES = ("local_compute", "local_cache_hit", "external_kv_transfer")
REASONS = ("stop", "length", "abort", "error", "repetition")
MODEL = 'model_name="moonshotai/Kimi-K3"'


def test_the_engine_names_what_a_real_server_names(served: World) -> None:
    """Families of a recorded 0.32 page with speculative decoding, but for what every Python process says of itself."""
    listed = (Path(__file__).parent / "vllm-0.32-families.txt").read_text(encoding="utf-8").split()
    text = engine_page.render(served, CLOCKS)
    ours = set(re.findall(r"^# TYPE (\S+) \w+$", text, re.MULTILINE))
    assert set(listed) - ours == set()
    assert {name for name in ours - set(listed) if not name.startswith("process_")} == set()


def test_configuration_of_the_cache(served: World) -> None:
    text = engine_page.render(served, CLOCKS)
    (line,) = [line for line in lines(text) if line.startswith("vllm:cache_config_info")]
    assert f'kv_cache_size_tokens="{2 * CONTEXT}"' in line
    assert line.endswith(" 1.0")


def test_models(served: World) -> None:
    answer = engine_page.models(served, CLOCKS)
    assert [model["id"] for model in answer["data"]] == ["moonshotai/Kimi-K3"]
    assert answer["data"][0]["max_model_len"] == CONTEXT


def test_the_state_of_a_node(served: World) -> None:
    state = state_page.render(served, 1, CLOCKS, 0)
    assert set(state) == {
        *("version", "sequence", "time_s", "monotonic_s", "started_s", "goodbye"),
        *("facts", "processes", "events", "readings"),
    }
    page = node(served, 1)
    assert state["monotonic_s"] == page["agent_monotonic_seconds"]
    assert state["time_s"] == page["agent_time_seconds"]
    assert state["facts"]["hostname"] == "spark-02"
    assert state["facts"]["function.rocep1s0f1.cage"] == "p1"
    assert state["facts"]["function.roceP2p1s0f1.netdev"] == "enP2p1s0f1np1"
    assert all(isinstance(value, str) for value in state["facts"].values())
    (process,) = state["processes"]
    assert process["name"] == "VLLM::Worker_TP1"
    assert process["gpu_memory_bytes"] == page['gpu_process_memory_bytes{gpu="0"}']
    kinds = [(event["kind"], event["baseline"]) for event in state["events"]]
    assert kinds[0] == ("link", True)
    assert kinds[1:] == [("no_memory", False)] * int(page["kernel_driver_no_memory_total"])
    assert state["events"][1]["time_s"] == pytest.approx(EPOCH_S + 19, abs=4)
    later = state_page.render(served, 1, CLOCKS, state["sequence"] - 1)
    assert later["events"] == state["events"][-1:]
    assert state_page.render(served, 1, CLOCKS, state["sequence"])["events"] == []


def test_state_without_fabric_and_process() -> None:
    state = state_page.render(world("uncabled@spark-02:0", until=5.0), 1, CLOCKS, 0)
    assert state["processes"] == []
    assert not [name for name in state["facts"] if name.startswith("function.")]


def test_a_reboot_changes_the_boot_id() -> None:
    looked = world("node-down@spark-02:5+10", until=4.0)
    before = [state_page.render(looked, number, CLOCKS, 0)["facts"]["boot_id"] for number in (1, 2)]
    looked.advance(20.0)
    after = [state_page.render(looked, number, CLOCKS, 0)["facts"]["boot_id"] for number in (1, 2)]
    assert before[0] != after[0]
    assert before[1] == after[1]


def test_clocks_of_the_pages_tell_real_time() -> None:
    """At ten times the speed, everything happens faster and no clock runs fast."""
    fast = Clocks(EPOCH_S, 10.0)
    looked = world(until=100.0)
    page = agent_page.render(looked, 0, fast)
    values = dict(line.rsplit(" ", 1) for line in lines(page))
    assert float(values["tachograph_agent_time_seconds"]) == EPOCH_S + 10
    looked.advance(200.0)
    later = dict(line.rsplit(" ", 1) for line in lines(agent_page.render(looked, 0, fast)))
    grown = float(later["tachograph_agent_monotonic_seconds"]) - float(values["tachograph_agent_monotonic_seconds"])
    assert grown == pytest.approx(10.0, abs=1e-5)
