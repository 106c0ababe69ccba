"""`import`, `bench`, `runs report`, `runs export` and `runs import` as a user meets them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli import bench
from cli.console import instant
from cli.main import main
from dashboard.api import run_answers
from exchange import bundle
from storage.store import open_store
from tests.exchange import results
from tests.exchange.results import packed
from tests.web.conftest import MakeWorld, make_world
from tests.web.test_benchmarks import result
from tests.web.test_runs import collecting, keep, run
from tests.web.world import World, tick

__all__ = ["make_world"]


@pytest.fixture
def world(make_world: MakeWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A minute of the world with one run in it; an empty folder to work in."""
    made = make_world()
    made.run(0, 60)
    keep(made, run(1, 10, 30))
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return made


@pytest.fixture
def collected(world: World) -> Iterator[World]:
    """The same with a collector that carries out what is asked."""
    with collecting(world):
        yield world


def call(world: World, command: str, *arguments: str) -> int:
    return main([command, "--config", "", "--store", world.url, *arguments])


def put(name: str, data: bytes) -> str:
    Path(name).write_bytes(data)
    return name


def test_a_file_is_laid_over_its_run(collected: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(collected, "import", put("bench.json", packed(result()))) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "bench.json: run 1 (Kimi-K3 #1), the same model and output tokens"
    assert [line.split() for line in lines if line.startswith(("Output", "Apart"))] == [
        ["Output", "tokens", "400", "tokens", "400", "tokens", "equal"],
        ["Output", "throughput", "20.0", "tok/s", "20.0", "tok/s", "equal"],
    ]
    between = f"{instant(tick(10))} to {instant(tick(30))}"
    assert f"Engine: of all of the run over which it was laid, {between}" in lines
    assert call(collected, "import", "bench.json", "--json") == 0
    (told,) = json.loads(capsys.readouterr().out)["results"]
    assert (told["run"], told["how"], told["result"]["tool"]) == (1, "it is there already", "vllm bench serve")


def test_several_files_at_once(collected: World, capsys: pytest.CaptureFixture[str]) -> None:
    names = [put("a.json", packed(result())), put("b.json", results.recorded("llama-benchy.json"))]
    assert call(collected, "import", *names) == 0
    out = capsys.readouterr().out
    assert "b.json: run 3 (llama-benchy #3), kept apart: no run of its model has telemetry of its minutes" in out
    assert [line.split() for line in out.splitlines() if line.startswith("tg32 (c2): Decode  ")] == [
        ["tg32", "(c2):", "Decode", "98.7", "tok/s", "±", "0.405", "tok/s"]
    ]


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        ((), 2, "name the result files: import FILE…"),
        (("missing.json",), 1, "missing.json cannot be read: No such file or directory\n"),
        ((".",), 1, ". cannot be read: Is a directory\n"),
        (("broken.json",), 1, "broken.json, line 1, column 2: "),
        (("timeless.csv",), 2, "timeless.csv: it does not tell when it was measured"),
        (("bench.json", "--run", "nine"), 2, "--run: “nine” is no number of a run"),
        (("bench.json", "--run", "9"), 2, "There is no run 9."),
    ],
)
def test_what_cannot_be_imported(
    collected: World, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], status: int, sentence: str
) -> None:
    put("bench.json", packed(result()))
    put("broken.json", b"{")
    put("timeless.csv", b"model,test_name,t_s_mean,t_s_std\nm,tg32,1,1\n")
    assert call(collected, "import", *arguments) == status
    said = capsys.readouterr().err
    assert said.startswith(sentence)
    assert "Errno" not in said


def test_a_bad_file_does_not_keep_the_others_out(collected: World, capsys: pytest.CaptureFixture[str]) -> None:
    put("broken.json", b"{")
    put("timeless.csv", b"model,test_name,t_s_mean,t_s_std\nm,tg32,1,1\n")
    put("bench.json", packed(result()))
    assert call(collected, "import", "broken.json", "timeless.csv", "bench.json", "missing.json") == 2
    out, err = capsys.readouterr()
    assert out.startswith("bench.json: run 1 (Kimi-K3 #1), ")
    assert [line.partition(":")[0].partition(",")[0] for line in err.splitlines()] == [
        "broken.json",
        "timeless.csv",
        "missing.json cannot be read",
    ]
    assert call(collected, "import", "broken.json", "bench.json", "--json") == 1
    told = json.loads(capsys.readouterr().out)["results"]
    assert [(one["file"], one["run"], one["error"] is None) for one in told] == [
        ("broken.json", None, False),
        ("bench.json", 1, True),
    ]


def test_of_a_file_of_several_results_each_is_told(collected: World, capsys: pytest.CaptureFixture[str]) -> None:
    """The second is refused, since another run has it: the first and the third are imported."""
    put("one.json", packed(results.vllm(total_output_tokens=1)))
    assert call(collected, "import", "one.json", "--apart") == 0
    capsys.readouterr()
    put("all.jsonl", b"\n".join(packed(results.vllm(total_output_tokens=count)) for count in (2, 1, 3)))
    assert call(collected, "import", "all.jsonl", "--run", "1") == 2
    out, err = capsys.readouterr()
    assert out.count("all.jsonl: run 1 (Kimi-K3 #1)") == 2
    assert "it is there already, with run 3" in err


def test_without_a_collector(world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_answers, "WAIT_S", 0.05)
    assert call(world, "import", put("bench.json", packed(result()))) == 3
    assert "No collector has carried this out in time" in capsys.readouterr().out
    assert call(world, "bench", "--", "true") == 2
    assert "known are: none yet" in capsys.readouterr().err
    assert call(world, "bench", "--deployment", "Kimi-K3", "--", "true") == 3
    assert world.writer.pending_commands() == [], "no collector that comes later begins a run for it"
    assert call(world, "import", "bench.json", "--store", "nowhere/none.db") == 1


def put_folder(name: str) -> str:
    Path(name).parent.mkdir()
    return put(name, b"no program")


def script(text: str) -> list[str]:
    return [sys.executable, "-c", text]


def test_a_result_is_moved(collected: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(collected, "import", put("bench.json", packed(result()))) == 0
    capsys.readouterr()
    assert call(collected, "runs", "move", "1") == 2
    assert "name the run that the result belongs to, or say --apart" in capsys.readouterr().err
    assert call(collected, "runs", "move", "1", "--apart", "--key", "other") == 2
    assert "Run 1 has several results, or not this one" in capsys.readouterr().err
    assert call(collected, "runs", "move", "1", "--apart") == 0
    assert capsys.readouterr().out == "run 1: the result is a run of its own now\n"
    assert owners(collected) == {3: 1}
    assert call(collected, "runs", "move", "3", "1", "--json") == 0
    assert json.loads(capsys.readouterr().out)["error"] is None
    assert owners(collected) == {1: 1}


def owners(world: World) -> dict[int, int]:
    """How many results each run has that has any."""
    kept = open_store(world.url, writer=False, now_ms=0)
    counts = {run.id: len(kept.run_parts_of(run.id, "benchmark:")) for run in kept.runs()}
    kept.close()
    return {number: count for number, count in counts.items() if count}


def written(**changed: Any) -> str:
    """A command that writes a result and ends with 7."""
    text = packed(results.vllm(**changed)).decode()
    return f"import sys; open('out.json', 'w').write({text!r}); print('done'); sys.exit(7)"


def test_bench_ends_as_the_command_does_and_imports_its_result(
    collected: World, capfd: pytest.CaptureFixture[str]
) -> None:
    put("old.json", packed(results.vllm(total_output_tokens=1)))
    assert call(collected, "bench", "--name", "with drafts", "--", *script(written())) == 7
    out = capfd.readouterr().out
    assert out.startswith("done\n")
    assert "out.json: run 3 (with drafts), named by hand" in out
    assert "old.json" not in out
    assert "Run 3 (with drafts)" in out
    kept = open_store(collected.url, writer=False, now_ms=0)
    (run,) = [one for one in kept.runs() if one.id == 3]
    assert (run.by, run.ended, run.live) == ("hand", "stopped by hand", False)
    assert len(kept.run_parts_of(3, "benchmark:")) == 1
    kept.close()


def test_bench_takes_of_an_appended_file_what_is_new(collected: World, capfd: pytest.CaptureFixture[str]) -> None:
    put("all.json", packed(results.vllm(total_output_tokens=1)))
    more = packed(results.vllm(total_output_tokens=2)).decode()
    text = f"open('all.json', 'a').write({chr(10) + more!r})"
    assert call(collected, "bench", "--result", "all.json", "--", *script(text)) == 0
    assert capfd.readouterr().out.count("all.json: run 3") == 1


def test_bench_says_what_it_cannot_begin(collected: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(collected, "bench") == 2
    assert "name the command: bench -- vllm bench serve" in capsys.readouterr().err
    assert call(collected, "bench", "--deployment", "none", "--", "true") == 2
    assert "there is no deployment “none”, known are: Kimi-K3" in capsys.readouterr().err
    for name in ("no-such-command", "/bin/no-such-command"):
        assert call(collected, "bench", "--name", "x", "--", name) == 127
        assert f"{name}: there is no such command" in capsys.readouterr().err
    assert call(collected, "bench", "--", put_folder("here/notes.txt")) == 126
    assert "here/notes.txt: it cannot be executed" in capsys.readouterr().err
    kept = open_store(collected.url, writer=False, now_ms=0)
    assert [(one.id, one.live) for one in kept.runs()] == [(1, False)], "none was begun"
    kept.close()


def test_bench_says_that_there_is_no_result(collected: World, capfd: pytest.CaptureFixture[str]) -> None:
    assert call(collected, "bench", "--", "true") == 0
    assert bench.NO_RESULT in capfd.readouterr().err


def test_the_commands_own_flags_are_its_own(collected: World, capfd: pytest.CaptureFixture[str]) -> None:
    assert call(collected, "bench", "--", *script("import sys; print(sys.argv[1:])"), "--start", "-2h", "--json") == 0
    assert capfd.readouterr().out.startswith("['--start', '-2h', '--json']\n")


def test_where_results_are_looked_for(world: World) -> None:
    Path("results").mkdir()
    paths = [put(name, b"{}") for name in ("a.json", "b.csv", "c.txt", "results/d.json", "results/e.jsonl")]
    words = ["vllm", "bench", "serve", "--result-dir", "results", "--save-result"]
    assert bench.found(words, []) == [Path(one).resolve() for one in paths if one != "c.txt"]
    assert bench.found(["x", "--output-path=results/d.json"], []) == [
        Path(one).resolve() for one in paths if one != "c.txt"
    ]
    assert bench.found(words, [Path("c.txt"), Path("missing")]) == [Path("c.txt")]
    assert bench.keys(Path("c.txt")) == bench.keys(Path("missing")) == set()


def test_signals_are_passed_on(world: World, capfd: pytest.CaptureFixture[str]) -> None:
    """The command says when it is ready; then we are ended, and it is it that ends."""
    text = (
        "import os, signal, sys, threading\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))\n"
        "open('ready', 'w').close(); threading.Event().wait(90)"
    )
    root = str(Path(bench.__file__).parents[1])
    ours = f"carried_out([sys.executable, '-c', {text!r}])"
    code = f"import sys; sys.path.insert(0, {root!r})\nfrom cli.bench import carried_out\nsys.exit({ours})"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.DEVNULL) as child:
        tries = threading.Event()
        for _ in range(1200):
            if Path("ready").exists():
                break
            tries.wait(0.05)
        child.send_signal(signal.SIGTERM)
        assert child.wait(60) == 5


def test_a_command_that_a_signal_ended(world: World) -> None:
    text = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    assert bench.carried_out(script(text)) == 128 + signal.SIGKILL


def test_reports_as_files(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(world, "runs", "report", "1") == 0
    assert Path("run-1-Kimi-K3-1.html").read_bytes().startswith(b"<!doctype html>")
    assert capsys.readouterr().out.startswith("run-1-Kimi-K3-1.html: ")
    assert call(world, "runs", "report", "1") == 2
    assert "is there already" in capsys.readouterr().err
    assert call(world, "runs", "report", "1", "--force", "--anonymous") == 0
    assert b"spark-" not in Path("run-1-Kimi-K3-1.html").read_bytes()
    assert call(world, "runs", "report", "1", "--out", "post.md") == 0
    assert Path("post.md").read_text().startswith("## Kimi")


def test_a_report_on_standard_output(world: World, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert call(world, "runs", "report", "1", "--format", "md", "--out", "-") == 0
    assert capfdbinary.readouterr().out.startswith(b"## Kimi")


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (("report",), 2, "name a run by its number"),
        (("report", "9"), 1, "There is no run 9."),
        (("report", "1", "--format", "pdf"), 2, "a report is html or md, not pdf"),
        (("report", "1", "--out", "x.txt"), 2, "a report is html or md, not txt"),
        (("report", "1", "--out", "no/folder.html"), 1, "no/folder.html: No such file or directory"),
        (("import",), 2, "name the file: runs import FILE"),
        (("import", "missing"), 1, "missing: No such file or directory"),
        (("import", "broken"), 1, "broken: this file is no run of a Tachograph"),
    ],
)
def test_what_cannot_be_passed_on(
    world: World, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], status: int, sentence: str
) -> None:
    put("broken", b"hello")
    assert call(world, "runs", *arguments) == status
    assert sentence in capsys.readouterr().err


def test_a_run_as_one_file_there_and_back(collected: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(collected, "runs", "export", "1", "run.tachograph-run") == 0
    assert bundle.read(Path("run.tachograph-run").read_bytes(), 2**53).about["name"] == "Kimi-K3 #1"
    capsys.readouterr()
    assert call(collected, "runs", "import", "run.tachograph-run") == 0
    assert call(collected, "runs", "import", "run.tachograph-run") == 0
    assert capsys.readouterr().out.splitlines() == [
        "run.tachograph-run: run 3",
        "run.tachograph-run: run 3, which was there already",
    ]
    assert call(collected, "runs", "export", "3") == 0
    assert Path("run-3-Kimi-K3-1.tachograph-run").exists()


@pytest.mark.parametrize("words", [("runs", "import"), ("import",)])
def test_no_command_reads_it_to_the_end_of_memory(
    world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setattr("exchange.benchmarks.reading.MOST_BYTES", 2 << 20)
    assert call(world, *words, "/dev/zero") in (1, 2)
    assert "zero: larger than" in "".join(capsys.readouterr())
