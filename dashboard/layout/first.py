"""What the HTML itself shows: the latest message as data for the scripts, and as text for the eye."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import orjson

from dashboard.layout.shell import bar
from dashboard.layout.static import Raw, render
from dashboard.pages import cluster

Message = Mapping[str, Any]


def snapshot_text(message: Message) -> str:
    """The message as JSON that cannot end the script element it stands in."""
    return (
        orjson.dumps(message).decode().replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    )


def first_screen(message: Message, path: str, demo: bool) -> Raw:
    """Header and, on the start page, the page itself with its numbers. The scripts remove it when Dash has drawn."""
    cells, sentence = message.get("cells", {}), message["sentence"]
    level = sentence["level"]
    header = render(bar(demo, level, sentence["text"]), cells)
    body = render(cluster.page(), cells) if path == "/" else ""
    return Raw(f'<div id="first" data-level="{escape(level)}"><div class="first-header">{header}</div>{body}</div>')
