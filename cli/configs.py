"""From settings to what collector and web are told: plain values that know nothing of flags and files."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from alerts.defaults import defaults, merged
from alerts.rule import RuleError, rule, rules, unread
from cli import destinations, tokens
from dashboard.config import WebConfig
from exchange.references import ReferencesError, references
from pipeline.config import CollectorConfig, Keep, TargetConfig, TargetKind
from pipeline.notify.destination import Shown
from runs.references import Reference
from settings import Settings, SettingsError
from telemetry.roofline import Weights

WILDCARDS = ("0.0.0.0", "::")


def make_store_directory(store: str) -> None:
    """Make the directory of an SQLite file, for its owner alone. SettingsError when that is not possible."""
    scheme, _, path = store.partition(":///")
    if scheme != "sqlite":
        return
    if Path(path).is_dir():
        raise SettingsError([f"store: {store!r} is wrong, expected a file: this is a directory"])
    try:
        Path(path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError([f"store: {store!r} is wrong, expected a place that can be written ({error})"]) from error


def collector(settings: Settings) -> CollectorConfig:
    """What the collector is told. SettingsError with every token file, rule and channel that is wrong."""
    node_token, engine_token, rules, told = at_once(
        lambda: tokens.read(settings.node_token_file, "node_token_file"),
        lambda: tokens.read(settings.engine_token_file, "engine_token_file"),
        lambda: rule_tables(settings),
        lambda: destinations.destinations(settings),
    )
    return CollectorConfig(
        store_url=settings.store,
        nodes=_targets(settings.nodes, TargetKind.NODE, node_token),
        engines=_targets(settings.engines, TargetKind.ENGINE, engine_token),
        deployments=settings.deployments,
        interval_s=settings.interval_s,
        run_silence_s=settings.run_silence_s,
        keep=Keep(settings.raw_days, settings.summary_months, settings.size_limit, settings.disk_reserve),
        alerts=rules,
        channels=tuple(one.channel for one in told),
    )


def at_once(*reads: Callable[[], object]) -> tuple[Any, ...]:
    """What each of these reads. SettingsError with all that any of them finds wrong, where one does."""
    found, wrong = list[object](), list[str]()
    for read in reads:
        try:
            found.append(read())
        except SettingsError as error:
            wrong += error.problems
    if wrong:
        raise SettingsError(list(dict.fromkeys(wrong)))
    return tuple(found)


def _targets(table: Mapping[str, str], kind: TargetKind, token: str | None) -> tuple[TargetConfig, ...]:
    return tuple(TargetConfig(name, url, kind, token) for name, url in table.items())


def web(settings: Settings, token: str | None) -> WebConfig:
    """What the web process is told. SettingsError with all that is wrong of it."""
    weights, results, rules, told = at_once(
        lambda: _weights(settings),
        lambda: _references(settings),
        lambda: rule_tables(settings),
        lambda: destinations.destinations(settings),
    )
    return WebConfig(
        store_url=settings.store,
        host=settings.host,
        port=settings.port,
        token=token,
        allowed_hosts=settings.allowed_hosts + _own_names(settings.host),
        demo_control_url=settings.demo_control_url,
        roofline=weights,
        references=results,
        alerts=rules,
        channels=tuple(Shown(one.channel, one.mask) for one in told),
    )


def rule_tables(settings: Settings) -> Mapping[str, Mapping[str, Any]]:
    """Fields of alert rules that the settings have. SettingsError with every one that is wrong."""
    wrong = wrong_rules(settings.alerts)
    if wrong:
        raise SettingsError([f"alerts: {one}" for one in wrong])
    return settings.alerts


def wrong_rules(tables: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What is wrong with rules, over those of the product: a sentence for each of them, the causes of all at last."""
    found, every = [], merged(defaults(), tables)
    for name in tables:
        try:
            wrong = unread(rule(name, every[name]), tables[name].get("settings", {}))
            if wrong:
                raise RuleError(name, wrong)
        except RuleError as error:
            found.append(str(error))
    if found:
        return found
    try:
        rules(every, tables)
    except RuleError as error:
        return [str(error)]
    return []


def comparison(settings: Settings) -> tuple[Mapping[str, Weights], tuple[Reference, ...]]:
    """What comparisons are told beside the runs: weights of models, and published results."""
    return _weights(settings), _references(settings)


def _weights(settings: Settings) -> Mapping[str, Weights]:
    return {name: Weights(**figures) for name, figures in settings.roofline.items()}  # type: ignore[arg-type]


def _references(settings: Settings) -> tuple[Reference, ...]:
    """Published results. SettingsError when the file that is named cannot be used."""
    try:
        return references(None if settings.references is None else Path(settings.references))
    except ReferencesError as error:
        raise SettingsError([f"references: {error}"]) from error


def _own_names(host: str) -> tuple[str, ...]:
    """Names of this machine, by which it is addressed when it listens everywhere; no stranger can point them here."""
    if host not in WILDCARDS:
        return ()
    short = socket.gethostname().lower()
    return tuple(dict.fromkeys((short, f"{short.partition('.')[0]}.local")))


def link(host: str, port: int, token: str | None = None) -> str:
    """Address to open in a browser; where the page listens everywhere, by this machine's name."""
    name = socket.gethostname().lower() if host in WILDCARDS else host
    shown = f"[{name}]" if ":" in name else name
    return f"http://{shown}:{port}/" + (f"?token={token}" if token else "")
