"""The adapter: what it asks, and what it makes of servers that answer badly. The servers are real, on loopback."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import numpy as np
import pytest

from exchange.prometheus.client import MOST_POINTS, SLICE_MS, Source, selector, spans
from exchange.prometheus.transport import Adapter, SourceError
from tests.exchange.answers import Answer, Server, result, said


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


@pytest.fixture
def source(server: Server) -> Iterator[Source]:
    made = Source(server.url)
    yield made
    made.close()


def test_raw_samples_of_a_half_open_range(server: Server, source: Source) -> None:
    pairs = [[100, "1"], [100.5, "NaN"], [101.0004, "-Inf"], [101.9996, None], [102, "5"]]
    server.answer = result({"metric": {"__name__": "a"}, "values": pairs}, {"metric": {}, "values": [[99.999, "1"]]})
    (one,) = source.raw('{job="x"}', 100_000, 102_000)
    assert one.labels == {"__name__": "a"}
    assert one.t_ms.tolist() == [100_000, 100_500, 101_000]
    assert one.values.tolist()[0::2] == [1.0, -np.inf]
    assert np.isnan(one.values[1])
    path, query, _ = server.asked[0]
    assert (path, query) == ("/api/v1/query", {"query": ['{job="x"}[3s]'], "time": ["102.000"]})


def test_part_of_a_second_more_is_asked_for(server: Server, source: Source) -> None:
    source.raw("a", 100_250, 101_300)
    assert server.asked[0][1] == {"query": ["a[3s]"], "time": ["101.300"]}


def test_a_null_is_unknown(server: Server, source: Source) -> None:
    server.answer = result({"metric": {}, "values": [[1, None], [2, "3"]]})
    (one,) = source.raw("a", 0, 10_000)
    assert np.isnan(one.values[0])
    assert one.values[1] == 3.0


def test_no_answer_of_more_points_than_a_server_gives(server: Server, source: Source) -> None:
    server.answer = result({"metric": {"a": "b"}, "values": [[0, "1"]]})
    found = list(source.stepped("x", 0, 25_000 * 60_000, 60))
    assert [one.labels for one in found] == [{"a": "b"}] * 3
    asked = [(int(query["start"][0]), int(query["end"][0]), query["step"][0]) for _, query, _ in server.asked]
    assert asked == [(0, 10_999 * 60, "60"), (11_000 * 60, 21_999 * 60, "60"), (22_000 * 60, 25_000 * 60, "60")]
    assert {path for path, _, _ in server.asked} == {"/api/v1/query_range"}


def test_spans_hold_every_step_once() -> None:
    for count in (0, 1, MOST_POINTS - 1, MOST_POINTS, MOST_POINTS + 1, 2 * MOST_POINTS, 3 * MOST_POINTS + 5):
        steps = [at for low, high in spans(7, 7 + (count - 1) * 10 + 3, 10) for at in range(low, high + 1, 10)]
        assert steps == [7 + 10 * k for k in range(count)]
        assert all((high - low) // 10 + 1 <= MOST_POINTS for low, high in spans(7, 7 + (count - 1) * 10, 10))
    assert SLICE_MS / 1000 * 12 < MOST_POINTS


def test_series_of_the_index(server: Server, source: Source) -> None:
    server.answer = said(200, {"status": "success", "data": [{"__name__": "a", "job": "b"}]})
    assert source.series("{x}", 1_000, 2_000) == [{"__name__": "a", "job": "b"}]
    path, query, _ = server.asked[0]
    assert (path, query) == ("/api/v1/series", {"match[]": ["{x}"], "start": ["1.0"], "end": ["2.0"]})


@pytest.mark.parametrize("entry", [7, None, "ab", [["__name__", "a"]], {"__name__": 5}, {"__name__": "a", "job": None}])
def test_label_sets_that_are_none(server: Server, source: Source, entry: object) -> None:
    server.answer = said(200, {"status": "success", "data": [{"__name__": "a"}, entry]})
    with pytest.raises(SourceError, match="this is no answer of a Prometheus"):
        source.series("{x}", 1_000, 2_000)


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (
            said(400, {"status": "error", "error": 'exceeded "11,000" points'}),
            'status 400: exceeded "11,000" points',
        ),
        (said(401, b"no"), "status 401: it wants a password or a token"),
        (said(404, b"<html>"), "status 404: there is no Prometheus at this address; the path may be missing"),
        (said(503, b"busy"), "status 503"),
        (said(200, b"<html>hello</html>"), "this is no answer of a Prometheus"),
        (said(200, {"status": "success"}), "this is no answer of a Prometheus"),
        (said(200, {"status": "success", "data": {"result": {"a": 1}}}), "this is no answer of a Prometheus"),
        (said(200, [1]), "this is no answer of a Prometheus"),
        (result({"metric": {}, "values": [[1, "x"]]}), "the answer holds something that is no sample"),
        (result({"metric": {}}), "the answer holds something that is no sample"),
        (result(7), "the answer holds something that is no sample"),
        (result({"metric": {"__name__": 5}, "values": []}), "the answer holds something that is no sample"),
        (said(200, b"[" * 100_000), "this is no answer of a Prometheus"),
        (said(200, b"9" * 5_000), "this is no answer of a Prometheus"),
        (said(422, b"[" * 100_000), "status 422"),
    ],
)
def test_what_is_wrong_is_a_sentence(server: Server, source: Source, answer: Answer, sentence: str) -> None:
    server.answer = answer
    with pytest.raises(SourceError) as caught:
        source.raw("a", 0, 1000)
    assert str(caught.value).removeprefix(f"{server.url}: ") == sentence


def test_no_redirect_is_followed(server: Server, source: Source) -> None:
    server.answer = said(302, b"", Location="http://user:secret@elsewhere.example/api?token=1")
    with pytest.raises(SourceError, match=r"sends us on to http://elsewhere\.example/api; name that address") as caught:
        source.raw("a", 0, 1000)
    assert "secret" not in str(caught.value)
    assert len(server.asked) == 1


def test_nobody_there() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://me:secret@127.0.0.1:{probe.getsockname()[1]}/x"
        source = Source(url)
        with pytest.raises(SourceError, match="cannot be reached") as caught:
            source.raw("a", 0, 1000)
    assert "secret" not in str(caught.value)
    source.close()


def test_silence_ends_after_one_try() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        source = Source(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout_s=1)
        with pytest.raises(SourceError, match="no answer in time"):
            source.raw("a", 0, 1000)
        silent.setblocking(False)
        silent.accept()[0].close()
        with pytest.raises(BlockingIOError):
            silent.accept()
        source.close()


def test_answers_are_bounded(server: Server) -> None:
    server.answer = said(200, b"x" * 300_000)
    source = Source(server.url)
    source._session.mount(server.url, Adapter(60.0, most_bytes=200_000))
    with pytest.raises(SourceError, match="too large"):
        source.raw("a", 0, 1000)
    times = iter([0.0, 5.0, 11.0, 12.0, 13.0])
    source._session.mount(server.url, Adapter(10.0, clock=lambda: next(times)))
    with pytest.raises(SourceError, match="takes too long"):
        source.raw("a", 0, 1000)
    source.close()


def test_token_password_and_path(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    source = Source(server.url + "/select/0/", token="t")
    source.raw("a", 0, 1000)
    assert server.asked[0][0] == "/select/0/api/v1/query"
    assert server.asked[0][2]["Authorization"] == "Bearer t"
    source.close()
    source = Source(server.url.replace("//", "//me:you@"))
    source.raw("a", 0, 1000)
    assert server.asked[1][2]["Authorization"].startswith("Basic ")
    assert source.name == server.url
    source.close()


@pytest.mark.parametrize("url", ["prometheus:9090", "ftp://a", "http://", "http://a?b=c", "http://a#b", ""])
def test_addresses_that_are_none(url: str) -> None:
    with pytest.raises(SourceError, match="must be like"):
        Source(url)


def test_selector_quotes() -> None:
    assert selector(["b:c", "a"], job='x"y\\z', instance="") == ('{__name__=~"a|b:c",job="x\\"y\\\\z",instance=""}')
