"""Limits of rules over HTTP, and the book of rules that is read again only when somebody has changed one."""

from __future__ import annotations

from alerts.record import RuleChange
from dashboard.api.rule_limits import rulebook_to_read
from storage.records import Batch
from tests.web.conftest import MakeWeb, MakeWorld

HOT = {
    "rule": "gpu_hot",
    "title": "GPU hot",
    "severity": "warning",
    "side": "above",
    "value": 85.0,
    "text": "85.0 °C",
    "labels": {},
}


def test_limits_of_some_metrics(make_world: MakeWorld, make_web: MakeWeb) -> None:
    web = make_web(make_world())
    found = web.get("rules/limits?metric=gpu_temperature_celsius,gpu_power_watts,temperature_celsius")["limits"]
    assert [one["rule"] for one in found["gpu_temperature_celsius"]] == ["gpu_too_hot", "gpu_hot"]
    assert found["gpu_temperature_celsius"][1] == HOT
    assert found["gpu_power_watts"] == []
    assert {one["rule"]: one["labels"] for one in found["temperature_celsius"]}["nvme_hot"] == {"sensor": ["nvme"]}


def test_what_cannot_be_asked(make_world: MakeWorld, make_web: MakeWeb) -> None:
    web = make_web(make_world())
    needed = "Name one to 32 metrics, with commas between them: “metric=gpu_power_watts”."
    assert web.get("rules/limits", 400)["error"] == needed
    assert web.get("rules/limits?metric=" + ",".join(["gpu_power_watts"] * 33), 400)["error"] == needed
    assert len(web.get("rules/limits?metric=" + ",".join(["gpu_power_watts"] * 32))["limits"]) == 1
    assert "nonsense" in web.get("rules/limits?metric=nonsense", 404)["error"]


def test_a_changed_rule_has_another_limit_at_once(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    web = make_web(world)
    sources, file = web.process.sources, web.process.config.alerts
    before = rulebook_to_read(sources, file)
    assert rulebook_to_read(sources, file) is before
    change = RuleChange(1, "gpu_hot", {"when": "gpu_temperature_celsius > 70 °C", "clear": ""}, world.now)
    world.writer.commit(Batch(rule_changes=[change]), world.now)
    assert rulebook_to_read(sources, file) is not before
    found = web.get("rules/limits?metric=gpu_temperature_celsius")["limits"]["gpu_temperature_celsius"]
    assert [(one["rule"], one["value"]) for one in found] == [("gpu_too_hot", 90.0), ("gpu_hot", 70.0)]
