"""`check` and the search for local engines, against real servers on loopback."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from cli import check, configs, discover, hub, notify, run
from cli.probe import Probe, printable
from cli.supervisor import ROOT
from collectors.scrape.http import Reply
from collectors.scrape.outcome import Outcome
from collectors.scrape.text import PageReader
from pipeline.config import TargetKind
from settings import Settings, SettingsError

LABELS = '{engine="0",model_name="Kimi-K3"}'
VLLM = f"vllm:num_requests_running{LABELS} 3\nvllm:generation_tokens_total{LABELS} 7\n"
AGENT = "# TYPE tachograph_memory_total_bytes gauge\ntachograph_memory_total_bytes 1024\n"
STATE = {
    "version": "9.9.9",
    "time_s": 0.0,
    "facts": {
        "hostname": "spark-01",
        "driver_version": "580.1",
        "gpu.0.name": "NVIDIA GB10",
        "function.a.cage": "p0",
        "function.b.cage": "p0",
        "function.c.cage": "p1",
        "kernel": None,
    },
    "readings": {
        "nvml": {"outcome": "nothing here", "reason": "no driver"},
        "kernel": {"outcome": "nothing here", "reason": "not readable"},
        "network": {"outcome": "failed", "reason": "permission denied"},
        "host": {"outcome": "ok", "reason": ""},
    },
}

Serve = Callable[..., str]


@contextmanager
def serving(pages: Mapping[str, tuple[int, str]], token: str | None = None) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            allowed = token is None or self.headers.get("Authorization") == f"Bearer {token}"
            status, text = pages.get(self.path, (404, "")) if allowed else (401, "")
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def unused() -> Iterator[int]:
    """A port that is taken, but refuses connections."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def checked(settings: Settings, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    status = check.main(settings)
    return status, capsys.readouterr().out.splitlines()


def test_a_healthy_engine(capsys: pytest.CaptureFixture[str]) -> None:
    pages = {"/metrics": (200, VLLM), "/version": (200, '{"version": "0.32.0"}')}
    with serving(pages) as url:
        status, lines = checked(Settings(store="sqlite:////x.db", engines={"head": url}), capsys)
    assert status == 0
    assert lines[0] == f"ok   engine head ({url}/metrics)"
    assert lines[1].startswith("       vLLM 0.32.0 serving Kimi-K3: 2 series, 0.1 kB in ")
    assert lines[2] == "1 of 1 targets can be read. Samples would go to sqlite:////x.db."


def test_a_healthy_node(capsys: pytest.CaptureFixture[str]) -> None:
    with serving({"/metrics": (200, AGENT), "/state": (200, json.dumps(STATE))}) as url:
        status, lines = checked(Settings(nodes={"spark-01": url}), capsys)
    assert status == 0
    assert lines[0] == f"ok   node spark-01 ({url}/metrics)"
    assert lines[1].startswith("       Agent 9.9.9 on spark-01: 1 series, 0.1 kB in ")
    assert lines[2:6] == [
        "       GPU: NVIDIA GB10, driver 580.1.",
        "       Fabric: 2 cages (p0, p1).",
        "       Its reading of nvml: nothing here, no driver.",
        "       Its reading of network: failed, permission denied.",
    ]
    assert lines[6].startswith("       Its clock is ")
    assert lines[6].endswith(" s behind ours; measurements do not depend on it.")
    assert len(lines) == 8


@pytest.mark.parametrize(
    "state", ["", "[]", '{"facts": 7, "readings": [1], "time_s": "x"}', '{"readings": {"host": 3}}']
)
def test_an_agent_that_says_little(state: str, capsys: pytest.CaptureFixture[str]) -> None:
    with serving({"/metrics": (200, AGENT), "/state": (200, state)}) as url:
        status, lines = checked(Settings(nodes={"a": url}), capsys)
    assert status == 0
    assert lines[1].startswith("       Agent of unknown version on an unnamed machine: 1 series")
    assert len(lines) == 3


def test_the_real_agent(capsys: pytest.CaptureFixture[str]) -> None:
    command = [sys.executable, str(ROOT / "agent.py"), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as agent:
        assert agent.stderr is not None
        try:
            port = int(agent.stderr.readline().rpartition(" ")[2])
            status, lines = checked(Settings(nodes={"me": f"http://127.0.0.1:{port}"}), capsys)
            assert discover.is_agent(port)
            named, child = run.with_local_agent(Settings(agent_port=port))
        finally:
            agent.terminate()
    assert status == 0
    assert f"on {socket.gethostname()}: " in lines[1]
    assert not any("clock" in line for line in lines)
    assert child is None
    assert list(named.nodes.values()) == [f"http://127.0.0.1:{port}"]


def test_what_is_wrong_with_each(unused: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "token").write_text("right")
    pages = {"/metrics": (200, VLLM)}
    with (
        serving({"/metrics": (200, AGENT)}) as agent,
        serving(pages) as engine,
        serving(pages, "right") as closed,
        serving({}) as empty,
        serving({"/metrics": (200, "something_else 1\n")}) as other,
        serving({"/metrics": (200, "http_request_duration_highr_seconds_count 1\n")}) as silent,
    ):
        settings = Settings(
            nodes={"n1": engine, "n2": f"http://127.0.0.1:{unused}", "n3": other, "n4": closed},
            engines={
                "e1": agent,
                "e2": f"http://127.0.0.1:{unused}",
                "e3": empty,
                "e4": other,
                "e5": silent,
                "e6": closed,
            },
            store="postgresql+psycopg://ann:secret@db/x",
            engine_token_file=str(tmp_path / "token"),
        )
        status, lines = checked(settings, capsys)
    said = dict(zip((line.split()[2] for line in lines[:-1:2]), (line.strip() for line in lines[1::2]), strict=False))
    assert status == 1
    assert said["n1"] == "This is no agent but vLLM: name it with --engine."
    assert said["n2"].startswith("Nothing listens there: start the agent there")
    assert said["n3"] == "It answers, but this is no agent's metrics page."
    assert said["n4"].endswith("the agent wants a token: name its file with --node-token-file.")
    assert said["e1"] == "This is an agent: name it with --node."
    assert said["e2"].startswith("Nothing listens there: is the engine running")
    assert said["e3"].startswith("HTTP status 404: llama-server needs --metrics")
    assert said["e4"] == "It answers, but this is no engine's metrics page."
    assert len([line for line in lines if line.startswith("FAIL")]) == 9
    assert "The engine answers, but was started with --disable-log-stats." in [line.strip() for line in lines]
    assert any(line.startswith("ok   engine e6") for line in lines)
    assert lines[-1] == "1 of 10 targets can be read. Samples would go to postgresql+psycopg://ann:…@db/x."


def test_an_engine_without_requests_yet_is_good(capsys: pytest.CaptureFixture[str]) -> None:
    with serving({"/metrics": (200, "# TYPE vllm:num_requests_running gauge\n# EOF\n")}) as url:
        status, lines = checked(Settings(engines={"head": url}), capsys)
    assert status == 0
    assert lines[2].strip() == "The engine answers and has served no request since its start."


@pytest.mark.parametrize("outcome", Outcome)
@pytest.mark.parametrize("kind", TargetKind)
def test_every_failure_is_a_sentence(kind: TargetKind, outcome: Outcome) -> None:
    verdict = check.explain(kind, Probe(Reply(outcome, b"", 0, 0, "it went wrong")))
    assert not verdict.good
    (sentence,) = verdict.sentences
    assert sentence.startswith("It went wrong")
    assert sentence.endswith((".", "?"))
    assert not sentence.endswith(("?.", ".."))


def test_the_page_of_a_hub_is_no_target() -> None:
    body = b"# HELP tachograph_target_up 1 while a target answers.\n# TYPE tachograph_target_up gauge\n"
    layout = PageReader("x").read(body).layout
    for kind in TargetKind:
        verdict = check.explain(kind, Probe(Reply(Outcome.OK, body, 0, 0), layout))
        assert not verdict.good
        assert verdict.sentences == (
            "This is the page of a Tachograph hub: give the address of an agent or an engine.",
        )


def test_series_beyond_the_limit_are_told() -> None:
    body = VLLM.encode()
    told = {
        1: "1 series, 0.1 kB in 250 ms; 1 more series are beyond the limit and not read.",
        2: "2 series, 0.1 kB in 250 ms.",
    }
    for cap, said in told.items():
        layout = PageReader("head", cap).read(body).layout
        verdict = check.explain(TargetKind.ENGINE, Probe(Reply(Outcome.OK, body, 1.0, 1.25), layout))
        assert verdict == check.Verdict(True, (f"vLLM: {said}",))


@pytest.mark.parametrize(
    ("skew_s", "said"),
    [(1.9, None), (-1.9, None), (2.0, "2.0 s ahead of ours"), (-3.25, "3.2 s behind ours"), (None, None)],
)
def test_clocks(skew_s: float | None, said: str | None) -> None:
    found = list(check._skew(Probe(Reply(Outcome.OK, b"", 0, 0), skew_s=skew_s)))
    assert len(found) == (said is not None)
    assert said is None or said in found[0]


def test_text_of_strangers() -> None:
    assert printable("a\x1b[31mb\n" + "c" * 200) == "a�[31mb�" + "c" * 92


def test_nothing_configured(unused: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert check.nothing_configured((unused,)) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == f"No engine answers on ports {unused} of this machine."
    assert len(lines) == 3
    with serving({"/metrics": (200, VLLM)}) as url:
        assert check.nothing_configured((unused, int(url.rpartition(":")[2]))) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == f"It would also read vLLM serving Kimi-K3 at {url}."
    assert len(lines) == 3


def test_run_reads_the_engines_it_finds_and_says_so(unused: int, capsys: pytest.CaptureFixture[str]) -> None:
    with serving({"/metrics": (200, VLLM)}) as url:
        ports = (unused, int(url.rpartition(":")[2]))
        found = run.with_local_engines(Settings(), ports)
        assert run.with_local_engines(Settings(discover=False), ports).engines == {}
    assert found.engines == {url.removeprefix("http://"): url}
    assert capsys.readouterr().out == f"Found vLLM serving Kimi-K3 at {url}: reading it. To keep it: --engine {url}\n"
    assert run.with_local_engines(Settings(), (unused,)).engines == {}
    assert capsys.readouterr().out == f"No engine on ports {unused} of this machine; name one with --engine URL.\n"


def test_engines_are_found_once(unused: int, capsys: pytest.CaptureFixture[str]) -> None:
    models = json.dumps({"data": [{"id": "tiny.gguf"}]})
    with (
        serving({"/metrics": (200, VLLM)}) as vllm,
        serving({"/metrics": (200, "llamacpp:requests_processing 0\n"), "/v1/models": (200, models)}) as llama,
        serving({"/metrics": (200, "node_load1 1\n")}) as other,
        serving({"/metrics": (200, AGENT)}) as agent,
    ):
        ports = [int(url.rpartition(":")[2]) for url in (vllm, llama, other, agent)]
        found = discover.engines((ports[1], unused, *ports))
        assert not discover.is_agent(ports[0])
        assert discover.is_agent(ports[3])
    assert [(engine.name, engine.url, engine.what) for engine in found] == [
        (llama.removeprefix("http://"), llama, "llama.cpp serving tiny.gguf"),
        (vllm.removeprefix("http://"), vllm, "vLLM serving Kimi-K3"),
        (llama.removeprefix("http://"), llama, "llama.cpp serving tiny.gguf"),
    ]


def test_a_loopback_agent_takes_a_free_port_when_its_own_is_taken(unused: int) -> None:
    settings, child = run.with_local_agent(Settings(store="sqlite:////x.db", agent_port=unused, agent_host="0.0.0.0"))
    assert child is not None
    (url,) = settings.nodes.values()
    assert url == f"http://127.0.0.1:{settings.agent_port}"
    assert settings.agent_port not in (0, unused)
    assert child.environment["TACHOGRAPH_AGENT_HOST"] == "127.0.0.1"
    assert child.environment["TACHOGRAPH_AGENT_PORT"] == str(settings.agent_port)
    assert child.command[1:] == (str(ROOT / "app.py"), "agent")


def test_all_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    """Each needs its own reading: a rule, a channel, a token file, a heartbeat, a file of results."""
    wrong = Settings(
        store=f"sqlite:///{tmp_path}/x.db",
        node_token_file=str(tmp_path / "none"),
        alerts={"one": {"title": "One"}},
        channels={"bad": {"url": "nonsense://x"}},
        heartbeat={"url": "nonsense://y"},
        references=str(tmp_path / "nowhere"),
    )

    def told(read: Callable[[], object]) -> list[str]:
        with pytest.raises(SettingsError) as caught:
            read()
        return [one.partition(": ")[0] for one in caught.value.problems]

    of_collector = ["node_token_file", "alerts", "channels.bad"]
    assert told(lambda: configs.collector(wrong)) == of_collector
    assert told(lambda: configs.web(wrong, None)) == ["references", "alerts", "channels.bad"]
    assert told(lambda: notify.notifier(wrong)) == ["channels.bad", "heartbeat", "alerts"]
    assert told(lambda: hub.prepare(wrong)) == [*of_collector, "heartbeat"]
    assert told(lambda: run.main(wrong)) == [*of_collector, "heartbeat", "references"]
    assert configs.at_once(lambda: 1, lambda: "two") == (1, "two")


def test_wrong_rules_are_all_told_before_anything_is_looked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = {"one": {"title": "One"}, "gpu_hot": {"for": "soon"}}
    with pytest.raises(SettingsError) as caught:
        run.main(Settings(store=f"sqlite:///{tmp_path}/x.db", alerts=tables))
    assert [one.split(":")[1].strip() for one in caught.value.problems] == ["rule one", "rule gpu_hot"]
    assert capsys.readouterr().out == ""
