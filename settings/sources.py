"""How four sources become one value: defaults < `tachograph.toml` < environment < flags.

A later source replaces a value as a whole, tables included. Wrong values are gathered and refused together, each by
name, value and expectation. Nothing here prints, and only `load` reads a file.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from settings.forms import RefusedError
from settings.table import PREFIX, TABLE, Former, Setting, Settings

FILE = "tachograph.toml"
_PASSWORD = re.compile(r"(?<=://)([^/@\s:]*):\S*@")
_PARAMETER = re.compile(r"(?<=[?&]password=)[^&\s]+")


class SettingsError(Exception):
    """Everything that is wrong with the settings, one sentence each."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


MOST_BYTES = 1 << 20
"""Of a settings file."""


def load(
    flags: Mapping[str, Any],
    environ: Mapping[str, str],
    directory: Path,
    config: str | None = None,
    judge: Callable[[Mapping[str, Any]], Iterable[str]] | None = None,
) -> Settings:
    """The settings from all sources.

    flags: setting name → raw value, only those given. directory: where `tachograph.toml` is looked for.
    config: path of the file instead; it must exist. An empty path means no file, an empty variable the default.
    judge: what is wrong with addresses and rules beyond their shape, for whoever uses them: asked only where something
    else is wrong, so that all is said at once.
    Raises SettingsError with everything that is wrong.
    """
    problems: list[str] = []
    defaults = {row.name: row.default for row in TABLE}
    defaults["store"] = f"sqlite:///{state_directory(environ) / 'tachograph.db'}"
    values, origin, told = dict(defaults), dict[str, str](), dict[str, Any]()
    named = environ.get(f"{PREFIX}CONFIG") if config is None else config
    for source, given in (
        ("file", _read_file(named, directory, problems)),
        ("environment", _from_environment(environ)),
        ("flag", flags),
    ):
        for row in TABLE:
            found = _named(row, source, given, problems)
            if found is None:
                continue
            raw = told[row.name] = given[found.name]
            empty = raw == "" and source == "environment"
            values[row.name] = defaults[row.name] if empty else _parse(found, source, raw, values[row.name], problems)
            origin[row.name] = "default" if empty else source
    problems += _contradictions(values)
    if problems and judge is not None:
        problems += [one for one in judge(told) if one not in problems]
    if problems:
        raise SettingsError(problems)
    return Settings(**values, origin=origin)


def _from_environment(environ: Mapping[str, str]) -> Mapping[str, str]:
    names: list[Setting | Former] = [*TABLE, *(row.formerly for row in TABLE if row.formerly is not None)]
    return {name.name: environ[name.environment] for name in names if name.environment in environ}


def _named(row: Setting, source: str, given: Mapping[str, Any], problems: list[str]) -> Setting | Former | None:
    """By which of its names a source gives a setting; an empty variable is as good as none beside the other name."""
    names: tuple[Setting | Former | None, ...] = (row, row.formerly)
    known = [name for name in names if name is not None and name.name in given]
    told = [name for name in known if not (source == "environment" and given[name.name] == "")]
    if len(told) > 1:
        problems.append(f"{told[1].name}: is what {row.name} was called before; give one of them")
    return next(iter(told or known), None)


def state_directory(environ: Mapping[str, str]) -> Path:
    """Where this user's programs keep what must outlive a restart (XDG base directories)."""
    home = environ.get("HOME") or os.path.expanduser("~")
    return Path(environ.get("XDG_STATE_HOME") or Path(home, ".local", "state")).absolute() / "tachograph"


def _read_file(named: str | None, directory: Path, problems: list[str]) -> Mapping[str, Any]:
    path = directory / (FILE if named is None else named)
    if named == "" or (named is None and not path.exists()):
        return {}
    try:
        content = tomllib.loads(_text(path))
    except (OSError, ValueError) as error:  # no file, no text, no TOML, or too much of it
        problems.append(f"{path} cannot be read: {error}")
        return {}
    known = [row.name for row in TABLE if row.in_file]
    former = {row.formerly.name for row in TABLE if row.formerly is not None}
    for key in content.keys() - set(known) - former:
        near = difflib.get_close_matches(key, known, 1, 0.5)
        hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
        problems.append(f"{path}: there is no setting {key}; {hint}")
    return {key: value for key, value in content.items() if key in known or key in former}


def _text(path: Path) -> str:
    with path.open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise ValueError(f"it is larger than {MOST_BYTES >> 20} MiB")
    return data.decode("utf-8")


def _parse(row: Setting | Former, source: str, raw: Any, instead: Any, problems: list[str]) -> Any:
    """What the value means; `instead` where it is wrong."""
    try:
        value = row.form.parse(raw)
        return row.now(value) if isinstance(row, Former) else value
    except RefusedError as refused:
        name = {"file": row.name, "environment": row.environment, "flag": row.flag or row.name}[source]
        for value, expected in refused.wrong:
            problems.append(f"{name}: {without_password(str(value))!r} is wrong, expected {expected}")
        return instead


def _contradictions(values: Mapping[str, Any]) -> list[str]:
    nodes, engines, groups = (values.get(name, {}) for name in ("nodes", "engines", "deployments"))
    problems = [
        f"engines: {name!r} is wrong, expected a name that no node has" for name in sorted(nodes.keys() & engines)
    ]
    for group, members in groups.items():
        for member in members:
            if member not in engines:
                known = ", ".join(engines) or "none is configured"
                problems.append(f"deployments: {group}={member!r} is wrong, expected the name of an engine ({known})")
    return problems


def without_password(text: str) -> str:
    """The same text with any password inside a URL blotted out."""
    return _PARAMETER.sub("…", _PASSWORD.sub(r"\1:…@", text))


def to_environment(settings: Settings) -> dict[str, str]:
    """Environment from which `load` reads the same settings; the way they reach child processes.

    Not flags, because command lines are visible to every user of the machine, and a store URL may hold a password.
    What is not set is passed as empty, so that a child does not take it from our own environment.
    """
    values = [(row, getattr(settings, row.name)) for row in TABLE]
    rendered = {row.environment: "" if value is None else row.form.render(value) for row, value in values}
    former = {row.formerly.environment: "" for row in TABLE if row.formerly is not None}
    return {**former, **rendered, f"{PREFIX}CONFIG": ""}
