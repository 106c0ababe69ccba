"""Plain tables: a head, rows with a header cell, and a level per row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dash import html
from dash.development.base_component import Component

Content = Component | str | None
Column = str | tuple[str, str]
"""A column's head, or its head and what stands below it, told on hover and focus."""


@dataclass(frozen=True, slots=True)
class Row:
    """First cell (the row's header) and the others; level colours the row's mark."""

    head: Content
    cells: Sequence[Content]
    level: str = "ok"


def table(columns: Sequence[Column], rows: Iterable[Row], caption: str, class_name: str = "") -> Component:
    """A table that scrolls sideways by itself where it is too wide for the screen.

    Each cell carries its column's name, for screens on which a row becomes a card.
    """
    head = html.Tr([_head(column) for column in columns])
    names = [column if isinstance(column, str) else column[0] for column in columns]
    body = [
        html.Tr(
            [
                html.Th(row.head, scope="row"),
                *(html.Td(cell, **{"data-label": name}) for name, cell in zip(names[1:], row.cells, strict=True)),
            ],
            **{"data-level": row.level},
        )
        for row in rows
    ]
    inner = html.Table([html.Caption(caption, className="unseen"), html.Thead(head), html.Tbody(body)])
    return html.Div(
        inner, className=f"table {class_name}".strip(), tabIndex=0, role="region", **{"aria-label": caption}
    )


def _head(column: Column) -> Component:
    if isinstance(column, str):
        return html.Th(column, scope="col")
    text, told = column
    return html.Th(html.Span(text, tabIndex=0, className="told", **{"data-told": told}), scope="col", title=told)


def pairs(entries: Iterable[tuple[str, Content]]) -> Component:
    """Names and what stands for them, as a list of two columns."""
    return html.Dl([part for name, value in entries for part in (html.Dt(name), html.Dd(value))], className="pairs")


def panel(title: str, *content: Content, aside: Content = None, class_name: str = "", key: str = "") -> Component:
    """A titled box. key: by which a fragment that is written anew finds it, wherever it stands then."""
    head = html.Div([html.H2(title), *([html.Div(aside, className="aside")] if aside else [])], className="head")
    known = {"data-key": key} if key else {}
    return html.Section([head, *content], className=f"panel {class_name}".strip(), **known)
