"""`alerts` from the command line: every verb against a real store and a collector's alarms; its exit statuses."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from alerts.weekly import Weekly
from cli.alerts import often
from cli.console import instant
from dashboard.api import alert_answers
from dashboard.api.awaited import SILENT as SILENT_COLLECTOR
from tests.cli.conftest import Do
from tests.web.alert_world import collecting, raise_alerts
from tests.web.world import World

COMMAND = "alerts"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    found = World(tmp_path / "store.db")
    found.run(0, 60)
    raise_alerts(found)
    yield found
    found.close()


def test_lists_and_shows(do: Do) -> None:
    status, told, _ = do("list")
    lines = told.splitlines()
    assert (status, lines[0].split()) == (0, ["ID", "State", "Severity", "Since", "Until", "What"])
    assert [line.split()[:3] for line in lines[1:3]] == [["5", "silenced", "warning"], ["3", "acknowledged", "warning"]]
    assert lines[3].endswith("gpu_hot 2 (because of alert 1)")
    assert lines[-1].startswith("pending: spark-02, GPU 0: GPU too hot, since ")
    assert do("list", "--rule", "kv_full", "--state", "firing")[1].startswith("No such alert.")
    assert [one["id"] for one in json.loads(do("list", "--json", "--node", "spark-01")[1])["alerts"]] == [2, 1]
    shown = do("show", "1")[1]
    assert shown.splitlines()[0] == "node_silent 1"
    assert "explains alert 2: gpu_hot 2" in shown
    assert "  GPU temperature: 88.0 °C" in do("show", "2")[1]
    assert "it is well again" in do("show", "4")[1]


def test_rules_and_silences(do: Do) -> None:
    assert do("rules")[1].splitlines()[1].split() == ["node_silent", "yes", "critical", "30s", "Node", "silent"]
    shown = do("rules", "power_delivery")[1]
    rows = [line.split("  ") for line in shown.splitlines()]
    assert ["$power", "as delivered", "30 W"] in [[cell.strip() for cell in row if cell] for row in rows]
    assert not [line for line in shown.splitlines() if line.endswith("as delivered")]
    assert do("rules", "moon")[2] == "there is no rule moon\n"
    assert do("silences")[1].splitlines()[1].split()[:2] == ["1", "active"]


def test_what_people_do(world: World, do: Do) -> None:
    with collecting(world):
        assert do("ack", "1", "--by", "bob") == (0, "alert 1: acknowledged\n", "")
        assert do("ack", "1", "--by", "eve") == (1, "", "alert 1 is already acknowledged by bob\n")
        assert do("ack", "3") == (1, "", "alert 3 is already acknowledged by ann\n")
        assert do("ack", "4") == (1, "", "there is no alert 4 that fires\n")
        assert do("silence", "new", "fan", "--node", "spark-02", "--end", "+2h")[:2] == (
            0,
            "silenced; alerts silences shows it\n",
        )
        planned = "silenced; alerts silences shows it; no node spark-99 is known\n"
        assert do("silence", "--node", "spark-99", "--end", "+2h")[:2] == (0, planned)
        assert do("silence", "--node", "head", "--deployment", "moon", "--end", "+2h")[1].endswith(
            "shows it; no deployment moon is known\n"
        )
        assert do("unsilence", "1")[:2] == (0, "silence 1: over\n")
        said = "rule power_delivery: taken over; alerts rules power_delivery shows it\n"
        assert do("set", "power_delivery", "for=5s", "$power=25 W", "enabled=true")[:2] == (0, said)
        rows = [line.split(maxsplit=1) for line in do("rules", "power_delivery")[1].splitlines()]
        assert ["for", "changed by people  5s"] in rows
        assert ["$power", "changed by people  25 W"] in rows
        assert do("disable", "gpu_hot")[:2] == (0, "rule gpu_hot: switched off\n")
        assert list(json.loads(do("enable", "gpu_hot", "--json")[1])) == ["command", "applied", "error"]
        assert do("reset", "power_delivery")[:2] == (0, "rule power_delivery: what people wrote of it is taken back\n")
        assert do("reset", "power_delivery")[2] == "rule power_delivery: nobody has changed it here\n"
    assert {one.id: one.acknowledged_by for one in world.writer.alerts() if one.id in (1, 3)} == {1: "bob", 3: "ann"}
    silence = world.writer.silences()[-3]
    assert (silence.node, silence.end_ms, silence.comment) == ("spark-02", world.now + 7_200_000, "new fan")
    assert silence.by == "command line"
    changes = world.writer.rule_changes()
    assert [(one.name, one.table) for one in changes] == [
        ("power_delivery", {"for": "5s", "enabled": True, "settings": {"power": "25 W"}}),
        ("gpu_hot", {"enabled": False}),
        ("gpu_hot", {"enabled": True}),
        ("power_delivery", None),
    ]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["dance"], "alerts dance: there is no such thing"),
        (["ack", "x"], "name it by its number"),
        (["silence", "--end", "+2h", "--weekly", "mon"], "'mon' is no weekly window: write it like"),
        (["silence"], "say with --end until when, such as 2026-12-01T06:00Z or +2h\n"),
        (
            ["silence", "x", "--weekly", "fri 22:00-06:00"],
            "say with --end until when, such as 2026-12-01T06:00Z or +180d; a year is the most",
        ),
        (["set", "gpu_hot"], "say FIELD=VALUE"),
        (["set", "gpu_hot", "severity=bad"], "Rule gpu_hot: severity is info, warning or critical, not 'bad'."),
        (["enable"], "name the rule"),
        (["list", "extra"], "alerts list: “extra” is one word too many"),
        (["ack", "1", "2"], "alerts ack: “2” is one word too many"),
        (["check"], "name a file"),
    ],
)
def test_what_cannot_be_asked(do: Do, words: list[str], sentence: str) -> None:
    status, _, said = do(*words)
    assert (status, said[: len(sentence)]) == (2, sentence)


def test_what_is_not_there_ends_as_with_runs(do: Do) -> None:
    assert do("show", "99") == (1, "", "There is no alert 99.\n")


def test_since_is_when_it_began_to_be_wrong(do: Do) -> None:
    """As on its page; and an instant names its zone."""
    (one,) = (found for found in json.loads(do("list", "--json")[1])["alerts"] if found["id"] == 3)
    assert one["began"] < one["fired"]
    row = next(line for line in do("list")[1].splitlines() if line.startswith("3 "))
    since = instant(one["began"])
    assert since in row
    assert since.split()[2] == time.strftime("%Z", time.localtime(one["began"] / 1000))
    assert since in do("show", "3")[1]


def test_nobody_carries_it_out(do: Do, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alert_answers, "WAIT_S", 0.01)
    assert do("ack", "3") == (3, "", SILENT_COLLECTOR + "\n")


def test_a_rule_that_nobody_hears_of(do: Do, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TACHOGRAPH_CHANNELS", '{"ops": {"url": "json://127.0.0.1/x"}}')
    lines = [line.split(None, 1) for line in do("rules", "versions_differ")[1].splitlines()]
    assert ["untold", "ops hears warning and graver"] in lines
    assert "untold" not in do("rules", "gpu_hot")[1]


def test_a_silence_of_every_week(world: World, do: Do) -> None:
    with collecting(world):
        weekly = "fri,sat 22:00-06:00"
        assert do("silence", "backup", "--rule", "gpu_hot", "--weekly", weekly, "--end", "+180d")[0] == 0
    found = world.writer.silences()[-1]
    assert found.weekly == Weekly(("fri", "sat"), "22:00", "06:00")
    assert do("silences")[1].splitlines()[1].endswith("rule gpu_hot; fri,sat 22:00-06:00 UTC  backup")
    told = json.loads(do("silences", "--json")[1])["silences"]
    assert [one["weekly"] for one in told if one["comment"] == "backup"] == [
        {"days": ["fri", "sat"], "from": "22:00", "to": "06:00", "zone": "UTC"}
    ]
    (state,) = [one["state"] for one in told if one["comment"] == "backup"]
    assert state == ("active" if found.active(world.now) else "planned")


def test_rules_for_prometheus(do: Do) -> None:
    status, told, _ = do("prometheus")
    assert (status, told.splitlines()[0]) == (
        0,
        "# Alert rules of Tachograph. Left out, because Prometheus cannot know it:",
    )
    assert "      - alert: power_delivery\n" in told
    assert told.endswith('docs/alerts.md#collector_silent"\n')
    assert "gpu_hot" in json.loads(do("prometheus", "--json")[1])["rules"]


def test_a_replay_of_less_than_a_day_says_nothing_of_a_week(do: Do) -> None:
    assert do("replay", "power_delivery")[1].startswith("power_delivery would have fired 0 times in 1m 0s, between ")


@pytest.mark.parametrize(
    ("times", "length_ms", "said"),
    [(0, 0, "0 times, as nothing was recorded"),
     (1, 599_999, "once in 10m 0s"), (13, 600_000, "13 times in 10m 0s"), (2, 86_399_999, "2 times in 1d 0h"),
     (2, 86_400_000, "2 times, 14.0 a week"), (1, 604_800_000, "once, 1.0 a week")],
)  # fmt: skip
def test_how_often_a_rule_would_have_fired(times: int, length_ms: int, said: str) -> None:
    per_week = times * 604_800_000 / length_ms if length_ms >= 86_400_000 else None
    assert often(times, length_ms, per_week) == said


def test_rules_of_a_file_are_checked(do: Do, tmp_path: Path) -> None:
    good, bad, broken = (tmp_path / name for name in ("good.toml", "bad.toml", "broken.toml"))
    good.write_text('[alerts.gpu_hot]\nfor = "5s"\n')
    bad.write_text('[alerts.gpu_hot]\nfor = "soon"\n')
    broken.write_text("[alerts")
    assert do("check", str(good)) == (0, f"51 rules, 1 of them from {good}: all are well\n", "")
    assert do("check", str(bad))[2].startswith("rule gpu_hot: for: 'soon' is no duration")
    bad.write_text('[alerts.gpu_hot]\nfor = "soon"\n[alerts.gpu_hott]\nfor = "5s"\n')
    assert [line.split(":")[0] for line in do("check", str(bad))[2].splitlines()] == ["rule gpu_hot", "rule gpu_hott"]
    bad.write_text('[alerts.gpu_hot]\nbecause_of = ["moon"]\n')
    assert do("check", str(bad))[2] == "rule gpu_hot: because_of names moon, which is no rule\n"
    bad.write_text('[alerts.gpu_too_hot]\nbecause_of = ["gpu_hot"]\n')
    circle = "rule gpu_too_hot: because_of goes in a circle: gpu_too_hot → gpu_hot → gpu_too_hot\n"
    assert do("check", str(bad))[2] == circle
    bad.write_text('[alerts.power_delivery]\nsettings = { powr = "25 W" }\n')
    unread = "rule power_delivery: settings: nothing reads powr: it has busy, clock, power\n"
    assert do("check", str(bad)) == (1, "", unread)
    expected = "is wrong, expected a table for each rule: [alerts.RULE] in the file, a JSON object in the environment\n"
    for text, what in (
        ("[alerts]\ngpu_hot = 5\n", "'gpu_hot'"),
        ('[[alerts]]\nfor = "5s"\n', "[{'for': '5s'}]"),
        ("alerts = 3\n", "3"),
    ):
        bad.write_text(text)
        assert do("check", str(bad)) == (1, "", f"alerts: {what} {expected}")
    assert do("check", str(broken))[0] == 1
    assert do("check", str(tmp_path / "none"))[0] == 1
