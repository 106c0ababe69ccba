"""HTML that stands before the scripts."""

from dash import dcc, html

from dashboard.layout.static import render


def test_text_and_attributes_are_escaped() -> None:
    part = html.Div(["<b>&", html.A("x", href='/a?b="c"')], className="one", title='"', **{"data-key": "<"})
    assert render(part, {}) == (
        '<div class="one" title="&quot;" data-key="&lt;">&lt;b&gt;&amp;<a href="/a?b=&quot;c&quot;">x</a></div>'
    )


def test_what_is_not_known_is_left_out() -> None:
    part = html.Button("Go", id="go", n_clicks=3, type="button")
    assert render(part, {}) == '<button type="button">Go</button>'
    assert render(html.Div("", tabIndex=0), {}) == '<div tabindex="0"></div>'


def test_hidden_only_where_it_is_true() -> None:
    assert render(html.Div("", hidden=False), {}) == "<div></div>"
    assert render(html.Div("", hidden=True), {}) == "<div hidden></div>"


def test_style_links_graphs_and_void_elements() -> None:
    assert render(html.I("", style={"width": "4%", "background": "var(--x)"}), {}) == (
        '<i style="width:4%;background:var(--x)"></i>'
    )
    assert render(dcc.Link("Status", href="/status"), {}) == '<a href="/status">Status</a>'
    assert render(dcc.Graph(figure={"data": []}, className="graph"), {}) == '<div class="graph"></div>'
    assert render([html.Br(), None, 3], {}) == "<br>3"


def test_a_cell_is_filled_with_its_state_and_reason() -> None:
    place = html.Span([html.B("–"), html.I("")], className="cell", **{"data-cell": "kv"})
    cells = {"kv": ["41.3", "%", "warning", ""], "x": ["–", "", "unknown", 'no "x"']}
    assert render(place, cells) == (
        '<span class="cell" data-cell="kv" data-state="warning"><b>41.3</b><i>\u00a0%</i></span>'
    )
    other = html.Span("", **{"data-cell": "x"})
    assert render(other, cells) == (
        '<span data-cell="x" data-state="unknown" title="no &quot;x&quot;"><b>–</b><i></i></span>'
    )
    assert render(place, {}) == '<span class="cell" data-cell="kv"><b>–</b><i></i></span>'


def test_cells_are_escaped() -> None:
    place = html.Span("", **{"data-cell": "a"})
    assert "<script>" not in render(place, {"a": ["<script>", "<i>", "ok", ""]})
