"""The settings: what each source gives, which one wins, and how wrong values are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from settings import TABLE, Settings, SettingsError, load, to_environment, without_password


def refused(tmp_path: Path, flags: dict[str, object], environ: dict[str, str] | None = None, **more: str) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        load(flags, environ or {}, tmp_path, **more)
    return list(caught.value.problems)


def test_defaults(tmp_path: Path) -> None:
    found = load({}, {"HOME": "/home/ann"}, tmp_path)
    assert found.store == "sqlite:////home/ann/.local/state/tachograph/tachograph.db"
    assert (found.host, found.port, found.interval_s, found.raw_days) == ("127.0.0.1", 8050, 1.0, 30.0)
    assert found.run_silence_s == 60.0
    assert (found.summary_months, found.size_limit, found.disk_reserve) == (24.0, None, None)
    assert (found.nodes, found.engines, found.deployments, found.allowed_hosts) == ({}, {}, {}, ())
    assert (found.token_file, found.discover, found.log_level) == (None, True, "info")
    assert (found.agent_host, found.agent_port, found.agent_root) == ("127.0.0.1", 9810, "/")
    assert (found.demo_nodes, found.demo_speed, found.demo_seed, found.demo_control_url) == (16, 1.0, 1964, None)
    assert found.origin == {}


def test_state_directory_follows_xdg(tmp_path: Path) -> None:
    found = load({}, {"HOME": "/home/ann", "XDG_STATE_HOME": "/var/state"}, tmp_path)
    assert found.store == "sqlite:////var/state/tachograph/tachograph.db"


def test_later_sources_win(tmp_path: Path) -> None:
    (tmp_path / "tachograph.toml").write_text('port = 1000\ninterval_s = 2\nlog_level = "debug"\nraw_days = 2\n')
    environ = {"TACHOGRAPH_PORT": "2000", "TACHOGRAPH_INTERVAL_S": "3.5"}
    found = load({"port": "3000"}, environ, tmp_path)
    assert (found.port, found.interval_s, found.log_level, found.raw_days) == (3000, 3.5, "debug", 2.0)
    assert found.origin == {
        "port": "flag",
        "interval_s": "environment",
        "log_level": "file",
        "raw_days": "file",
    }


@pytest.mark.parametrize("source", ["file", "environment", "flag"])
def test_a_former_name_is_read(tmp_path: Path, source: str) -> None:
    if source == "file":
        (tmp_path / "tachograph.toml").write_text("keep_hours = 48\n")
    environ = {"TACHOGRAPH_KEEP_HOURS": "48"} if source == "environment" else {}
    found = load({"keep_hours": "48"} if source == "flag" else {}, environ, tmp_path)
    assert (found.raw_days, found.origin) == (2.0, {"raw_days": source})
    assert load({}, {**environ, **to_environment(found)}, tmp_path) == found


def test_a_stronger_source_wins_by_either_name(tmp_path: Path) -> None:
    (tmp_path / "tachograph.toml").write_text("raw_days = 9\n")
    assert load({}, {"TACHOGRAPH_KEEP_HOURS": "24"}, tmp_path).raw_days == 1.0
    assert load({"raw_days": "3"}, {"TACHOGRAPH_KEEP_HOURS": "24"}, tmp_path).raw_days == 3.0
    assert load({}, {"TACHOGRAPH_KEEP_HOURS": "24", "TACHOGRAPH_RAW_DAYS": ""}, tmp_path).raw_days == 1.0
    assert load({}, {"TACHOGRAPH_KEEP_HOURS": "", "TACHOGRAPH_RAW_DAYS": "4"}, tmp_path).raw_days == 4.0
    assert load({}, {"TACHOGRAPH_KEEP_HOURS": ""}, tmp_path).raw_days == 30.0


def test_both_names_at_once_are_refused(tmp_path: Path) -> None:
    (tmp_path / "tachograph.toml").write_text("raw_days = 9\nkeep_hours = 1\n")
    assert refused(tmp_path, {}) == ["keep_hours: is what raw_days was called before; give one of them"]
    environ = {"TACHOGRAPH_KEEP_HOURS": "0"}
    (tmp_path / "tachograph.toml").write_text("")
    assert refused(tmp_path, {}, environ) == [
        "TACHOGRAPH_KEEP_HOURS: '0' is wrong, expected a number from 1 to 87600",
    ]


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("64MiB", 64 << 20),
        ("67108864", 64 << 20),
        (67108864, 64 << 20),
        ("1.5 GB", 1_500_000_000),
        ("20gib", 20 << 30),
        ("2TB", 2_000_000_000_000),
        ("70000kb", 70_000_000),
        ("off", None),
    ],
)
def test_sizes(tmp_path: Path, raw: object, value: int | None) -> None:
    found = load({"size_limit": raw}, {}, tmp_path)
    assert found.size_limit == value
    assert load({}, to_environment(found), tmp_path) == found


@pytest.mark.parametrize("raw", ["67108863", "63MiB", "5", "-1GB", "1 XB", "GB", "1e9", True, "1.GB"])
def test_wrong_sizes(tmp_path: Path, raw: object) -> None:
    expected = "a size such as 20GB or 512MiB, at least 64MiB, or off"
    assert refused(tmp_path, {"size_limit": raw}) == [f"--size-limit: {str(raw)!r} is wrong, expected {expected}"]


def test_a_reserve_may_be_nothing_but_not_off(tmp_path: Path) -> None:
    assert load({"disk_reserve": "0"}, {}, tmp_path).disk_reserve == 0
    assert refused(tmp_path, {"disk_reserve": "off"}) == [
        "--disk-reserve: 'off' is wrong, expected a size such as 20GB or 512MiB",
    ]


def test_a_table_is_replaced_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "tachograph.toml").write_text('[nodes]\na = "http://10.0.0.1:9810"\nb = "10.0.0.2"\n')
    assert load({}, {}, tmp_path).nodes == {"a": "http://10.0.0.1:9810", "b": "http://10.0.0.2:9810"}
    assert load({"nodes": ["c=10.0.0.3"]}, {}, tmp_path).nodes == {"c": "http://10.0.0.3:9810"}


def test_every_shape_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text(
        'engines = ["http://10.0.0.1:8000", "b=https://b.example/x/metrics?model=m"]\n'
        'allowed_hosts = ["*.example.org", "Proxy"]\ndiscover = false\n'
        '[deployments]\nkimi = ["10.0.0.1:8000", "b"]\n'
    )
    found = load({}, {}, tmp_path, "other.toml")
    assert found.engines == {"10.0.0.1:8000": "http://10.0.0.1:8000", "b": "https://b.example/x/metrics?model=m"}
    assert found.deployments == {"kimi": ("10.0.0.1:8000", "b")}
    assert found.allowed_hosts == ("*.example.org", "proxy")
    assert found.discover is False


def test_environment_spells_tables_with_spaces(tmp_path: Path) -> None:
    environ = {
        "TACHOGRAPH_NODES": "a=10.0.0.1  b=http://10.0.0.2:1",
        "TACHOGRAPH_ENGINES": "head=10.0.0.1 x=10.0.0.2:8001",
        "TACHOGRAPH_DEPLOYMENTS": "kimi=head,x",
        "TACHOGRAPH_ALLOWED_HOSTS": "one two",
        "TACHOGRAPH_DISCOVER": "no",
    }
    found = load({}, environ, tmp_path)
    assert found.nodes == {"a": "http://10.0.0.1:9810", "b": "http://10.0.0.2:1"}
    assert found.engines == {"head": "http://10.0.0.1:8000", "x": "http://10.0.0.2:8001"}
    assert found.deployments == {"kimi": ("head", "x")}
    assert found.allowed_hosts == ("one", "two")
    assert found.discover is False


def test_an_empty_variable_is_the_default(tmp_path: Path) -> None:
    (tmp_path / "tachograph.toml").write_text("port = 1000\n")
    found = load({}, {"TACHOGRAPH_HOST": "", "TACHOGRAPH_PORT": ""}, tmp_path)
    assert (found.host, found.port) == ("127.0.0.1", 8050)


@pytest.mark.parametrize(
    ("given", "name", "url"),
    [
        ("10.0.0.1", "10.0.0.1:9810", "http://10.0.0.1:9810"),
        ("10.0.0.1:99", "10.0.0.1:99", "http://10.0.0.1:99"),
        ("http://spark-01:9810/metrics", "spark-01:9810", "http://spark-01:9810"),
        ("http://spark-01", "spark-01", "http://spark-01"),
        ("https://proxy/agents/1/metrics", "proxy", "https://proxy/agents/1/metrics"),
        ("t=http://a:8000/prometheus/metrics", "t", "http://a:8000/prometheus/metrics"),
        ("http://a:8000/?model=a=b", "a:8000", "http://a:8000?model=a=b"),
        ("http://a:8000/metrics/", "a:8000", "http://a:8000"),
        ("n=http://[fd00::1]:9810", "n", "http://[fd00::1]:9810"),
        ("[fd00::1]:9810", "[fd00::1]:9810", "http://[fd00::1]:9810"),
        ("[fd00::1]", "[fd00::1]:9810", "http://[fd00::1]:9810"),
    ],
)
def test_addresses(tmp_path: Path, given: str, name: str, url: str) -> None:
    assert load({"nodes": [given]}, {}, tmp_path).nodes == {name: url}


@pytest.mark.parametrize(
    "given",
    [
        "ftp://x",
        "http://u:p@x",
        "http://x/#a",
        "http://x:port",
        "http://x y",
        "http://",
        "a=",
        "a=x:99999",
    ],
)
def test_wrong_addresses(tmp_path: Path, given: str) -> None:
    (problem,) = refused(tmp_path, {"nodes": [given]})
    assert problem.startswith("--node: ")
    assert "expected an address such as http://10.0.0.1:8000" in problem


@pytest.mark.parametrize("name", ["cluster", "deployment/x", "", "-a", "ä", "a b", "a" * 64])
def test_wrong_names(tmp_path: Path, name: str) -> None:
    path = tmp_path / "tachograph.toml"
    path.write_text(f'[nodes]\n"{name}" = "10.0.0.1"\n')
    (problem,) = refused(tmp_path, {})
    assert problem.startswith(f"nodes: {name!r} is wrong, expected a name")


def test_everything_wrong_is_said_at_once(tmp_path: Path) -> None:
    (tmp_path / "tachograph.toml").write_text('keep_hours = "long"\nprot = 1\nzzzzzzz = 1\ndemo_nodes = 3\n')
    problems = refused(
        tmp_path,
        {
            "port": "80a",
            "nodes": ["a=http://x#y", "a=10.0.0.1", "a=10.0.0.2"],
            "log_level": "loud",
            "discover": "maybe",
        },
        {"TACHOGRAPH_INTERVAL_S": "0.1", "TACHOGRAPH_STORE": "mysql://ann:secret@db/x", "TACHOGRAPH_HOST": "http://x"},
    )
    file = tmp_path / "tachograph.toml"
    known = ", ".join(row.name for row in TABLE if not row.name.startswith("demo_"))
    assert sorted(problems) == sorted(
        [
            f"{file}: there is no setting prot; did you mean port?",
            f"{file}: there is no setting zzzzzzz; known are {known}",
            f"{file}: there is no setting demo_nodes; did you mean nodes?",
            "keep_hours: 'long' is wrong, expected a number from 1 to 87600",
            "TACHOGRAPH_INTERVAL_S: '0.1' is wrong, expected a number from 0.2 to 60",
            "TACHOGRAPH_STORE: 'mysql://ann:…@db/x' is wrong, expected a path, sqlite:///PATH or postgresql+psycopg://USER:PASSWORD@HOST/DATABASE",
            "TACHOGRAPH_HOST: 'http://x' is wrong, expected a host name or an IP address, without scheme and port",
            "--port: '80a' is wrong, expected a whole number from 0 to 65535",
            "--node: 'http://x#y' is wrong, expected an address such as http://10.0.0.1:8000, "
            "without user and fragment",
            "--node: 'a' is wrong, expected each name once",
            "--log-level: 'loud' is wrong, expected one of debug, info, warning, error",
            "--discover: 'maybe' is wrong, expected true or false",
        ]
    )


@pytest.mark.parametrize(
    ("port", "right"), [("0", True), ("65535", True), ("65536", False), ("-1", False), ("8.5", False)]
)
def test_ports(tmp_path: Path, port: str, right: bool) -> None:
    if right:
        assert load({"port": port}, {}, tmp_path).port == int(port)
    else:
        assert refused(tmp_path, {"port": port})


@pytest.mark.parametrize("raw", ["nan", "inf", "true", "", "0.19", "60.1"])
def test_wrong_intervals(tmp_path: Path, raw: str) -> None:
    assert refused(tmp_path, {"interval_s": raw}) == [
        f"--interval: {raw!r} is wrong, expected a number from 0.2 to 60",
    ]


@pytest.mark.parametrize("raw", ["4.9", "3601"])
def test_wrong_silences(tmp_path: Path, raw: str) -> None:
    told = f"--run-silence: {raw!r} is wrong, expected a number from 5 to 3600"
    assert refused(tmp_path, {"run_silence_s": raw}) == [told]


def test_true_is_no_number(tmp_path: Path) -> None:
    (tmp_path / "tachograph.toml").write_text(
        "port = true\nkeep_hours = true\nhost = 5\nnodes = 7\nallowed_hosts = 7\n"
    )
    assert len(refused(tmp_path, {})) == 5


def test_stores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/ann")

    def store(raw: str) -> str:
        return load({"store": raw}, {}, tmp_path).store

    assert store("a.db") == f"sqlite:///{tmp_path}/a.db"
    assert store("~/a.db") == "sqlite:////home/ann/a.db"
    assert store("sqlite:///a") == f"sqlite:///{tmp_path}/a"
    assert store("sqlite:///a.db") == f"sqlite:///{tmp_path}/a.db"
    assert store("sqlite:////srv/a.db") == "sqlite:////srv/a.db"
    for server in ("ann:p%40w@db:5433/x", "/x", "ann@/x?host=/run/postgresql"):
        assert store(f"postgresql+psycopg://{server}") == f"postgresql+psycopg://{server}"
    expected = "a path, sqlite:///PATH or postgresql+psycopg://USER:PASSWORD@HOST/DATABASE"
    wrongs = ("sqlite://", "sqlite:///", "sqlite://x", "postgresql://db/t", "http://x/y")
    for wrong in (*wrongs, *(f"postgresql+psycopg://{end}" for end in ("", "db", "db/", "db?host=/x"))):
        assert refused(tmp_path, {"store": wrong}) == [f"--store: {wrong!r} is wrong, expected {expected}"]


def test_hosts(tmp_path: Path) -> None:
    assert load({"host": "[::1]"}, {}, tmp_path).host == "::1"
    assert load({"host": "Spark-01.local"}, {}, tmp_path).host == "spark-01.local"
    assert refused(tmp_path, {"host": "*.example.org"})
    assert refused(tmp_path, {"allowed_hosts": ["a.example:80/x"]})


def test_deployments_name_engines_that_exist(tmp_path: Path) -> None:
    flags = {"engines": ["head=10.0.0.1"], "deployments": ["kimi=head,tail", "alone"]}
    assert refused(tmp_path, flags) == [
        "--deployment: 'alone' is wrong, expected NAME=ENGINE,ENGINE",
    ]
    flags["deployments"] = ["kimi=head,tail"]
    assert refused(tmp_path, flags) == [
        "deployments: kimi='tail' is wrong, expected the name of an engine (head)",
    ]
    assert refused(tmp_path, {"deployments": ["kimi="]}) == [
        "--deployment: 'kimi=' is wrong, expected NAME=ENGINE,ENGINE",
    ]


def test_a_node_and_an_engine_cannot_share_a_name(tmp_path: Path) -> None:
    assert refused(tmp_path, {"nodes": ["a=10.0.0.1"], "engines": ["a=10.0.0.1"]}) == [
        "engines: 'a' is wrong, expected a name that no node has",
    ]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "broken.toml").write_text("port = ")
    (tmp_path / "latin.toml").write_bytes(b'host = "\xff"')
    for name in ("broken.toml", "latin.toml", "absent.toml"):
        (problem,) = refused(tmp_path, {}, config=name)
        assert problem.startswith(f"{tmp_path / name} cannot be read: ")
        (problem,) = refused(tmp_path, {}, {"TACHOGRAPH_CONFIG": name})
        assert problem.startswith(f"{tmp_path / name} cannot be read: ")
    (tmp_path / "tachograph.toml").write_text("port = ")
    assert load({}, {}, tmp_path, "").port == 8050, "an empty path means no file"


def test_children_read_the_same_settings(tmp_path: Path) -> None:
    (tmp_path / "tachograph.toml").write_text("port = 1\n")
    flags = {
        "store": "sqlite:////srv/t.db",
        "nodes": ["a=10.0.0.1", "http://[::1]:9810"],
        "engines": ["head=10.0.0.1", "10.0.0.2"],
        "deployments": ["kimi=head,10.0.0.2:8000", "other=head"],
        "node_token_file": "/etc/node",
        "discover": False,
        "interval_s": "0.25",
        "raw_days": "100",
        "size_limit": "20GB",
        "host": "::",
        "port": "0",
        "allowed_hosts": ["*.example.org", "b"],
        "demo_speed": "2.5",
        "demo_control_url": "http://127.0.0.1:99/control",
    }
    first = load(flags, {}, tmp_path)
    parent = {"TACHOGRAPH_TOKEN_FILE": "/etc/stale", "TACHOGRAPH_ENGINE_TOKEN_FILE": "/etc/stale", "HOME": "/x"}
    assert load({}, {**parent, **to_environment(first)}, tmp_path) == first
    plain = load({}, {"HOME": "/x"}, tmp_path, "")
    assert load({}, {**parent, **to_environment(plain)}, tmp_path) == plain


def test_the_table_is_whole() -> None:
    assert len({row.name for row in TABLE}) == len(TABLE)
    for row in TABLE:
        assert row.help.endswith("."), row.name
        assert row.form.shown, row.name
        assert row.form.metavar, row.name
        assert (row.flag is None) == (row.commands == ()), row.name
        assert hasattr(Settings, row.name), row.name
    for command in {command for row in TABLE for command in row.commands}:
        flags = [row.flag for row in TABLE if command in row.commands]
        assert len(set(flags)) == len(flags), command


def test_passwords_do_not_show() -> None:
    assert without_password("postgresql://ann:p:w@db/x") == "postgresql://ann:…@db/x"
    assert without_password("postgresql://ann:p@w/@db/x y://a:b@c") == "postgresql://ann:…@db/x y://a:…@c"
    assert without_password("postgresql://ann@db/x") == "postgresql://ann@db/x"
    assert without_password("postgresql://h/x?password=a@b&b=c") == "postgresql://h/x?password=…&b=c"


def test_a_file_without_an_end_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        load({}, {}, tmp_path, "/dev/zero")
    assert caught.value.problems == ("/dev/zero cannot be read: it is larger than 1 MiB",)
