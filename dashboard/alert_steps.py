"""The runbook of the rules that come with the product, paragraph by paragraph, as docs/alerts.md has it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

FILE = Path(__file__).parent.parent / "docs" / "alerts.md"
PARAGRAPH = re.compile(
    r"^### (?P<name>\w+)\n\n"
    r"\*\*Means\.\*\* (?P<means>.+?) \*\*First\.\*\* (?P<first>.+?) \*\*Not this\.\*\* (?P<other>.+)$",
    re.MULTILINE,
)
MARKS = re.compile(r"[`*]")


@dataclass(frozen=True, slots=True)
class Step:
    """means: what is wrong. first: what to do first. other: what looks like it and is not."""

    means: str
    first: str
    other: str


@lru_cache(maxsize=1)
def steps() -> Mapping[str, Step]:
    """Paragraphs by rule, as plain text; none where the documentation was not brought along."""
    try:
        text = FILE.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    return read(text)


def read(text: str) -> Mapping[str, Step]:
    """The paragraphs of a runbook by the names of their rules."""
    return {
        found["name"]: Step(*(MARKS.sub("", found[part]) for part in ("means", "first", "other")))
        for found in PARAGRAPH.finditer(text)
    }


def of_rule(name: str, origins: Mapping[str, str]) -> Step | None:
    """The paragraph of a rule; None of one that people made. origins: of its fields; another condition than that of
    the product may mean another thing, and who has written what to do knows better."""
    own = any(origins.get(field, "default") != "default" for field in ("when", "text"))
    return None if own else steps().get(name)
