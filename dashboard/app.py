"""The Dash app: pages around the services. Routes, streams and security are added by `dashboard.server`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import dash
import flask

from dashboard import theme
from dashboard.layout.first import first_screen, page_at
from dashboard.layout.shell import shell
from dashboard.pages import alert, alerts, cluster, compare, explore, missing, node, run, runs, status
from dashboard.security import script_json
from dashboard.services import Services

ASSETS = Path(__file__).parent / "assets"
ICON = "data:image/svg+xml," + quote(
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16' fill='none' stroke='#1a5fb8' stroke-width='2'>"
    "<circle cx='8' cy='8' r='6.5'/><path d='M8 8l3-3.5'/></svg>"
)
EXPLORE, RUN, ALERT, MODULES = (
    tuple(sorted(f"{folder}/{file.stem}" for file in (ASSETS / folder).glob("*.js") if file.stem != "boot"))
    for folder in ("explore", "run", "alert", "live")
)
"""Modules that a page will import, so that the browser need not find them one by one."""
SHARED = ("explore/lines", "explore/link", "explore/time")
"""Modules of Explore that those of every page use."""
RUN_BORROWS = ("bands", "colours", "draw", "format", "limits", "lines", "margins", "strip", "time")
"""Modules of Explore that a run's page uses."""
GRID = re.compile(r'<script src="([^"]*/dash_ag_grid/[^"]*)"></script>')
UNUSED = re.compile(r'<script src="[^"]*/dash_table/[^"]*"></script>')
"""Dash's own table: loaded by every app of Dash, drawn by none of our pages."""
ALERT_BORROWS = ("bands", "colours", "draw", "format", "limits", "lines", "margins", "time")
"""Modules of Explore that an alert's page uses."""
INDEX = """<!DOCTYPE html>
<html lang="en">
<head>
{metas}<title>{title}</title>
<link rel="icon" href="{icon}">
<style>{palette}</style>
<script src="{assets}/live/boot.js"></script>
{plotly}
{css}
{preloads}<script type="module" async src="{assets}/live/main.js"></script>
</head>
<body>
{first}
<script type="application/json" id="snapshot">{snapshot}</script>
{app_entry}
<footer>{config}{scripts}{renderer}</footer>
</body>
</html>"""


class App(dash.Dash):
    """A Dash app whose HTML already holds the numbers of the latest tick."""

    services: Services

    def interpolate_index(self, **parts: str) -> str:
        """The index page: palettes, snapshot, first screen, then what Dash needs."""
        live = self.services.live(0) or {"tick": None, "sentence": self.services.status()["sentence"]}
        page, status_code = page_at(flask.request.path, self.services)
        flask.after_this_request(lambda response: _with_status(response, status_code))
        assets = self.get_asset_url("").rstrip("/")
        scripts, grid = _scripts(flask.request.path, parts["scripts"])
        modules = dict.fromkeys((*MODULES, *SHARED, *_more_modules(flask.request.path)))
        preloads = "".join(f'<link rel="modulepreload" href="{assets}/{name}.js">\n' for name in modules)
        return INDEX.format(
            icon=ICON,
            palette=theme.style_sheet(),
            assets=assets,
            plotly=_plotly(flask.request.path, self.config.requests_pathname_prefix) + grid,
            preloads=preloads,
            snapshot=script_json(live),
            first=first_screen(live, page, self.services.demo_control),
            scripts=scripts,
            **{key: parts[key] for key in ("metas", "title", "css", "app_entry", "config", "renderer")},
        )


def _more_modules(path: str) -> tuple[str, ...]:
    """Modules of a page that has its own."""
    if path.startswith(run.PREFIX):
        return (*RUN, *(f"explore/{name}" for name in RUN_BORROWS))
    if path.startswith(alert.PREFIX):
        return (*ALERT, *(f"explore/{name}" for name in ALERT_BORROWS))
    return EXPLORE if path == explore.PATH else ()


def _with_status(response: flask.Response, status_code: int) -> flask.Response:
    """Dash itself answers every address with 200."""
    response.status_code = status_code
    return response


def _plotly(path: str, prefix: str) -> str:
    """The head's mention of Plotly: a script of the page that draws without Dash, a file to fetch ahead elsewhere."""
    source = f"{prefix}_dash-component-suites/plotly/package_data/plotly.min.js"
    if path == "/":
        return f'<script id="plotly" async src="{source}"></script>'
    # Not preloaded: a slow phone would use it only seconds later, and its browser would warn of that.
    return f'<link id="plotly" rel="{_ahead(path)}" href="{source}">'


def _ahead(path: str) -> str:
    """How a page names what others will want: that of a run has much to fetch, and says it later (`live/main.js`)."""
    return "later" if path.startswith(run.PREFIX) else "prefetch"


def _scripts(path: str, scripts: str) -> tuple[str, str]:
    """Dash's scripts without those that the page does not use, and the head's mention of the grid (`live/go.js`)."""
    kept = UNUSED.sub("", scripts)
    found = GRID.search(kept)
    if path == runs.PATH or found is None:
        return kept, ""
    return kept.replace(found[0], ""), f'\n<link id="grid" rel="{_ahead(path)}" href="{found[1]}">'


def create_app(services: Services, **options: Any) -> dash.Dash:
    """The pages over these services. `options` go to Dash. One app per process: Dash's list of pages is global."""
    dash.page_registry.clear()
    before = _preparations(options.get("server"))
    app = App(
        __name__,
        use_pages=True,
        pages_folder="",
        assets_folder=str(ASSETS),
        assets_path_ignore=["live", "explore", "runs", "run", "compare", "alert"],
        update_title=None,
        title="Tachograph",
        serve_locally=True,
        suppress_callback_exceptions=True,
        **options,
    )
    app.services = services
    cluster.register()
    status.register(app, services)
    node.register(app, services)
    explore.register(app)
    runs.register(app, services)
    alerts.register(app, services)
    alert.register(app, services)
    run.register(app, services)
    compare.register(app, services)
    missing.register()
    app.layout = shell(services.demo_control)
    _prepare(app, before)
    return app


def _preparations(server: flask.Flask | bool | None) -> int:
    return len(server.before_request_funcs.get(None, ())) if isinstance(server, flask.Flask) else 0


def _prepare(app: dash.Dash, before: int) -> None:
    """Let Dash do now what it would do before its first request: make the router, and with it an inline script whose
    hash the content security policy has to name."""
    with app.server.test_request_context("/"):
        for prepare in app.server.before_request_funcs[None][before:]:
            prepare()
