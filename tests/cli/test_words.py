"""What strangers call things reaches a terminal as text alone, whichever command prints it."""

from __future__ import annotations

import ast
import logging
from pathlib import Path

import pytest

from cli import console, logs
from cli.columns import aligned
from cli.words import clean, say

CLI = Path(__file__).parent.parent.parent / "cli"
EVIL = "m\x1b]0;owned\x07\x9b31m\u202ex\u2028y\nok  node forged\r\t"
CLEANED = "m�]0;owned��31m�x�y�ok  node forged��"
EXACT = ("json.dumps", "orjson.dumps")
"""What is printed as it is: whoever asks for JSON reads it with a program."""
OF_OURS = {
    "cli/words.py",
    "cli/docs.py",
    "cli/progress.py",
    "cli/version.py",
    "cli/web.py",
    "cli/hub.py",
    "cli/demo.py",
}
"""Files that print what no stranger names."""


def test_signs_that_do_something_are_replaced_and_others_stay() -> None:
    assert clean(EVIL) == CLEANED
    assert clean("Qwen3 · 1\u202f234\xa0ms – “ü” 日本 🙂") == "Qwen3 · 1\u202f234\xa0ms – “ü” 日本 🙂"


def test_a_line_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    say(EVIL, "second")
    say(EVIL, error=True)
    assert capsys.readouterr() == (f"{CLEANED}\nsecond\n", f"{CLEANED}\n")
    assert console.said(f"first\n{EVIL}", 3) == 3
    assert capsys.readouterr().err == f"first\n{'m�]0;owned��31m�x'}\ny\nok  node forged\n�\n"


def test_a_table_has_a_line_for_each_row() -> None:
    assert aligned([("Name", "N"), ("a\nb\x1b", "1")]) == "Name  N\na�b�  1"


def test_a_log_line_is_cleaned() -> None:
    logs.configure("test", "info")
    (handler,) = [one for one in logging.getLogger().handlers if type(one.formatter).__module__ == "cli.logs"][:1]
    record = logging.LogRecord("x", logging.INFO, "x", 1, "model %s", ("a\x1b[2J",), None)
    assert handler.format(record).endswith("model a�[2J")


def _prints(path: Path) -> list[str]:
    """Arguments of calls of print in a file that are neither JSON nor plain text, as source."""
    tree = ast.parse(path.read_text("utf-8"))
    calls = [one for one in ast.walk(tree) if isinstance(one, ast.Call) and ast.unparse(one.func) == "print"]
    return [
        text
        for call in calls
        for one in call.args
        if not isinstance(one, ast.Constant) and not (text := ast.unparse(one)).startswith(EXACT)
    ]


def test_no_command_prints_past_it() -> None:
    found = {f"cli/{path.name}": _prints(path) for path in CLI.glob("*.py")}
    allowed = {"cli/import_prometheus.py": 1, "cli/export.py": 3, "cli/run.py": 1}
    assert {name: len(texts) for name, texts in found.items() if texts and name not in OF_OURS} == allowed
