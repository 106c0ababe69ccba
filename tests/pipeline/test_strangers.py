"""Pages with status 200 that are not those of the target: said as what they are, and nothing is read from them."""

from __future__ import annotations

import pytest

from collectors.scrape.answers import content_type
from collectors.scrape.engines import stranger
from collectors.scrape.text import PageReader
from pipeline.config import TargetKind
from storage.store import Store
from telemetry.catalog import engine
from tests.pipeline.stage import Stage, values

HTML = b"<!doctype html>\n<html><head><title>Open WebUI</title></head><body>hello 3</body></html>\n"
EXPORTER = (
    b"# HELP node_load1 1m load average.\n# TYPE node_load1 gauge\nnode_load1 0.21\nprocess_start_time_seconds 5\n"
)
VLLM = b'vllm:num_requests_running{engine="0",model_name="m"} 3\n'
AGENT = b"tachograph_memory_total_bytes 1024\n"
HUB = b"# TYPE tachograph_target_up gauge\ntachograph_target_up 1\n"
TEXT, WEB = "text/plain; version=0.0.4", "text/html; charset=utf-8"

ENGINES = [
    (HTML, WEB, "answers, but this is no engine's metrics page (text/html)"),
    (EXPORTER, TEXT, "answers, but this is no engine's metrics page (text/plain)"),
    (EXPORTER, None, "answers, but this is no engine's metrics page"),
    (b"", TEXT, "answers, but with an empty page (text/plain)"),
    (b"\n \n", None, "answers, but with an empty page"),
    (b'{"detail": "hello"}', "application/json", "answers, but this is no engine's metrics page (application/json)"),
    (AGENT, TEXT, "answers, but this is no engine's metrics page (text/plain)"),
    (b"# TYPE tachograph_memory_total_bytes gauge\n" + AGENT, TEXT, "answers, but this is an agent's metrics page"),
    (HUB, TEXT, "answers, but this is the page of a hub"),
]
NODES = [
    (HTML, WEB, "answers, but this is no agent's metrics page (text/html)"),
    (EXPORTER, TEXT, "answers, but this is no agent's metrics page (text/plain)"),
    (b"", TEXT, "answers, but with an empty page (text/plain)"),
    (VLLM, TEXT, "answers, but this is no agent's metrics page (text/plain)"),
    (b"# TYPE vllm:num_requests_running gauge\n" + VLLM, TEXT, "answers, but this is an engine's metrics page"),
    (HUB, TEXT, "answers, but this is the page of a hub"),
]
ALL = [(TargetKind.ENGINE, *one) for one in ENGINES] + [(TargetKind.NODE, *one) for one in NODES]


@pytest.mark.parametrize(("kind", "body", "content_type", "reason"), ALL)
def test_a_page_of_somebody_else_is_a_bad_answer(
    stage: Stage, store: Store, kind: TargetKind, body: bytes, content_type: str | None, reason: str
) -> None:
    async def story(stage: Stage) -> None:
        stage.body, stage.content_type = body, content_type
        await stage.tick(1)

    stage.kind = kind
    stage.play(story)
    (target,) = store.targets()
    assert (target.state, target.reason, target.last_ok_ms) == ("bad answer", reason, None)
    (absence,) = store.absences(0, 10**12)
    assert (absence.metric, absence.reason) == (None, f"bad answer: {reason}")
    assert store.rows(start=0, end=10**12) == []


def test_an_engine_behind_a_page_of_somebody_else_goes_on_where_it_was(stage: Stage, store: Store) -> None:
    async def story(stage: Stage) -> None:
        for second, tokens in enumerate((100, 130, None, 190), start=1):
            stage.says(tokens or 0)
            if tokens is None:
                stage.body, stage.content_type = HTML, WEB
            await stage.tick(second)
            stage.content_type = None

    stage.play(story)
    assert values(store, engine.GENERATION_TOKENS) == [0.0, 30.0, 90.0]
    (target,) = store.targets()
    assert (target.state, target.detail["missed"], target.detail["restarts"]) == ("ok", 1, 0)


@pytest.mark.parametrize(
    "body",
    [
        VLLM,
        b"# TYPE vllm:num_requests_running gauge\n# EOF\n",
        b'http_request_duration_highr_seconds_bucket{le="0.1"} 3\n',
        b"llamacpp:requests_processing 0\n",
    ],
)
def test_the_pages_of_engines_are_none_of_somebody_else(body: bytes) -> None:
    writer = PageReader("e").read(body).layout.engine
    assert stranger(writer, body, "text/plain", agent=False) is None


@pytest.mark.parametrize(
    ("header", "told"),
    [(WEB, "text/html"), ("text/plain;version=0.0.4", "text/plain"), ("", ""), ("x" * 99, "x" * 60), ("a\tb", "ab")],
)
def test_what_a_server_calls_its_page_is_short_and_printable(header: str, told: str) -> None:
    assert content_type(header) == told
