"""The pages as they leave the server: HTML, snapshot, policy, fragments. Real process, real store, no browser."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from pathlib import Path

import dash
import pytest

from dashboard.app import create_app
from dashboard.pages import cluster, missing
from dashboard.server import build
from pipeline.away import AWAY
from pipeline.left_out import LEFT_OUT, TICKS
from storage.records import Event
from telemetry.formatting import beside
from tests.dashboard.parts import attribute, text, walk
from tests.web.conftest import MakeWeb, MakeWorld, Web, make_web, make_world
from tests.web.world import GIB, World, constant

__all__ = ["make_web", "make_world"]


class Site:
    """A web process with its pages, and a client of them."""

    def __init__(self, web: Web) -> None:
        self.world, self.process = web.world, web.process
        self.client = build(web.process).test_client()


@pytest.fixture
def web(make_world: MakeWorld, make_web: MakeWeb) -> Site:
    """A process whose world stands at tick 30."""
    world = make_world()
    world.run(0, 30)
    return stepped(world, make_web)


def stepped(world: World, make_web: MakeWeb) -> Site:
    web = make_web(world)
    web.step()
    return Site(web)


def visible(page: str) -> str:
    """Text of an HTML page, without scripts, styles and tags."""
    kept = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.S)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", kept)).split())


def snapshot(page: str) -> dict[str, object]:
    found = re.search(r'<script type="application/json" id="snapshot">(.*?)</script>', page, re.S)
    assert found
    return json.loads(found[1])


def test_the_first_screen_is_in_the_html(web: Site) -> None:
    page = web.client.get("/").text
    told = visible(page)
    assert "Serving Kimi-K3 on 4 nodes" in told
    assert "Decode" in told
    message = web.process.hub.latest()[1]
    assert message is not None
    for key in ("decode.now", "prefill.throughput", "requests.running", "power"):
        number, unit = message["cells"][key][:2]
        assert f"<b>{number}</b><i>{beside(unit)}</i>" in page, key
    assert message["cells"]["decode.now"][:2] == ["20.0", "tok/s"]


def test_the_snapshot_has_the_numbers_and_no_history(web: Site) -> None:
    told = snapshot(web.client.get("/").text)
    assert told["tick"] == web.world.now
    assert told["cells"]["decode.now"][0] == "20.0"  # type: ignore[index]
    history = told["history"]
    assert history["node_cells"]  # type: ignore[index]
    assert len(history["t"]) <= 1  # type: ignore[index,arg-type]


def test_every_cell_of_the_page_is_one_the_message_has(web: Site) -> None:
    message = web.process.hub.latest()[1]
    assert message is not None
    keys = {attribute(part, "data-cell") for part in walk(cluster.page())} - {None}
    assert keys == set(message["cells"])
    for part in walk(cluster.page()):
        name = attribute(part, "data-point-name")
        assert name is None or name in message["points"]


def test_an_empty_store_says_what_to_do(make_world: MakeWorld, make_web: MakeWeb) -> None:
    web = Site(make_web(make_world(nodes=0, engines=False)))
    page = web.client.get("/").text
    assert 'id="first" data-level="empty"' in page
    assert "app.py run --node spark-01=http://10.0.0.1:9810" in html.unescape(page)
    assert snapshot(page)["tick"] is None


def test_inline_scripts_are_those_of_the_policy(web: Site) -> None:
    answer = web.client.get("/")
    policy = answer.headers["Content-Security-Policy"]
    assert "unsafe-inline" not in policy.split("script-src")[1].split(";")[0]
    scripts = re.findall(r"<script(?![^>]*\bsrc=)([^>]*)>(.*?)</script>", answer.text, re.S)
    executed = [body for attributes, body in scripts if "application/json" not in attributes]
    assert executed
    for body in executed:
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy


@pytest.mark.parametrize("path", ["/", "/status", "/node/spark-01", "/nowhere"])
def test_nothing_comes_from_elsewhere(web: Site, path: str) -> None:
    page = web.client.get(path).text
    addresses = re.findall(r'(?:src|href)="([^"]*)"', page)
    assert addresses
    assert all(
        address.startswith(("/", "data:image/svg+xml,")) and not address.startswith("//") for address in addresses
    )


def test_modules_named_in_the_page_are_served(web: Site) -> None:
    page = web.client.get("/").text
    modules = re.findall(r'<(?:link rel="modulepreload" href|script[^>]* src)="(/assets/live/[^"]+)"', page)
    assert "/assets/live/main.js" in modules
    assert len(modules) > 10
    for module in modules:
        with web.client.get(module) as answer:
            assert answer.status_code == 200, module


def test_names_from_outside_cannot_leave_their_place(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    world.run(0, 30)
    world.fact("spark-01", "hostname", "</script><b>x</b>")
    web = stepped(world, make_web)
    told = web.client.get("/fragment/node-facts?node=spark-01").text
    assert "&lt;/script&gt;&lt;b&gt;x&lt;/b&gt;" in told
    assert "<b>x</b>" not in told
    other = web.client.get("/fragment/node?node=%3Cimg%20src=x%3E")
    assert other.status_code == 404
    assert "<img" not in other.text
    assert "<img" not in web.client.get("/node/%3Cimg%20src=x%3E").text


def test_status_is_written_as_html(web: Site) -> None:
    answer = web.client.get("/fragment/status")
    assert answer.headers["Cache-Control"] == "no-store"
    told = visible(answer.text)
    assert "spark-04" in told
    assert "4.0 ms" in told
    assert "22.5 KiB" in told
    assert "It left out no tick in the last day." in told


@pytest.mark.parametrize(
    ("counts", "text"),
    [(["1"], "It left out 1 tick in the last day. No"), (["1", "3"], "It left out 4 ticks in the last day. No")],
)
def test_status_says_what_the_collector_left_out(
    make_world: MakeWorld, make_web: MakeWeb, counts: list[str], text: str
) -> None:
    world = make_world()
    world.run(0, 30)
    events = [
        Event(0, world.now, "cluster", LEFT_OUT, f"left out {count}: because", {TICKS: count}) for count in counts
    ]
    world.commit(events=events)
    told = visible(stepped(world, make_web).client.get("/fragment/status").text)
    assert text in told
    assert f"left out {counts[0]}: because" in told


def test_status_says_when_no_collector_ran(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    world.run(0, 30)
    assert "When no collector ran" not in visible(stepped(world, make_web).client.get("/fragment/status").text)
    world.commit(events=[Event(0, world.now, "cluster", AWAY, f"away {count}", {}) for count in (1, 2)])
    told = visible(stepped(world, make_web).client.get("/fragment/status").text)
    assert told.index("When no collector ran") < told.index("away 2") < told.index("away 1")


def test_a_node_is_written_as_html(web: Site) -> None:
    told = visible(web.client.get("/fragment/node?node=spark-02").text)
    assert "GPU power51 W" in told
    assert "25.0 GiB" in told
    assert "Cage p0" in told
    readings = visible(web.client.get("/fragment/node-readings?node=spark-02").text)
    assert "GPU temperature" in readings
    assert "not offered" in readings


@pytest.mark.parametrize("name", ["node", "node-facts", "node-readings"])
def test_an_unknown_node_is_not_found(web: Site, name: str) -> None:
    assert web.client.get(f"/fragment/{name}?node=nobody").status_code == 404
    assert web.client.get(f"/fragment/{name}").status_code == 404


def test_a_node_that_lost_its_headroom_is_told(make_world: MakeWorld, make_web: MakeWeb) -> None:
    from telemetry.catalog import memory

    world = make_world()
    world.set("spark-02", memory.MEMORY_HEADROOM, constant(3 * GIB))
    world.run(0, 30)
    web = stepped(world, make_web)
    page = web.client.get("/fragment/node?node=spark-02").text
    assert '<span class="cell" data-state="critical"><b>3.0</b><i>\u00a0GiB</i></span>' in page


def test_pages_have_titles_and_addresses(web: Site) -> None:
    assert text(missing.page()).startswith("There is no such page")
    assert "<title>Tachograph</title>" in web.client.get("/").text


@pytest.mark.parametrize(
    ("path", "status", "told"),
    [
        ("/", 200, "Cluster"),
        ("/status", 200, ""),
        ("/status/", 200, ""),
        ("/explore", 200, ""),
        ("/runs", 200, ""),
        ("/node/spark-01", 200, "Memory"),
        ("/node/spark%2D01/", 200, "Memory"),
        ("/nowhere", 404, "There is no such page"),
        ("/node", 404, "There is no such page"),
        ("/node/", 404, "There is no such page"),
        (
            "/node/head",
            404,
            "There is no node “head”These nodes are known:spark-01spark-02spark-03spark-04To the cluster",
        ),
        ("/node/" + "x" * 200, 404, f"There is no node “{'x' * 80}”These"),
        ("/node/<b>", 404, "There is no node “<b>”These"),
        ("/node/a/b", 404, "There is no node “a/b”These"),
    ],
)
def test_addresses_and_their_status(web: Site, path: str, status: int, told: str) -> None:
    answer = web.client.get(path)
    assert answer.status_code == status
    assert answer.content_type == "text/html; charset=utf-8"
    assert told in visible(answer.text)
    assert ("There is no" in visible(answer.text)) == (status == 404)


def test_the_drawn_page_of_an_unknown_node_is_the_same(web: Site) -> None:
    """What Dash draws in place of the first screen."""
    create_app(web.process)
    layout = dash.page_registry["node"]["layout"]
    assert text(layout(name="nobody")).startswith("There is no node “nobody” These nodes are known: spark-01 spark-02")
    links = [attribute(part, "href") for part in walk(layout(name="nobody")) if attribute(part, "href")]
    assert links == ["/node/spark-01", "/node/spark-02", "/node/spark-03", "/node/spark-04", "/"]
    assert attribute(layout(name="spark%2D01"), "className") == "page node"


def test_a_node_of_a_store_that_is_gone_is_not_denied(web: Site) -> None:
    Path(web.world.url.removeprefix("sqlite:///")).unlink()
    answer = web.client.get("/node/nobody")
    assert answer.status_code == 200
    assert "There is no node" not in answer.text


def test_the_demo_alone_has_a_panel_of_faults(web: Site) -> None:
    def has_panel() -> bool:
        return any(attribute(part, "data-faults") is not None for part in walk(create_app(web.process).layout))

    assert not has_panel()
    assert "data-faults-toggle" not in web.client.get("/").text
    web.process.demo_control = True
    assert has_panel()
    assert "data-faults-toggle" in web.client.get("/").text
