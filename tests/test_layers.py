"""Who may import whom, where SQL and metric names may stand, how long a file may be: read from the source itself."""

from __future__ import annotations

import ast
import functools
import io
import re
import shutil
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pynvml
import pytest

from collectors.node.version import VERSION
from telemetry.catalog import METRICS
from telemetry.model import PARTS, Kind

ROOT = Path(__file__).parent.parent
SKIPPED = {".git", ".venv", "build", "data", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis"}
LONGEST = 400

PURE = ("telemetry",)
LAYERS: Mapping[str, tuple[str, ...]] = {
    "telemetry.model": (),
    "telemetry.catalog": ("telemetry.model", "telemetry.catalog"),
    "telemetry": PURE,
    "runs": (*PURE, "runs"),
    "alerts": (*PURE, "alerts"),
    "collectors": (),
    "collectors.node": ("telemetry.model", "telemetry.catalog", "collectors.node"),
    "collectors.scrape": (*PURE, "runs", "alerts", "collectors.scrape"),
    "storage": (*PURE, "runs", "alerts", "storage"),
    "exchange": (*PURE, "runs", "alerts", "storage", "collectors.scrape", "exchange"),
    "pipeline": (*PURE, "runs", "alerts", "storage", "collectors.scrape", "exchange", "pipeline"),
    "dashboard": (*PURE, "runs", "alerts", "storage", "collectors.scrape", "exchange", "pipeline", "dashboard"),
    "settings": ("settings",),
    "cli": (
        *PURE,
        "runs",
        "alerts",
        "storage",
        "collectors.scrape",
        "exchange",
        "pipeline",
        "dashboard",
        "settings",
        "cli",
    ),
    "simulator": ("simulator",),
    "app": ("cli",),
    "agent": ("collectors.node", "telemetry.model", "telemetry.catalog"),
}
"""Package (the longest prefix that fits rules) → what its files may import of the product."""

OUTSIDE: Mapping[str, tuple[str, ...]] = {
    "telemetry.model": (),
    "telemetry.catalog": (),
    "telemetry": ("numpy",),
    "runs": ("numpy",),
    "alerts": ("numpy",),
    "collectors.node": ("pynvml",),
    "agent": (),
    "settings": (),
    "simulator": ("numpy", "aiohttp"),
}
"""Package → libraries it may import, where the rule is this strict."""

ONLY_IN: Mapping[str, tuple[str, ...]] = {
    "sqlalchemy": ("storage",),
    "sqlite3": ("storage",),
    "psycopg": ("storage",),
    "dash": ("dashboard",),
    "dash_ag_grid": ("dashboard",),
    "plotly": ("dashboard",),
    "flask": ("dashboard",),
    "werkzeug": ("dashboard",),
    "gunicorn": ("dashboard",),
    "pandas": ("dashboard", "exchange"),
    "pyarrow": ("exchange",),
    "pynvml": ("collectors.node",),
    "aiohttp": ("collectors.scrape", "pipeline", "simulator"),
    "apscheduler": ("pipeline",),
    "apprise": ("pipeline.notify",),
}
"""Library → packages that may import it."""

NAMES_ALLOWED = ("telemetry.catalog", "collectors.scrape.aliases", "simulator")
PRODUCT = tuple(dict.fromkeys(name.partition(".")[0] for name in LAYERS))


def module_name(path: Path) -> str:
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    return name.removesuffix(".__init__")


@functools.cache
def product_files() -> tuple[Path, ...]:
    files = [path for name in PRODUCT for path in (ROOT / name).rglob("*.py")] + [ROOT / "app.py", ROOT / "agent.py"]
    return tuple(sorted(path for path in files if path.exists()))


def all_files() -> Iterator[Path]:
    for path in ROOT.rglob("*.py"):
        if not SKIPPED & set(path.relative_to(ROOT).parts):
            yield path


@functools.cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"), str(path))


def fits(module: str, prefix: str) -> bool:
    return module == prefix or module.startswith(f"{prefix}.")


def longest(module: str, table: Mapping[str, object]) -> str | None:
    return max((prefix for prefix in table if fits(module, prefix)), key=len, default=None)


@functools.cache
def imported(path: Path) -> set[str]:
    """Full names of what a file imports anywhere in it, those inside functions and under TYPE_CHECKING included."""
    found: set[str] = set()
    package = module_name(path) if path.name == "__init__.py" else module_name(path).rpartition(".")[0]
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".")
                base = ".".join([*parts[: len(parts) - node.level + 1], *([node.module] if node.module else [])])
            found |= {f"{base}.{alias.name}" if is_module(f"{base}.{alias.name}") else base for alias in node.names}
    return found


def is_module(name: str) -> bool:
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def is_product(name: str) -> bool:
    return name.partition(".")[0] in PRODUCT


def test_imports_point_downwards() -> None:
    for path in product_files():
        rule = longest(module_name(path), LAYERS)
        assert rule is not None, f"no layer holds {module_name(path)}"
        wrong = [name for name in imported(path) if is_product(name) and not any(fits(name, ok) for ok in LAYERS[rule])]
        assert not wrong, f"{path}: {rule} may import {LAYERS[rule]} of the product, not {sorted(wrong)}"


def test_libraries_stay_where_they_belong() -> None:
    for path in product_files():
        module = module_name(path)
        everything = {name.partition(".")[0] for name in imported(path)}
        outside = everything - set(PRODUCT) - set(sys.stdlib_module_names)
        strict = longest(module, OUTSIDE)
        if strict is not None:
            assert outside <= set(OUTSIDE[strict]), f"{path}: {strict} may import only {OUTSIDE[strict]}"
        for library in everything & ONLY_IN.keys():
            homes = ONLY_IN[library]
            assert any(fits(module, home) for home in homes), f"{path}: {library} belongs to {homes}"


def test_nobody_imports_the_starting_files() -> None:
    assert [path for path in product_files() if imported(path) & {"app", "agent"}] == []


def test_settings_are_read_by_app_and_cli_only() -> None:
    readers = {path for path in product_files() if any(fits(name, "settings") for name in imported(path))}
    assert {module_name(path).partition(".")[0] for path in readers} <= {"app", "cli", "settings"}


def test_every_folder_has_a_rule() -> None:
    known = {*PRODUCT, "tests", "bench", "deploy", "docs"}
    folders = {path.relative_to(ROOT).parts[0] for path in all_files() if path.parent != ROOT}
    assert folders <= known
    assert {path.stem for path in ROOT.glob("*.py")} <= {"app", "agent"}


def test_every_library_is_required() -> None:
    wanted = {"prometheus_client": "prometheus-client", "pynvml": "nvidia-ml-py", "prometheus_api_client": ""}
    files = ("requirements.txt", "requirements-parquet.txt", "requirements-postgresql.txt")
    lines = [line for name in files for line in (ROOT / name).read_text().splitlines()]
    required = {re.split(r"[\[<>=]", line)[0] for line in lines if line and not line.startswith("#")}
    implied = {"flask", "werkzeug", "requests", "urllib3"}  # Dash and prometheus-api-client bring them, and promise to
    for file in product_files():
        for name in {name.partition(".")[0] for name in imported(file) if not is_product(name)}:
            package = wanted.get(name) or name.replace("_", "-")
            assert name in sys.stdlib_module_names or package in required | implied, f"{file} imports {name}"


def test_names_of_files() -> None:
    for file in all_files():
        assert not {"utils", "helpers", "common", "util", "helper", "misc"} & set(
            file.relative_to(ROOT).with_suffix("").parts
        )


def test_files_stay_short() -> None:
    long = {str(file): n for file in all_files() if (n := len(file.read_text("utf-8").splitlines())) > LONGEST}
    for suffix in ("*.js", "*.css"):
        files = (file for file in (ROOT / "dashboard").rglob(suffix))
        long |= {str(file): n for file in files if (n := len(file.read_text("utf-8").splitlines())) > LONGEST}
    assert long == {}


def test_no_bare_except() -> None:
    for path in product_files():
        handlers = [node for node in ast.walk(tree(path)) if isinstance(node, ast.ExceptHandler)]
        assert [node.lineno for node in handlers if node.type is None] == [], path


def test_nothing_is_left_undone() -> None:
    for file in all_files():
        for token in tokenize.generate_tokens(io.StringIO(file.read_text("utf-8")).readline):
            if token.type == tokenize.COMMENT:
                assert not re.search(r"\b(TODO|FIXME|XXX|HACK)\b", token.string), f"{file}:{token.start[0]}"


STATEMENT = re.compile(
    r"^\s*(select\s.+\sfrom|insert\s+(or\s+\w+\s+)?into|update\s+\w+\s+set|delete\s+from|create\s+(table|index)|pragma\s)",
    re.IGNORECASE | re.DOTALL,
)


def strings(path: Path) -> Iterator[tuple[int, str]]:
    """Text constants of a file that are no docstrings."""
    documentation = {
        id(node.value)
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield node.lineno, node.value


def test_sql_only_in_storage() -> None:
    for path in product_files():
        if not fits(module_name(path), "storage"):
            assert [line for line, text in strings(path) if STATEMENT.match(text)] == [], path


def metric_names() -> frozenset[str]:
    """Names that can be nothing but a metric's: with an underscore, histogram parts included."""
    names = {metric.name for metric in METRICS}
    names |= {f"{metric.name}_{part}" for metric in METRICS if metric.kind is Kind.HISTOGRAM for part in PARTS}
    return frozenset(name for name in names if "_" in name)


def test_metric_names_stay_in_the_catalogue() -> None:
    names = metric_names()
    for path in product_files():
        if not any(fits(module_name(path), allowed) for allowed in NAMES_ALLOWED):
            written = [(line, text) for line, text in strings(path) if text.removeprefix("tachograph_") in names]
            assert written == [], f"{path}: use the constant of telemetry.catalog"


def test_metric_names_in_scripts_of_the_page() -> None:
    names = metric_names()
    for file in (ROOT / "dashboard").rglob("*.js"):
        quoted = set(re.findall(r"[\"'`]([a-z0-9_]+)[\"'`]", file.read_text("utf-8")))
        assert not quoted & names, f"{file} spells metric names; the server tells them"


@pytest.mark.parametrize("module", ["pipeline.collector", "cli.collect"])
def test_the_collector_process_stays_light(module: str) -> None:
    text = f"import sys, {module}; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    heavy = {"pandas", "dash", "plotly", "flask", "matplotlib", "prometheus_api_client", "apprise", "requests"}
    assert not heavy & set(done.stdout.split())


def test_the_agent_starts_with_nothing_installed(tmp_path: Path) -> None:
    """As in the archive that goes to the nodes: no site-packages, and of libraries pynvml alone beside it."""
    shutil.copy(pynvml.__file__, tmp_path / "pynvml.py")
    text = (
        f"import sys; sys.path += [{str(tmp_path)!r}, {str(ROOT)!r}]; import agent;"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", text], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    foreign = set(done.stdout.split()) - set(sys.stdlib_module_names) - {"__main__", "agent", "telemetry", "collectors"}
    assert foreign <= {"pynvml"}


def test_both_sides_have_one_version() -> None:
    """The agent cannot read pyproject.toml, so it has the version written in itself."""
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == VERSION
