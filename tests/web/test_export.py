"""`/api/v1/export.*` over real HTTP and through Flask's client."""

from __future__ import annotations

import gzip
import http.client
import socket
import sqlite3
import threading
import urllib.request
from collections.abc import Callable
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from dashboard.api import download, export, series
from dashboard.api.download import Places, open_still
from exchange import parquet, sqlite
from exchange.parquet import MISSING
from telemetry.catalog import gpu
from tests.web.conftest import MakeWeb, MakeWorld, Web
from tests.web.world import NAN, tick

POWER = f"metric=gpu_power_watts&start={tick(100)}&end={tick(119)}"


@pytest.fixture
def web(make_world: MakeWorld, make_web: MakeWeb) -> Web:
    world = make_world()
    world.run(0, 120)
    found = make_web(world)
    found.step()
    return found


def rows(web: Web, query: str, form: str = "csv") -> list[list[str]]:
    answer = web.client.get(f"/api/v1/export.{form}?{query}")
    assert answer.status_code == 200, answer.text
    return [line.split(",") for line in answer.text.split("\r\n")[:-1]]


def refused(web: Web, query: str, status: int = 400, form: str = "csv") -> str:
    return str(web.get(f"export.{form}?{query}", status)["error"])


def test_what_the_chart_shows(web: Web) -> None:
    """Without a resolution as many points as the series route gives, and no other number."""
    shown = web.get(f"series?{POWER}&points=4")["series"]
    head, *found = rows(web, f"{POWER}&points=4")
    assert head[3:] == [f"gpu_power_watts_{part} [watts]" for part in ("min", "mean", "max", "last")]
    for line in shown:
        mine = [row for row in found if row[1] == line["labels"]["target"]]
        assert [float(row[3]) for row in mine] == line["min"]
        assert [float(row[4]) for row in mine] == line["mean"]
        assert [float(row[5]) for row in mine] == line["max"]
    assert rows(web, POWER) == rows(web, f"{POWER}&raw=1"), "fewer samples than points are samples"


def test_a_chart_of_few_and_many_samples_is_all_bins(web: Web, make_world: MakeWorld, make_web: MakeWeb) -> None:
    """Where one metric was read more rarely than another, its samples are bins of themselves."""
    world = make_world()
    world.set("spark-01", gpu.GPU_POWER, lambda number: float(number))
    world.run(0, 30)
    world.silence("head", 31)
    world.run(31, 120)
    found = make_web(world)
    found.step()
    query = f"metric=gpu_power_watts,requests_running&start={tick(0)}&end={tick(120)}&points=60"
    head, *lines = rows(found, query)
    assert head[5:] == [
        *(f"gpu_power_watts_{part} [watts]" for part in ("min", "mean", "max", "last")),
        *(f"requests_running_{part} [requests]" for part in ("min", "mean", "max", "last")),
    ]
    running = [row[9:] for row in lines if row[1] == "head" and row[9]]
    assert running
    assert all(row == ["3", "3", "3", "3"] for row in running)


def test_every_sample_and_bins_of_a_width(web: Web) -> None:
    found = rows(web, f"{POWER}&raw=1&node=spark-02")
    assert [row[0] for row in found[1:3]] == ["2026-11-30T00:55:00.000Z", "2026-11-30T00:55:01.000Z"]
    assert (len(found), {row[3] for row in found[1:]}) == (21, {"51"})
    bins = rows(web, f"metric=gpu_energy_joules_total&start={tick(95)}&end={tick(114)}&step=10s&node=spark-01")
    assert [row[0] for row in bins[1:]] == [f"2026-11-30T00:5{one}.000Z" for one in ("4:50", "5:00", "5:10")]
    assert [row[3:] for row in bins[1:]] == [
        ["4750", "4850", "4950", "4950"],
        ["5000", "5225", "5450", "5450"],
        ["5500", "5600", "5700", "5700"],
    ]


def test_several_metrics_a_total_a_rate_and_a_quantile(web: Web) -> None:
    both = rows(
        web, f"metric=gpu_power_watts,memory_headroom_bytes&start={tick(119)}&end={tick(120)}&raw=1&node=spark-01"
    )
    assert both[1:3] == [
        ["2026-11-30T00:55:19.000Z", "spark-01", "0", "50", ""],
        ["2026-11-30T00:55:19.000Z", "spark-01", "", "", "26843545600"],
    ]
    last = f"&raw=1&start={tick(119)}&end={tick(120)}"
    assert rows(web, f"{POWER}&raw=1&total=1")[1] == ["2026-11-30T00:55:00.000Z", "206"]
    rate = rows(web, f"metric=gpu_energy_joules_total&rate=1&node=spark-02{last}")
    assert rate[0][-1] == "gpu_energy_joules_total_rate [watts]"
    assert [float(row[-1]) for row in rate[1:]] == pytest.approx([51.0, 51.0])
    ttft = rows(web, f"metric=time_to_first_token_seconds&quantile=0.9&start={tick(118)}&end={tick(120)}")
    assert ttft[0][4:] == [f"time_to_first_token_seconds_p90{one}" for one in (" [seconds]", "_side", "_count")]


def test_a_name_is_asked_for_once(web: Web) -> None:
    query = f"metric=gpu_power_watts,tachograph_gpu_power_watts,gpu_power_watts&start={tick(119)}&raw=1"
    assert rows(web, query)[0] == ["time", "target", "gpu", "gpu_power_watts [watts]"]


def test_everything_is_every_stored_metric(web: Web) -> None:
    head, *found = rows(web, f"metric=all&raw=1&start={tick(119)}&end={tick(120)}")
    values = {name.partition(" ")[0]: {row[place] for row in found} - {""} for place, name in enumerate(head)}
    assert values["generation_tokens_total"] == {"2380", "2400"}
    assert values["time_to_first_token_seconds_count"] == {"119", "120"}
    assert {"1", "5", "10", "Inf"} >= {one.removesuffix(".0") for one in values["le"]} - {"0.1", "0.2"}
    assert values["cluster_gpu_power_watts"] == {"206"}
    assert "decode_tokens_per_second" not in values
    node = rows(web, f"metric=all&raw=1&start={tick(119)}&end={tick(120)}&node=spark-01")
    assert {row[1] for row in node[1:]} == {"spark-01"}
    assert not any("cluster_" in name for name in node[0]), "the whole cluster's is no node's"
    assert "does not" not in str(node)


def test_headers_of_a_file(web: Web) -> None:
    answer = web.client.get(f"/api/v1/export.csv?{POWER}&step=10s&layout=long")
    assert answer.content_type == "text/csv; charset=utf-8; header=present"
    name = "gpu_power_watts_20261130T005500Z_20261130T005519Z_10s_long.csv"
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{name}"'
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    packed = web.client.get(f"/api/v1/export.csv?{POWER}&step=10s&layout=long&gzip=1")
    assert packed.content_type == "application/gzip"
    assert packed.headers["Content-Disposition"].endswith('_long.csv.gz"')
    assert gzip.decompress(packed.data) == answer.data


def test_a_sqlite_file(web: Web, tmp_path: Path) -> None:
    answer = web.client.get(f"/api/v1/export.sqlite?{POWER}&raw=1&layout=long")
    assert answer.content_type == "application/vnd.sqlite3"
    file = tmp_path / "found.sqlite"
    file.write_bytes(answer.data)
    with closing(sqlite3.connect(file)) as connection:
        found = connection.execute(
            "SELECT target, count(*), max(value) FROM sample JOIN series ON series.id = series GROUP BY 1 ORDER BY 1"
        ).fetchall()
    assert found == [(f"spark-0{one}", 20, 49.0 + one) for one in (1, 2, 3, 4)]


def test_parquet_without_its_library(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "find_spec", lambda _name: None)
    assert refused(web, POWER, 501, "parquet") == MISSING
    assert refused(web, f"{POWER}&estimate=1", 501, "parquet") == MISSING


@pytest.mark.skipif(find_spec("pyarrow") is None, reason="pyarrow is not installed")
def test_a_parquet_file(web: Web) -> None:
    answer = web.client.get(f"/api/v1/export.parquet?{POWER}&raw=1")
    assert answer.content_type == "application/vnd.apache.parquet"
    assert (answer.data[:4], answer.data[-4:]) == (b"PAR1", b"PAR1")


def test_an_estimate(web: Web) -> None:
    assert web.get(f"export.csv?{POWER}&raw=1&estimate=1") == {"rows": 80, "bytes": 80 * 40, "exact": True}
    assert web.get(f"export.sqlite?{POWER}&raw=1&estimate=1")["rows"] == 80


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("", "“metric” is missing"),
        (f"{POWER}&raw=1&step=10s", "“step” and “raw” exclude each other"),
        (f"{POWER}&points=5&step=10s", "“points” and “step” exclude each other"),
        (f"{POWER}&raw=yes", "“raw” is “yes”"),
        (f"{POWER}&step=fast", "a length of time like 90s"),
        (f"{POWER}&step=50ms", "at least 100ms"),
        (f"{POWER}&points=5001", "from 1 to 5000"),
        (f"{POWER}&layout=square", "one of: wide, long"),
        (f"{POWER}&rate=1", "gpu_power_watts is no counter"),
        (f"{POWER}&gpu=0", "There is no parameter “gpu”"),
        (f"{POWER}&node=spark-99", "“node” is “spark-99”"),
        ("metric=gpu_power_watts&start=now", "start < end"),
        ("metric=gpu_power_watts&start=0", "longer than 1098 days"),
        (
            f"{POWER},generation_tokens_total&node=spark-01".replace(",generation", "&metric=generation"),
            "more than once",
        ),
        (
            "metric=gpu_power_watts,generation_tokens_total&node=spark-01",
            "“node” does not apply: generation_tokens_total",
        ),
        ("metric=all&label=gpu:0", "No metric has all of these filters"),
    ],
)
def test_what_cannot_be_asked(web: Web, query: str, says: str) -> None:
    assert says in refused(web, query)


def test_only_csv_is_packed(web: Web) -> None:
    assert "“gzip” is for CSV" in refused(web, f"{POWER}&gzip=1", form="sqlite")


def test_no_such_metric(web: Web) -> None:
    assert "Did you mean gpu_power_watts" in refused(web, "metric=gpu_power_wats", 404)


def test_parameters_are_those_of_series_and_some_more() -> None:
    assert set(series.KNOWN) - {"stats"} < set(export.KNOWN)
    assert "stats" not in export.KNOWN


def test_it_wants_the_token(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    world.run(0, 10)
    web = make_web(world, token="secret")
    web.step()
    for form in ("csv", "parquet", "sqlite"):
        assert web.client.get(f"/api/v1/export.{form}?metric=gpu_power_watts").status_code == 401
    allowed = {"Authorization": "Bearer secret"}
    assert web.client.get("/api/v1/export.csv?metric=gpu_power_watts", headers=allowed).status_code == 200


def test_two_at_a_time(web: Web) -> None:
    """The third is told to come again; each place comes free when its client has gone, or read all of it."""
    first, second = (web.client.get(f"/api/v1/export.csv?{POWER}&raw=1", buffered=False) for _ in range(2))
    third = web.client.get(f"/api/v1/export.csv?{POWER}&raw=1")
    assert (third.status_code, third.headers["Retry-After"]) == (503, "10")
    assert third.json["error"] == download.FULL
    assert web.get(f"export.csv?{POWER}&raw=1&estimate=1")["rows"] == 80, "an estimate needs no place"
    first.close()
    again = web.client.get(f"/api/v1/export.csv?{POWER}&raw=1")
    assert (again.status_code, again.data) == (200, second.data)
    second.close()
    assert [len(rows(web, POWER)) for _ in range(3)] == [81, 81, 81]


def test_a_refused_export_takes_no_place(web: Web) -> None:
    for _ in range(4):
        assert "start < end" in refused(web, "metric=gpu_power_watts&start=now")
    for _ in range(3):
        with web.client.head(f"/api/v1/export.csv?{POWER}") as answer:
            assert answer.status_code == 200
    assert web.client.get(f"/api/v1/export.csv?{POWER}").status_code == 200


def test_a_place_is_given_back_once() -> None:
    places = Places(1)
    give_back = places.take()
    assert give_back is not None
    assert places.take() is None
    give_back()
    give_back()
    assert places.take() is not None
    assert places.take() is None


def test_the_disk_keeps_some_room(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "LEFT_BYTES", 1 << 62)
    assert "MiB of a disk free" in refused(web, f"{POWER}&raw=1", 507, "sqlite")
    monkeypatch.undo()
    for _ in range(3):
        with web.client.get(f"/api/v1/export.sqlite?{POWER}") as answer:
            assert answer.data.startswith(b"SQLite format 3")


def test_over_http_it_comes_in_pieces(web: Web, serve: Callable[[Web], str]) -> None:
    with urllib.request.urlopen(f"{serve(web)}/api/v1/export.csv?{POWER}&raw=1", timeout=20) as reply:
        assert reply.headers["Content-Length"] is None
        text = reply.read().decode()
    assert text.count("\r\n") == 81


def test_a_client_that_goes_away_ends_the_work(
    make_world: MakeWorld, make_web: MakeWeb, serve: Callable[[Web], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the first bytes it hangs up; the slices that were still to be read are not read, and its place is free."""
    world = make_world()
    world.run(0, 120)
    web = make_web(world)
    web.step()
    ended, go_on = threading.Event(), threading.Event()
    taken: list[int] = []
    real = download.extract

    def watched(*given: object) -> object:
        found = real(*given)  # type: ignore[arg-type]

        def blocks() -> object:
            try:
                for number, block in enumerate(found.blocks):
                    taken.append(number)
                    yield block
                    assert go_on.wait(20)
            finally:
                ended.set()

        return type(found)(found.table, blocks())  # type: ignore[arg-type]

    monkeypatch.setattr(download, "extract", watched)
    monkeypatch.setattr("exchange.beside.SLICES_MS", (1_000,))
    address = urlsplit(serve(web))
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=20)
    connection.request("GET", f"/api/v1/export.csv?metric=all&raw=1&start={tick(1)}&end={tick(120)}")
    reply = connection.getresponse()
    assert reply.read(4) == b"time"
    reply.close()
    connection.close()
    go_on.set()
    assert ended.wait(20)
    assert len(taken) < 120


def test_a_client_that_takes_nothing_is_dropped_in_the_end(web: Web) -> None:
    near, far = socket.socketpair()
    with near, far:
        for name in ("gunicorn.socket", "werkzeug.socket"):
            near.settimeout(None)
            with web.client.get(f"/api/v1/export.csv?{POWER}", environ_overrides={name: near}) as answer:
                assert answer.status_code == 200
            assert near.gettimeout() == download.STALLED_S


def test_nobody_waits_for_a_file_that_nobody_wants(web: Web) -> None:
    """A SQLite file is not made to its end for a client that has hung up meanwhile."""
    near, far = socket.socketpair()
    with near:
        far.close()
        for _ in range(3):
            with web.client.get(
                f"/api/v1/export.sqlite?{POWER}", environ_overrides={"gunicorn.socket": near}
            ) as answer:
                assert answer.data == b""


def test_a_place_is_free_when_its_client_hangs_up_before_there_is_a_row(web: Web) -> None:
    """Of CSV the heading is sent before rows are read; then nothing is read for nobody."""
    query = "metric=gpu_power_watts&start=-1000d&step=1s"
    for _ in range(3):
        near, far = socket.socketpair()
        with near:
            answer = web.client.get(
                f"/api/v1/export.csv?{query}", buffered=False, environ_overrides={"gunicorn.socket": near}
            )
            pieces = answer.iter_encoded()
            assert next(pieces).startswith(b"time,target")
            far.close()
            with pytest.raises(BrokenPipeError):
                next(pieces)
    assert rows(web, POWER)
    near, far = socket.socketpair()
    with near:
        far.close()
        for _ in range(3):
            gone = web.client.get(f"/api/v1/export.csv?{query}", environ_overrides={"gunicorn.socket": near})
            assert gone.data == b""


def test_a_hung_up_line_is_seen() -> None:
    near, far = socket.socketpair()
    with near, far:
        assert open_still(near)
        far.sendall(b"more")
        assert open_still(near)
        near.recv(4)
        far.close()
        assert not open_still(near)
    assert not open_still(near)


def test_a_gap_is_empty_and_never_zero(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    world.set("spark-01", gpu.GPU_POWER, lambda number: NAN if number == 5 else 50.0)
    world.away("spark-02", 3, 6)
    world.run(0, 9)
    web = make_web(world)
    web.step()
    head, *found = rows(web, f"metric=gpu_power_watts,gpu_temperature_celsius&start={tick(0)}&end={tick(9)}&raw=1")
    by = {(row[0][17:19], row[1]): row[3:] for row in found}
    assert head[3:] == ["gpu_power_watts [watts]", "gpu_temperature_celsius [celsius]"]
    assert by["25", "spark-01"] == ["", "60"]
    assert {second for second, target in by if target == "spark-02"} == {"20", "21", "22", "27", "28", "29"}


def test_an_error_of_the_store_before_the_first_byte_is_a_sentence(web: Web) -> None:
    Path(web.world.url.removeprefix("sqlite:///")).unlink()
    for _ in range(3):
        answer = web.client.get(f"/api/v1/export.csv?{POWER}&raw=1")
        assert answer.status_code == 503
        assert answer.json["error"]
