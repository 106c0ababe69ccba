"""docs/engines.md says what the alias tables say."""

from __future__ import annotations

from pathlib import Path

from collectors.scrape.aliases import DIALECTS
from collectors.scrape.aliases.offered import table

PAGE = (Path(__file__).parents[2] / "docs" / "engines.md").read_text()


def test_table_of_what_is_offered_is_current() -> None:
    _, _, rest = PAGE.partition("<!-- offered: written by `python -m collectors.scrape.aliases.offered` -->\n")
    assert rest.partition("<!-- end -->")[0] == table()


def test_every_prefix_of_an_engine_is_named() -> None:
    for dialect in DIALECTS:
        if dialect.engine not in ("agent", "llama.cpp"):
            assert all(f"`{prefix}`" in PAGE for prefix in dialect.prefixes), dialect.engine
