"""Values at which rules begin to hold."""

from __future__ import annotations

from typing import Any

import pytest

from alerts.defaults import defaults
from alerts.limits import Limit, limits
from alerts.rule import Rule, Severity, rule, rules

RULES = rules(defaults())


def told(metric: str) -> list[tuple[str, str, float]]:
    return [(one.rule, one.side, one.value) for one in limits(RULES.values(), metric)]


def test_limits_of_the_product() -> None:
    assert told("gpu_temperature_celsius") == [("gpu_too_hot", "above", 90.0), ("gpu_hot", "above", 85.0)]
    assert [one[:2] for one in told("memory_headroom_bytes")] == [("memory_out", "below"), ("memory_low", "below")]
    assert told("swap_bytes_per_second") == [("swapping", "above", 50e6)]
    assert told("clock_skew_seconds") == [("clock_skew", "below", -2.0), ("clock_skew", "above", 2.0)]
    assert [one[0] for one in told("disk_available_ratio")] == ["disk_full", "disk_filling"]
    assert told("fabric_loss_per_second") == [("fabric_loss", "above", 10.0)]


def test_a_limit_of_some_series_names_them() -> None:
    found = {one.rule: one for one in limits(RULES.values(), "temperature_celsius")}
    assert found["nvme_hot"] == Limit("nvme_hot", "NVMe hot", Severity.WARNING, "above", 75.0, (("sensor", ("nvme",)),))
    assert found["nic_hot"].labels == (("sensor", ("mlx5", "mlx5_core")),)


@pytest.mark.parametrize(
    "metric", ["gpu_power_watts", "gpu_sm_clock_hertz", "requests_waiting", "kv_cache_usage_ratio"]
)
def test_what_needs_other_things_as_well_is_no_limit(metric: str) -> None:
    assert told(metric) == []


def made(when: str, **more: Any) -> Rule:
    return rule("r", {"title": "R", "place": "gpu", "when": when, "severity": "warning", **more})


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ("gpu_power_watts > 100 W", [("above", 100.0)]),
        ("gpu_power_watts <= 100 W", [("below", 100.0)]),
        ("100 W < gpu_power_watts", [("above", 100.0)]),
        ("100 W >= gpu_power_watts", [("below", 100.0)]),
        ("gpu_power_watts > 100 W + 2 * 10 W", [("above", 120.0)]),
        ("gpu_power_watts > 100 W / 4 - 5 W", [("above", 20.0)]),
        ("gpu_power_watts > $most", [("above", 80.0)]),
        ("gpu_power_watts > 100 W or gpu_temperature_celsius > 90 °C", [("above", 100.0)]),
        ("maybe(gpu_power_watts > 100 W)", [("above", 100.0)]),
        ("gpu_power_watts > 100 W and gpu_temperature_celsius > 90 °C", []),
        ("not gpu_power_watts > 100 W", []),
        ("gpu_power_watts == 100 W", []),
        ("mean(gpu_power_watts[60s]) > 100 W", []),
        ("gpu_power_watts > peers(gpu_power_watts)", []),
        ("gpu_temperature_celsius > 90 °C", []),
    ],
)
def test_what_decides_by_itself(when: str, expected: list[tuple[str, float]]) -> None:
    found = limits([made(when, settings={"most": "80 W"})], "gpu_power_watts")
    assert [(one.side, one.value) for one in found] == expected


def test_rules_that_are_off_have_no_limits() -> None:
    assert limits([made("gpu_power_watts > 100 W", enabled=False)], "gpu_power_watts") == []


def test_the_gravest_stands_first_and_nothing_twice() -> None:
    grave = made("gpu_power_watts > 100 W or gpu_power_watts > 100 W", severity="critical")
    found = limits([made("gpu_power_watts > 90 W"), grave], "gpu_power_watts")
    assert [(one.severity, one.value) for one in found] == [(Severity.CRITICAL, 100.0), (Severity.WARNING, 90.0)]
