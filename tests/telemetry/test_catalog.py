"""Walks over the catalogue: what is added tomorrow is already tested."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter

import pytest

from telemetry import catalog
from telemetry.catalog import METRICS, engine, gpu, network, ratios
from telemetry.model import PARTS, Fold, Kind, Metric, Ratio, Scope, Unit, part

STORED = [metric for metric in METRICS if isinstance(metric, Metric)]
RATIOS = [metric for metric in METRICS if isinstance(metric, Ratio)]
HISTOGRAMS = [metric for metric in STORED if metric.kind is Kind.HISTOGRAM]

ENDINGS: dict[Unit, tuple[str, ...]] = {
    Unit.BYTES: ("_bytes",),
    Unit.BYTES_PER_SECOND: ("_bytes_per_second",),
    Unit.NETWORK_BYTES_PER_SECOND: ("_bytes_per_second",),
    Unit.PACKET_BYTES: ("_bytes",),
    Unit.BYTES_PER_TOKEN: ("_per_token_bytes",),
    Unit.CELSIUS: ("_celsius",),
    Unit.HERTZ: ("_hertz",),
    Unit.JOULES: ("_joules",),
    Unit.JOULES_PER_TOKEN: ("_per_token_joules",),
    Unit.PER_SECOND: ("_per_second",),
    Unit.RATIO: ("_ratio",),
    Unit.SECONDS: ("_seconds",),
    Unit.TOKENS: ("_tokens",),
    Unit.TOKENS_PER_SECOND: ("_tokens_per_second",),
    Unit.TOKENS_PER_STEP: ("_tokens",),
    Unit.WATTS: ("_watts",),
}
"""How a name ends, before `_total`; counts, requests and states have no unit to name."""
SCREEN_UNITS = {"mhz", "ghz", "gbps", "mbps", "gib", "mib", "gb", "mb", "kb", "ms", "percent", "tps"}
COUNTED_TOKENS = re.compile(r"_tokens(_[a-z]+)*$|_(queries|hits|by_position)$")
"""Counters of tokens may say more after the unit: prompt_tokens_cached_total."""


def test_names_are_unique() -> None:
    names = [metric.name for metric in METRICS]
    assert len(set(names)) == len(names)
    for module in catalog.MODULES:
        defined = [value for value in vars(module).values() if isinstance(value, (Metric, Ratio))]
        assert all(catalog.find(value.name) == value for value in defined), module.__name__


def test_a_name_is_plain_and_says_no_screen_unit() -> None:
    for metric in METRICS:
        assert re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", metric.name)
        words = set(metric.name.split("_"))
        assert not words & SCREEN_UNITS
        assert not words & {"gauge", "counter", "histogram", "info", "created"}


def test_a_name_ends_in_its_unit() -> None:
    for metric in METRICS:
        stem = metric.name.removesuffix("_total")
        if metric.unit is Unit.TOKENS and metric.kind is Kind.COUNTER:
            assert COUNTED_TOKENS.search(stem)
        elif metric.unit in ENDINGS:
            assert stem.endswith(ENDINGS[metric.unit])
        else:
            assert metric.unit in (Unit.COUNT, Unit.REQUESTS, Unit.STATE)
            assert not stem.endswith(tuple(ending for endings in ENDINGS.values() for ending in endings))


def test_total_on_counters_and_only_there() -> None:
    for metric in METRICS:
        assert metric.name.endswith("_total") == (metric.kind is Kind.COUNTER)


def test_no_name_ends_like_a_part_of_a_histogram() -> None:
    for metric in METRICS:
        assert not metric.name.endswith(tuple(f"_{name}" for name in PARTS))


def test_no_two_metrics_of_a_scope_share_a_label() -> None:
    """Who chooses by label must know which one: a counter and its rate are two."""
    found = Counter((metric.scope, metric.label.casefold()) for metric in METRICS)
    assert [one for one, count in found.items() if count > 1] == []


def test_every_field_is_filled() -> None:
    for metric in METRICS:
        assert metric.label
        assert metric.label == metric.label.strip()
        assert not metric.label.endswith(".")
        assert metric.help.endswith(".")
        assert metric.group
        assert "\n" not in metric.help
        assert '"' not in metric.help
        assert isinstance(metric.unit, Unit)
        assert isinstance(metric.scope, Scope)


def test_labels_are_sorted_and_plain() -> None:
    for metric in METRICS:
        assert list(metric.by) == sorted(set(metric.by))
        for label in metric.by:
            assert re.fullmatch(r"[a-z]+(_[a-z]+)*", label)
            assert label not in ("le", "target", "node", "quantile", "instance", "job")


def test_engines_are_told_apart() -> None:
    for metric in METRICS:
        if metric.scope is Scope.ENGINE:
            assert set(engine.ENGINE) <= set(metric.by)


def test_limits_are_in_order() -> None:
    for metric in METRICS:
        if metric.limits is not None and metric.limits.critical is not None:
            low, high = metric.limits.warning, metric.limits.critical
            assert high < low if metric.limits.low else low < high
        if metric.limits is not None and metric.unit is Unit.RATIO:
            assert 0 < metric.limits.warning <= 1


def test_states_belong_to_states() -> None:
    for stored in STORED:
        assert (stored.kind is Kind.STATE) == bool(stored.states) == (stored.unit is Unit.STATE)
        assert len(set(stored.states)) == len(stored.states)
        assert stored.over_time is not Fold.SUM
        if stored.kind is Kind.STATE:
            assert stored.over_time in (Fold.MAX, Fold.LAST)
            assert stored.across is Fold.MAX


def test_folds_fit() -> None:
    for stored in STORED:
        if stored.kind in (Kind.COUNTER, Kind.HISTOGRAM):
            assert stored.across is Fold.SUM, "increases add up"
        if stored.unit is Unit.RATIO or stored.unit is Unit.CELSIUS:
            assert stored.across is not Fold.SUM, "fractions and temperatures do not add up"
        assert stored.across is not Fold.LAST
        assert stored.bits in (32, 64)
        if stored.bits == 32:
            assert stored.kind is Kind.COUNTER


def test_terms_of_a_ratio_are_stored() -> None:
    for ratio in RATIOS:
        assert ratio.numerator
        for term in (*ratio.numerator, *ratio.denominator):
            assert catalog.stored(term.name) == term
            assert term.kind in (Kind.COUNTER, Kind.GAUGE)
        for terms in (ratio.numerator, ratio.denominator):
            assert len({term.kind for term in terms}) <= 1
            assert len({term.unit for term in terms}) <= 1


def test_a_ratio_is_a_fraction_of_what_can_be_divided() -> None:
    for ratio in RATIOS:
        assert ratio.scale > 0
        assert ratio.window_s >= 0
        if ratio.window_s == 0:
            kinds = {term.kind for term in (*ratio.numerator, *ratio.denominator)}
            assert kinds == {Kind.GAUGE}, "an increase needs a window"
            assert ratio.denominator
        for term in ratio.numerator:
            assert set(ratio.by) <= set(term.by), "a ratio cannot be told apart by what its numerator lacks"
        with pytest.raises(KeyError, match="never stored"):
            catalog.stored(ratio.name)


def test_parts_of_a_histogram() -> None:
    for histogram in HISTOGRAMS:
        for name in PARTS:
            found = catalog.find(f"{histogram.name}_{name}")
            assert found == part(histogram, name)
            assert found is not None
            assert found.kind is Kind.COUNTER
            assert catalog.stored(found.name) is found
        bucket, total, count = (part(histogram, name) for name in PARTS)
        assert set(bucket.by) - set(histogram.by) == {"le"}
        assert list(bucket.by) == sorted(bucket.by)
        assert (total.by, count.by) == (histogram.by, histogram.by)
        assert (bucket.unit, total.unit, count.unit) == (Unit.COUNT, histogram.unit, Unit.COUNT)


def test_find() -> None:
    assert catalog.find("generation_tokens_total") is engine.GENERATION_TOKENS
    assert catalog.find("decode_tokens_per_second") is ratios.DECODE_TPS
    assert catalog.find("time_to_first_token_seconds") is engine.TTFT
    assert catalog.find("time_to_first_token_seconds_bucket") == part(engine.TTFT, "bucket")
    for absent in ("", "nothing", "generation_tokens_total_bucket", "tachograph_generation_tokens_total", "GPU_POWER"):
        assert catalog.find(absent) is None
    with pytest.raises(KeyError):
        catalog.stored("nothing")


def test_formerly_is_understood_and_free() -> None:
    for metric in METRICS:
        for name in metric.formerly:
            assert catalog.find(name) is metric
            assert name != metric.name


def test_names_that_pages_and_rules_are_built_on() -> None:
    """What must not change by accident, because files and scripts of users carry it."""
    wanted = {
        "decode_tokens_per_second": ratios.DECODE_TPS,
        "prefill_tokens_per_second": ratios.PREFILL_TPS,
        "gpu_utilization_ratio": gpu.GPU_UTILIZATION,
        "gpu_power_watts": gpu.GPU_POWER,
        "interconnect_transmit_bytes_per_second": ratios.INTERCONNECT_TRANSMIT,
        "rdma_transmit_bytes_total": network.RDMA_TRANSMIT,
    }
    assert {name: catalog.find(name) for name in wanted} == wanted
    assert ratios.DECODE_TPS.window_s == 10
    assert ratios.INTERCONNECT_TRANSMIT.numerator == (network.RDMA_TRANSMIT, network.NETDEV_TRANSMIT)


def exposition() -> str:
    """The whole catalogue as a page any Prometheus reads, one sample for each family."""
    lines: list[str] = []
    for stored in STORED:
        name = catalog.WIRE_PREFIX + stored.name
        kind = "gauge" if stored.kind is Kind.STATE else stored.kind.value
        labels = ",".join(f'{label}="x"' for label in stored.by)
        lines += [f"# HELP {name} {stored.help}", f"# TYPE {name} {kind}"]
        if stored.kind is Kind.HISTOGRAM:
            lines += [
                f'{name}_bucket{{{labels},le="+Inf"}} 1',
                f"{name}_sum{{{labels}}} 1",
                f"{name}_count{{{labels}}} 1",
            ]
        else:
            lines.append(f"{name}{{{labels}}} 1" if labels else f"{name} 1")
    return "\n".join(lines) + "\n"


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_promtool_accepts_the_catalogue() -> None:
    page = exposition()
    assert page.count("# TYPE") == len(STORED)
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=page, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
