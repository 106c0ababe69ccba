"""Documents that must not drift from the code: the generated pages, and the commands that documents name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cli import docs
from cli.main import COMMANDS
from cli.options import OPTIONS
from settings import TABLE
from telemetry.catalog import METRICS

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("name", docs.PAGES)
def test_generated_pages_are_fresh(name: str) -> None:
    assert (ROOT / name).read_text() == docs.PAGES[name](), "run `make docs`"


def test_every_setting_and_metric_has_its_row() -> None:
    settings, metrics = docs.settings_page(), docs.metrics_page()
    for row in TABLE:
        assert f"\n| `{row.name}`" in settings
    for metric in METRICS:
        assert f"\n| `{metric.name}` |" in metrics


def test_rows_have_as_many_cells_as_their_head() -> None:
    for page in (docs.settings_page(), docs.metrics_page()):
        width = None
        for line in page.splitlines():
            if not line.startswith("|"):
                width = None
                continue
            width = width or line.count("|")
            assert line.count("|") == width, line


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def code(page: Path) -> list[str]:
    """Lines of code blocks, and pieces of code in running text."""
    text = page.read_text()
    blocks = re.findall(r"```\w*\n(.*?)```", text, re.DOTALL)
    inline = re.findall(r"(?<!`)`([^`\n]+)`(?!`)", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    return [line for block in blocks for line in block.splitlines()] + inline


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_make_targets_exist(page: Path) -> None:
    named = {target for line in code(page) for target in re.findall(r"\bmake ([a-z-]+)", line)}
    assert named <= make_targets()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_and_their_flags_exist(page: Path) -> None:
    for line in code(page):
        made = re.sub(r"\bmake (run|demo) ARGS=\"([^\"]*)\"", r"app.py \1 \2", line)
        if found := re.search(r"\bapp\.py ([a-z-]+)(.*)", made):
            command, rest = found.groups()
            assert command in COMMANDS, line
            flags = set(re.findall(r"(--[a-z-]+)", rest.partition("#")[0].partition(" -- ")[0]))
            known = {row.flag for row in TABLE if command in row.commands} | {"--config", "--help"}
            known |= {option.flag for option in OPTIONS.get(command, ())}
            assert flags <= known, line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_are_named_exist(page: Path) -> None:
    folders = (
        "app.py|cli|telemetry|collectors|storage|exchange|pipeline|dashboard|simulator|bench|deploy|docs|tests|settings"
    )
    for piece in code(page):
        if re.fullmatch(rf"({folders})(/[\w.-]+)*/?", piece) and "NAME" not in piece:
            assert (ROOT / piece).exists(), f"{page.name} names {piece}"


def test_links_between_documents_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_changelog_begins_with_what_is_unreleased() -> None:
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == "Unreleased"
