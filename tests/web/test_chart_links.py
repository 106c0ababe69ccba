"""From every live chart and every chart of a node a file of what it shows is one click away."""

from __future__ import annotations

import csv
import io
from urllib.parse import parse_qs, urlsplit

from dashboard.figures.series import NODE_CHARTS
from dashboard.pages import cluster, node
from tests.dashboard.parts import attribute, text, walk
from tests.web.conftest import MakeWeb, MakeWorld


def links(page: object, name: str) -> list[str]:
    """Where the links of this name lead whose stretch is that of their chart."""
    found = [part for part in walk(page) if attribute(part, "data-stretch-link") is not None and text(part) == name]
    return [attribute(part, "href") for part in found]


def test_each_chart_offers_its_metrics() -> None:
    page = node.page("spark 02")
    for name, path in (("Explore", "/explore"), ("CSV", "/api/v1/export.csv")):
        asked = [(urlsplit(one).path, parse_qs(urlsplit(one).query)) for one in links(page, name)]
        raw = {} if name == "Explore" else {"raw": ["1"]}
        assert asked == [
            (
                path,
                {"metric": [",".join(one.name for _, one in chart.metrics)], "node": ["spark 02"], "start": ["-1h"]}
                | raw,
            )
            for chart in NODE_CHARTS
        ]
    (file,), (explore,) = links(cluster.plots(), "CSV"), links(cluster.plots(), "Explore")
    assert file.replace("/api/v1/export.csv", "/explore").replace("&raw=1", "") == explore


def test_files_have_every_sample_of_all_metrics(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world(nodes=2)
    world.run(0, 20)
    web = make_web(world)
    web.step()
    for address in [*links(node.page("spark-02"), "CSV"), *links(cluster.plots(), "CSV")]:
        answer = web.client.get(address)
        assert answer.status_code == 200, answer.text
        head, *rows = csv.reader(io.StringIO(answer.text))
        metrics = parse_qs(urlsplit(address).query)["metric"][0].split(",")
        assert [one.partition(" [")[0] for one in head[-len(metrics) :]] == metrics
        if "node=" in address:
            assert {row[1] for row in rows} <= {"spark-02"}
    (power,) = [one for one in links(node.page("spark-02"), "CSV") if "gpu_power_watts" in one]
    _, *rows = csv.reader(io.StringIO(web.client.get(power).text))
    assert [row[-2] for row in rows if row[-2]] == ["51"] * 21
