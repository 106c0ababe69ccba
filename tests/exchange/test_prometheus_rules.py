"""Rules in PromQL: what Prometheus can know, in expressions that it takes, and the rest by name and reason."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from alerts.defaults import defaults
from alerts.rule import Rule, rule, rules
from exchange.prometheus_rules import exported
from exchange.promql import Told, UntoldError, all_of, any_of, compared, joined

PROMTOOL = shutil.which("promtool")
DEFAULTS = rules(defaults())


def one(when: str, place: str = "node", **more: Any) -> Rule:
    return rule("one", {"title": "One", "place": place, "severity": "warning", "when": when, **more})


def said(when: str, place: str = "node", **more: Any) -> str:
    """The expression of a rule; the reason where it has none."""
    found = exported([one(when, place, **more)])
    if found.left_out:
        return found.left_out["one"]
    (line,) = [line for line in found.text.splitlines() if line.strip().startswith("expr: ")]
    return str(json.loads(line.partition("expr: ")[2]))


@pytest.mark.parametrize(
    ("place", "when", "expected"),
    [
        (
            "gpu",
            "gpu_temperature_celsius >= 85 °C",
            "(max by (instance, gpu) (tachograph_gpu_temperature_celsius) >= 85)",
        ),
        ("gpu", "not gpu_power_watts < 30 W", "(sum by (instance, gpu) (tachograph_gpu_power_watts) >= 30)"),
        (
            "node",
            "mean(gpu_power_watts[60s]) > 9 W",
            "(sum by (instance) (avg_over_time(tachograph_gpu_power_watts[60s])) > 9)",
        ),
        (
            "node",
            "increase(oom_kills_total[60s]) > 0",
            "(sum by (instance) (increase(tachograph_oom_kills_total[60s])) > 0)",
        ),
        (
            "node",
            'increase(kernel_xid_total{xid in ("79", "1.9")}[60s]) > 0',
            '(sum by (instance) (increase(tachograph_kernel_xid_total{xid=~"79|1\\\\.9"}[60s])) > 0)',
        ),
        (
            "node",
            "change(memory_free_bytes[5s]) < -5 B",
            "((sum by (instance) (tachograph_memory_free_bytes) - "
            "sum by (instance) (tachograph_memory_free_bytes offset 5s)) < -5)",
        ),
        (
            "gpu",
            "gpu_clock_event_reasons has 0x60",
            "((floor(max by (instance, gpu) (tachograph_gpu_clock_event_reasons) / 32) % 2 + "
            "floor(max by (instance, gpu) (tachograph_gpu_clock_event_reasons) / 64) % 2) > 0)",
        ),
        (
            "gpu",
            'gpu_reading_state in ("stalled", "lost")',
            "((max by (instance, gpu) (tachograph_gpu_reading_state) == 3) or (max by (instance, gpu) "
            "(tachograph_gpu_reading_state) == 2))",
        ),
        (
            "node",
            "gpu_power_watts > 1 W and maybe(gpu_temperature_celsius > 9 °C)",
            "((sum by (instance) (tachograph_gpu_power_watts) > 1) unless on (instance) "
            "(max by (instance) (tachograph_gpu_temperature_celsius) <= 9))",
        ),
        (
            "node",
            "not (gpu_power_watts > 1 W and gpu_temperature_celsius > 9 °C)",
            "((sum by (instance) (tachograph_gpu_power_watts) <= 1) or "
            "(max by (instance) (tachograph_gpu_temperature_celsius) <= 9))",
        ),
        (
            "function",
            "rate(rdma_transmit_bytes_total[10s]) > 0.9 * across(cage, rate(rdma_transmit_bytes_total[10s]))",
            "(sum by (instance, cage, function) (rate(tachograph_rdma_transmit_bytes_total[10s])) > "
            "on (instance, cage) group_left () "
            "(0.9 * sum by (instance, cage) (rate(tachograph_rdma_transmit_bytes_total[10s]))))",
        ),
        (
            "mount",
            "disk_available_ratio < 10 %",
            "((sum by (instance, mount) (tachograph_disk_available_bytes) / sum by (instance, mount) "
            "(tachograph_disk_size_bytes)) < 0.1)",
        ),
        (
            "node",
            'target_state in ("refused", "timed out")',
            '(up{job="tachograph"} == 0 unless on (instance) max_over_time(tachograph_agent_goodbye[10m]) == 1)',
        ),
        ("cluster", "commit_age_seconds > 10 s", "(max(tachograph_commit_age_seconds) > 10)"),
        (
            "node",
            "mean(gpu_power_watts[30d]) > 9 W or mean(gpu_power_watts[1.0001s]) > 9 W",
            "((sum by (instance) (avg_over_time(tachograph_gpu_power_watts[2592000s])) > 9) or "
            "(sum by (instance) (avg_over_time(tachograph_gpu_power_watts[1s])) > 9))",
        ),
        (
            "sensor",
            'temperature_celsius{sensor="é😀\t"} > 5 °C',
            '(max by (instance, sensor) (tachograph_temperature_celsius{sensor=~"é😀\\t"}) > 5)',
        ),
    ],
)
def test_expressions(place: str, when: str, expected: str) -> None:
    assert said(when, place) == expected


@pytest.mark.parametrize(
    ("place", "when", "why"),
    [
        ("engine", "requests_waiting > 1", "it is about engines, which Prometheus reads under their own names"),
        ("deployment", "gpu_power_watts > 1 W", "it is about deployments, which Prometheus does not know"),
        ("cluster", "ticks_missed_ratio > 5 %", "it is about what the collector alone knows"),
        ("node", "unclean_boot == 1", "it is about what the collector alone knows"),
        ("server", 'target_state is "refused"', "it is about what the collector alone knows"),
        ("node", 'target_state is "ok"', "it is about what the collector alone knows"),
        ("node", 'target_state in ("refused", "stopped")', "it is about what the collector alone knows"),
        ("gpu", "gpu_power_watts < peers(gpu_power_watts)", "it compares with others of a deployment"),
        ("node", "absent(gpu_power_watts)", "it compares what belongs to a deployment, or asks what is absent"),
        ("node", "maybe(gpu_power_watts > 1 W)", "max"),
        ("node", "gpu_power_watts > 1 W and maybe(unclean_boot == 1)", "(sum by (instance)"),
        ("gpu", "usual(gpu_power_watts[24h]) > 1 W", "PromQL has no usual as it is meant here"),
        ("node", "requests_waiting > 1", "it is about engines"),
    ],
)
def test_what_prometheus_cannot_know(place: str, when: str, why: str) -> None:
    assert why.removeprefix("max") in said(when, place)


def test_a_rule_as_prometheus_has_it() -> None:
    found = exported(
        [
            one(
                "gpu_power_watts > 1 W",
                **{"for": "1min", "clear_for": "500ms", "runbook": "https://w/x", "text": "Say “a\nb”."},
            )
        ]
    )
    assert found.text.splitlines()[1:] == [
        "# nothing",
        "groups:",
        "  - name: tachograph",
        "    rules:",
        "      - alert: one",
        '        expr: "(sum by (instance) (tachograph_gpu_power_watts) > 1)"',
        "        for: 60s",
        "        keep_firing_for: 500ms",
        "        labels:",
        "          severity: warning",
        "        annotations:",
        '          summary: "One"',
        '          description: "One on {{ $labels.instance }}: {{ $value }}. Say “a\\nb”."',
        '          runbook_url: "https://w/x"',
    ]


def annotations(**more: Any) -> dict[str, str]:
    """As they stand in the file, in quotes."""
    lines = exported([one("gpu_power_watts > 1 W", **more)]).text.partition("        annotations:\n")[2].splitlines()
    return dict(line.strip().split(": ", 1) for line in lines)


def test_texts_are_no_templates_and_hold_what_yaml_takes() -> None:
    assert annotations(title="A {{ b }}", runbook="https://w/{{")["summary"] == r'''"A {{ \"{{\" }} b }}"'''
    assert annotations(runbook="https://w/{{x")["runbook_url"] == r'''"https://w/{{ \"{{\" }}x"'''
    assert annotations(text="{{ range }}")["description"].endswith(r'''{{ $value }}. {{ \"{{\" }} range }}"''')
    assert annotations(title="é\x7f\ufffe\t\ud800")["summary"] == r'''"é\U0000007f\U0000fffe\t?"'''


def test_states_of_silence_are_one_to_prometheus() -> None:
    found = exported([one('target_state is "refused"')])
    assert found.partly == {"one": ("why a node does not answer is left out: Prometheus knows only that it does not",)}
    assert exported([DEFAULTS["node_silent"]]).partly == {}


def test_a_job_is_a_text() -> None:
    assert r"""up{job=\"a\\\"b\"}""" in exported([DEFAULTS["node_silent"]], job='a"b').text


ODD = (
    {"title": "A {{ b }} {{ $x }}"},
    {"text": "{{ range }}"},
    {"title": "{{"},
    {"runbook": "https://w/{{"},
    {"title": "\ufffe\x7f\x00\x1b[31m\u2028\x85"},
    {"when": "mean(gpu_power_watts[30d]) > 1 W"},
    {"when": "mean(gpu_power_watts[1.00001min]) > 1 W", "for": "7d", "clear_for": "1.5s"},
    {"when": 'temperature_celsius{sensor="é😀\t"} > 5 °C', "place": "sensor"},
    {"when": 'target_state in ("ok", "refused")'},
    {"when": 'target_state is "refused" and gpu_power_watts > 5 W'},
)


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed")
def test_prometheus_takes_odd_rules_of_ones_own(tmp_path: Path) -> None:
    """All in one file: one that it does not take costs all others."""
    plain = {"title": "X", "place": "node", "when": "gpu_power_watts > 5 W", "severity": "info"}
    path = tmp_path / "rules.yml"
    path.write_text(exported([rule(f"r{at}", {**plain, **more}) for at, more in enumerate(ODD)], 'a"b').text, "utf-8")
    done = subprocess.run([str(PROMTOOL), "check", "rules", str(path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(ODD) - 1} rules found" in done.stdout


def test_what_is_left_out_is_said_in_comments() -> None:
    off = one("gpu_power_watts > 1 W", enabled=False)
    own_end = one("gpu_power_watts > 9 W and maybe(unclean_boot == 1)", clear="gpu_power_watts < 5 W")
    found = exported([own_end])
    assert found.partly == {
        "one": (
            "a part that only corroborates is left out: it is about what the collector alone knows",
            "it has an end of its own, which Prometheus cannot wait for",
        )
    }
    assert [f"      # one: {note}" in found.text.splitlines() for note in found.partly["one"]] == [True, True]
    nothing = exported([off])
    assert (nothing.told, nothing.left_out, nothing.text.splitlines()[-1]) == ((), {}, "groups: []")
    left = exported([one("unclean_boot == 1")])
    assert "# one: it is about what the collector alone knows" in left.text.splitlines()


def test_the_rules_of_the_product() -> None:
    found = exported(DEFAULTS.values())
    assert sorted([*found.told, *found.left_out]) == sorted(name for name, one in DEFAULTS.items() if one.enabled)
    assert {"power_delivery", "node_silent", "memory_out", "link_down", "xid_fatal", "disk_full"} <= set(found.told)
    assert {"engine_wedged", "straggler", "channel_failing"} <= set(found.left_out)
    assert exported(DEFAULTS.values(), job="gb10").text.count('up{job=\\"gb10\\"}') == 1


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed")
def test_prometheus_takes_the_file(tmp_path: Path) -> None:
    found = exported(DEFAULTS.values())
    path = tmp_path / "rules.yml"
    path.write_text(found.text, "utf-8")
    done = subprocess.run([str(PROMTOOL), "check", "rules", str(path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(found.told)} rules found" in done.stdout


A, B, NUMBER = Told("a", ("x",)), Told("b", ("x", "y")), Told("1")


def test_pieces_meet_by_the_labels_that_both_have() -> None:
    assert joined("-", A, B) == Told("(a - on (x) group_right () b)", ("x", "y"))
    assert joined("-", B, A) == Told("(b - on (x) group_left () a)", ("x", "y"))
    assert joined("-", NUMBER, A) == Told("(1 - a)", ("x",))
    assert all_of([A, B], [A]) == Told("(b and on (x) a unless on (x) a)", ("x", "y"))
    assert any_of([A]) == A
    for wrong in (
        lambda: joined("-", A, Told("c", ("z",))),
        lambda: compared("<", NUMBER, NUMBER),
        lambda: all_of([], [A]),
        lambda: all_of([A], [B]),
        lambda: any_of([A, B]),
    ):
        with pytest.raises(UntoldError):
            wrong()
