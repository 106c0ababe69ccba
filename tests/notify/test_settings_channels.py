"""Settings of channels: what each source gives, and how wrong values are refused without being quoted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from alerts.notices import Channel
from alerts.rule import Severity
from cli import configs, destinations
from cli.main import wrong_beside
from pipeline.notify.destination import EXPECTED
from settings import Settings, SettingsError, load, to_environment

FILE = """
[channels.ops]
url = "ntfys://ntfy.example.org/topic-of-mine"
severity = "critical"
repeat = "30min"
resolved = false
per_hour = 7
gather = 0
enabled = false
private = true

[channels.night]
url_env = "NIGHT"

[heartbeat]
url = "https://hc.example/uuid-1"
every = "2min"
"""


def read(tmp_path: Path, text: str) -> Settings:
    (tmp_path / "tachograph.toml").write_text(text)
    return load({}, {}, tmp_path)


def test_every_field(tmp_path: Path) -> None:
    settings = read(tmp_path, FILE)
    ops, night = destinations.destinations(settings, {"NIGHT": " json://10.0.0.1/x \n"})
    assert ops.channel == Channel("ops", Severity.CRITICAL, 1_800_000, False, 7, 0, False)
    assert (ops.url, ops.private, ops.mask) == ("ntfys://ntfy.example.org/topic-of-mine", True, "ntfys://…")
    assert night.channel == Channel("night")
    assert (night.url, night.private) == ("json://10.0.0.1/x", False)
    heart = destinations.heartbeat(settings, {})
    assert heart is not None
    assert (heart.url, heart.every_s, heart.private) == ("https://hc.example/uuid-1", 120.0, False)


def test_children_read_the_same(tmp_path: Path) -> None:
    settings = read(tmp_path, FILE)
    assert load({}, to_environment(settings), tmp_path) == settings
    assert load({}, to_environment(Settings()), tmp_path / "nowhere").channels == {}


def test_an_address_is_in_no_representation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NIGHT", "json://h/hunter22")
    settings = read(tmp_path, FILE)
    found = destinations.destinations(settings)
    web, collector = configs.web(settings, None), configs.collector(settings)
    shown = f"{settings} {found} {destinations.heartbeat(settings)} {web} {collector}"
    for secret in ("topic-of-mine", "hunter22", "uuid-1"):
        assert secret not in shown
    assert [one.mask for one in web.channels] == ["ntfys://…", "json://…"]
    assert [one.name for one in collector.channels] == ["ops", "night"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("url = 3", "channels: 'ops.url=…' is wrong, expected an address without spaces"),
        ('url = "json://h/hunter22 x"', "channels: 'ops.url=…' is wrong, expected an address without spaces"),
        ("", "channels: 'ops' is wrong, expected one of url, url_file, url_env"),
        (
            'url = "json://h/hunter22"\nurl_env = "A"',
            "channels: 'ops' is wrong, expected one of url, url_file, url_env",
        ),
        (
            'url = "json://h/hunter22"\nseverity = "loud"',
            "channels: 'ops.severity=loud' is wrong, expected one of info, warning, critical",
        ),
        (
            'url = "json://h/hunter22"\nrepeat = "4 weeks"',
            "channels: 'ops.repeat=4 weeks' is wrong, expected a duration such as 30s, 10min or 4h, at most 30 days",
        ),
        (
            'url = "json://h/hunter22"\nper_hour = 0',
            "channels: 'ops.per_hour=0' is wrong, expected a whole number from 1 to 1000",
        ),
        ('url_env = "A B"', "channels: 'ops.url_env=A B' is wrong, expected the name of an environment variable"),
        (
            'url = "json://h/hunter22"\ncolour = "red"',
            "channels: 'ops.colour' is wrong, expected one of url, url_file, url_env, private, severity, repeat, "
            "resolved, per_hour, gather, enabled",
        ),
    ],
)
def test_what_is_wrong_is_said_and_no_address(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read(tmp_path, f"[channels.ops]\n{text}\n")
    assert caught.value.problems == (problem,)
    assert "hunter22" not in str(caught.value)


@pytest.mark.parametrize(
    ("environ", "problem"),
    [
        ({"TACHOGRAPH_CHANNELS": "json://h/hunter22"}, "TACHOGRAPH_CHANNELS: '…' is wrong, expected a table for each"),
        ({"TACHOGRAPH_CHANNELS": '["hunter22"]'}, "TACHOGRAPH_CHANNELS: '…' is wrong, expected a table for each"),
        ({"TACHOGRAPH_CHANNELS": '{"a b": {}}'}, "TACHOGRAPH_CHANNELS: 'a b' is wrong, expected a name of at most 63"),
        ({"TACHOGRAPH_CHANNELS": '{"a": 1}'}, "TACHOGRAPH_CHANNELS: 'a' is wrong, expected a table with url"),
        ({"TACHOGRAPH_HEARTBEAT": '{"url": "http://h", "every": 1}'}, "TACHOGRAPH_HEARTBEAT: 'heartbeat.every=1' is"),
        ({"TACHOGRAPH_HEARTBEAT": '{"every": 60}'}, "TACHOGRAPH_HEARTBEAT: 'heartbeat' is wrong, expected one of url"),
    ],
)
def test_the_environment_is_judged_alike(tmp_path: Path, environ: dict[str, str], problem: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load({}, environ, tmp_path)
    (found,) = caught.value.problems
    assert found.startswith(problem)
    assert "hunter22" not in found


def test_several_wrong_channels_are_said_at_once(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n")
    tables = {"a": {"url": "xml://hunter22"}, "b": {"url": "hunter22"}, "c": {"url_file": str(tmp_path / "empty")}}
    settings = load({}, {"TACHOGRAPH_CHANNELS": json.dumps(tables)}, tmp_path)
    with pytest.raises(SettingsError) as caught:
        destinations.destinations(settings, {})
    expected = "expected an address that begins with ntfy://, ntfys://, discord://, slack://, tgram://, mailto://, "
    assert caught.value.problems == (
        f"channels.a: 'xml://…' is wrong, {expected}mailtos://, json://, jsons://",
        f"channels.b: '…' is wrong, {expected}mailtos://, json://, jsons://",
        f"channels.c.url_file: {str(tmp_path / 'empty')!r} is wrong, expected a file with one address",
    )


WRONG = """port = 99999
[channels.ops]
url = "foo://hunter22"
severity = "bad"
[channels.night]
url = "ntfys://h/x"
[channels.none]
url = 5
[heartbeat]
url = "ftp://hunter22"
every = "x"
[alerts.gpu_hot]
for = "soon"
"""


def test_addresses_are_judged_beside_all_else_that_is_wrong(tmp_path: Path) -> None:
    """A channel whose severity is wrong, too, whatever else is; addresses that go anywhere are asked of right settings
    by whoever sends there."""
    (tmp_path / "tachograph.toml").write_text(WRONG)
    with pytest.raises(SettingsError) as caught:
        load({}, {}, tmp_path, judge=wrong_beside)
    found = caught.value.problems
    assert [one for one in found if "foo://" in one] == [f"channels.ops: 'foo://…' is wrong, expected {EXPECTED}"]
    assert "heartbeat: 'ftp://…' is wrong, expected an address with http:// or https://" in found
    assert any("channels: 'ops.severity=bad' is wrong" in one for one in found)
    assert "alerts: rule gpu_hot: for: 'soon' is no duration: write it like 90s, 2min or 24h" in found
    assert any(one.startswith("port: ") for one in found)
    assert "hunter22" not in str(caught.value)
    assert not any("night" in one for one in found)


def test_an_address_is_judged_in_a_variable_and_no_other_form_is(tmp_path: Path) -> None:
    spelled = json.dumps({"a": {"url": "foo://x"}, "b": {"url": "two words"}, "c": 5})
    assert destinations.wrong_addresses({"channels": spelled}) == [
        f"channels.a: 'foo://…' is wrong, expected {EXPECTED}"
    ]
    for other in ("{", "[]", 5, None):
        assert destinations.wrong_addresses({"channels": other, "heartbeat": other}) == []
    right = "[channels.ops]\nurl = 'foo://x'\n"
    (tmp_path / "tachograph.toml").write_text(right)
    assert load({}, {}, tmp_path, judge=destinations.wrong_addresses).channels["ops"]["url"] == "foo://x"
