"""The table: every setting once, as a field whose row says what it may be, what for, and which commands take it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from settings.channels import CHANNELS, HEARTBEAT
from settings.figures import ROOFLINE
from settings.forms import (
    AGENT_PORT,
    ENGINE_PORT,
    GROUPS,
    HOST,
    HOSTS,
    LOG_LEVELS,
    PATH,
    PORT,
    STORE,
    SWITCH,
    Form,
    choice,
    number,
    size,
    targets,
    url,
)
from settings.rules import RULES

PREFIX = "TACHOGRAPH_"


@dataclass(frozen=True, slots=True)
class Former:
    """An earlier name of a setting, which is read as before, and what its value is now."""

    name: str
    form: Form
    now: Callable[[Any], Any]

    @property
    def environment(self) -> str:
        return PREFIX + self.name.upper()

    @property
    def flag(self) -> str:
        return f"--{self.name.replace('_', '-')}"


@dataclass(frozen=True, slots=True)
class Setting:
    """One row of the table. `commands` are those whose flag it is; no flag means environment and file only."""

    name: str
    form: Form
    default: Any
    help: str
    flag: str | None
    commands: tuple[str, ...]
    shown_default: str
    formerly: Former | None = None

    @property
    def environment(self) -> str:
        return PREFIX + self.name.upper()

    @property
    def default_text(self) -> str:
        """The default as people write it, "" where there is none."""
        return "" if self.default in (None, {}, ()) else self.form.render(self.default)

    @property
    def in_file(self) -> bool:
        """Options of the demo make no sense in a file that describes a real cluster."""
        return not self.name.startswith("demo_")


HUB = ("run", "collect", "web", "check")
COLLECTOR = ("run", "collect")
WEB = ("run", "web", "demo")


KEEP_HOURS = Former("keep_hours", number(1, 87600), lambda hours: hours / 24)


def _setting(
    form: Form,
    default: Any,
    text: str,
    commands: tuple[str, ...],
    flag: str | None = "",
    shown: str = "",
    formerly: Former | None = None,
) -> Any:
    """A row of the table; the flag is the name with dashes unless given, None for a setting without one."""
    metadata = {"row": (form, default, text, commands, flag, shown, formerly)}
    return (
        field(default_factory=dict, metadata=metadata) if default == {} else field(default=default, metadata=metadata)
    )


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings, as values. `origin` tells where each came from: default, file, environment or flag."""

    store: str = _setting(
        STORE,
        "",
        "Where samples are kept: an SQLite file, or a database on a PostgreSQL server.",
        (
            *HUB,
            "demo",
            "export",
            "import",
            "import-prometheus",
            "bench",
            "backup",
            "restore",
            "verify",
            "runs",
            "alerts",
            "notify",
        ),
        shown="tachograph/tachograph.db below $XDG_STATE_HOME (~/.local/state)",
    )
    nodes: Mapping[str, str] = _setting(
        targets(AGENT_PORT, "spark-01=http://10.0.0.1:9810"),
        {},
        "Agents to read, one per machine. The name is the node's identity; without one it is host:port, "
        "of a bare host host:9810.",
        (*COLLECTOR, "check"),
        "--node",
    )
    engines: Mapping[str, str] = _setting(
        targets(ENGINE_PORT, "http://10.0.0.1:8000"),
        {},
        "Inference engines to read: vLLM, SGLang, llama.cpp or TensorRT-LLM. Without a name it is host:port.",
        (*COLLECTOR, "check"),
        "--engine",
    )
    deployments: Mapping[str, tuple[str, ...]] = _setting(
        GROUPS,
        {},
        "Engines that serve one model together. Engines named in none are grouped by the model they serve.",
        COLLECTOR,
        "--deployment",
    )
    roofline: Mapping[str, Mapping[str, float]] = _setting(
        ROOFLINE,
        {},
        "What a deployment's model weighs, to show its step time against the roofline (docs/roofline.md).",
        ("run", "web"),
    )
    references: str | None = _setting(
        PATH,
        None,
        "TOML file with further published results that runs are laid beside (docs/runs.md).",
        ("run", "web"),
    )
    alerts: Mapping[str, Mapping[str, Any]] = _setting(
        RULES,
        {},
        "Fields of alert rules, over those that come with the product; new rules, too (docs/alerts.md).",
        (),
        None,
    )
    channels: Mapping[str, Mapping[str, Any]] = _setting(
        CHANNELS,
        {},
        "Who is told of alerts: ntfy, Discord, Slack, Telegram, e-mail or a webhook (docs/notifications.md).",
        (),
        None,
    )
    heartbeat: Mapping[str, Any] = _setting(
        HEARTBEAT,
        {},
        "Address that is asked for as long as samples are stored, so that its silence tells (docs/notifications.md).",
        (),
        None,
    )
    web_url: str | None = _setting(
        Form(lambda raw: url(raw, 80), shown="an address such as http://hub:8050", metavar="URL"),
        None,
        "Address by which people reach the web page: links in notifications begin with it.",
        ("run", "notify"),
        "--web-url",
        shown="made of host and port",
    )
    node_token_file: str | None = _setting(
        PATH, None, "File with the bearer token that is sent to every agent.", (*COLLECTOR, "check")
    )
    engine_token_file: str | None = _setting(
        PATH, None, "File with the bearer token that is sent to every engine.", (*COLLECTOR, "check")
    )
    discover: bool = _setting(
        SWITCH,
        True,
        "With neither nodes nor engines configured, look once for engines on this machine's usual ports.",
        ("run",),
    )
    interval_s: float = _setting(number(0.2, 60), 1.0, "Seconds between samples.", (*COLLECTOR, "demo"), "--interval")
    run_silence_s: float = _setting(
        number(5, 3600),
        60.0,
        "Seconds without requests and tokens after which a run ends (docs/runs.md).",
        (*COLLECTOR, "demo"),
        "--run-silence",
    )
    raw_days: float = _setting(
        number(0.04, 3650),
        30.0,
        "Days for which every sample is kept; of older hours a summary is.",
        COLLECTOR,
        formerly=KEEP_HOURS,
    )
    summary_months: float = _setting(
        number(1, 1200),
        24.0,
        "Months for which summaries of hours are kept, and events, absences and facts; never shorter than samples.",
        COLLECTOR,
    )
    size_limit: int | None = _setting(
        size(64 << 20, off=True),
        None,
        "Size of the store from which on the oldest samples go before their time (docs/upkeep.md).",
        COLLECTOR,
        shown="`off`",
    )
    disk_reserve: int | None = _setting(
        size(0, off=False),
        None,
        "Room on the store's disk below which the oldest samples go before their time (docs/upkeep.md).",
        COLLECTOR,
        shown="1 GiB, of a disk below 20 GiB a twentieth",
    )
    host: str = _setting(
        HOST, "127.0.0.1", "Address the web page listens on. Any other than loopback requires the token.", WEB
    )
    port: int = _setting(PORT, 8050, "Port the web page listens on; 0 takes a free one.", WEB)
    token_file: str | None = _setting(
        PATH,
        None,
        "File with the token that visitors must present; made when it is missing. Named, it holds on loopback too.",
        WEB,
        shown="`web-token` beside the store",
    )
    allowed_hosts: tuple[str, ...] = _setting(
        HOSTS, (), "Further names that a request may address the web page by, as behind a proxy.", WEB, "--allowed-host"
    )
    log_level: str = _setting(
        choice(*LOG_LEVELS),
        "info",
        "Least severity that is logged.",
        ("run", "demo", "collect", "web", "check", "notify"),
    )
    agent_host: str = _setting(HOST, "127.0.0.1", "Address the agent of this machine listens on.", ("agent",), "--host")
    agent_port: int = _setting(PORT, AGENT_PORT, "Port the agent of this machine listens on.", ("agent",), "--port")
    agent_root: str = _setting(PATH, "/", "Directory below which the agent reads proc and sys.", ("agent",), "--root")
    agent_token_file: str | None = _setting(
        PATH, None, "File with the token that whoever reads the agent must present.", ("agent",), "--token-file"
    )
    demo_nodes: int = _setting(number(1, 256, whole=True), 16, "Nodes of the simulated cluster.", ("demo",), "--nodes")
    demo_speed: float = _setting(
        number(0.1, 100), 1.0, "How much faster than life the simulated cluster runs.", ("demo",), "--speed"
    )
    demo_seed: int = _setting(
        number(0, 2**31 - 1, whole=True),
        1964,
        "Seed of the simulated cluster: same seed, same course.",
        ("demo",),
        "--seed",
    )
    demo_control_url: str | None = _setting(
        Form(lambda raw: url(raw, 80), shown="an address"),
        None,
        "Where the simulated cluster takes faults; `demo` sets it for the web page it starts.",
        (),
        None,
    )
    origin: Mapping[str, str] = field(default_factory=dict, compare=False)


def _rows() -> Iterable[Setting]:
    for entry in fields(Settings):
        if "row" in entry.metadata:
            form, default, text, commands, flag, shown, formerly = entry.metadata["row"]
            named = f"--{entry.name.replace('_', '-')}" if flag == "" else flag
            yield Setting(entry.name, form, default, text, named, commands, shown, formerly)


TABLE: tuple[Setting, ...] = tuple(_rows())
