"""`runs compare`: what it prints, and the exit statuses that gate a pipeline."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cli import compare
from cli.main import main
from tests.web.compare_world import compared
from tests.web.world import World

Said = tuple[int, str, str]
Command = Callable[..., Said]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a store with five runs."""
    world = compared(World(tmp_path_factory.mktemp("compared") / "store.db"))
    yield world.url
    world.close()


@pytest.fixture
def command(store: str, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs `runs compare WORDS`: (status, what it printed, what it complained of)."""

    def call(*words: str) -> Said:
        status = main(["runs", "compare", *words, "--store", store])
        return (status, *capsys.readouterr())

    return call


def test_it_says_which_is_faster(command: Command) -> None:
    status, out, complaint = command("1", "2")
    lines = out.splitlines()
    assert (status, complaint) == (0, "")
    assert lines[0].startswith("Kimi-K3 #2 (run 2) against Kimi-K3 #1 (run 1): 1")
    assert lines[0].endswith("% faster")
    assert lines[1].startswith("Difference +1")
    measures = [line.split("  ")[0] for line in lines[4:8]]
    assert measures == ["Decode per request", "Step time", "Time per output token", "Decode throughput"]
    assert lines[6].endswith("Not comparable, because the engine of “Kimi-K3 #1” does not offer it.")
    assert "Kimi-K3 #1: a closed loop: about 4 requests in the system all the time" in lines
    assert any(line.startswith("Tool, as told") and line.endswith("llama-benchy") for line in lines)
    assert any(line.startswith("Decode, mean while decoding") for line in lines)


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("1", "2", "--fail-below", "95"), 0, ""),
        (("1", "3", "--fail-below", "95%"), 0, ""),
        (("1", "2", "--fail-below", "110"), 0, ""),
        (("2", "1", "--fail-below", "95"), 1, "Slower than allowed: “Kimi-K3 #1” runs at 8"),
        (("1", "2", "--fail-below", "125"), 1, "asked for is 125.0%."),
        (("1", "3", "--fail-below", "100"), 4, "Too short to say whether it reaches 100% of “Kimi-K3 #1”"),
        (("1", "4"), 4, "Too short to say: 6 independent blocks"),
        (("1", "4", "--fail-below", "95"), 4, "Too short to say: 6 independent blocks"),
        (("1", "5"), 5, "Not comparable, because they never ran equally many requests"),
        (("2", "4", "5"), 5, "Not comparable"),
        (("2", "1", "5", "--fail-below", "95"), 1, "Slower than allowed"),
    ],
)
def test_exit_statuses(command: Command, words: tuple[str, ...], status: int, said: str) -> None:
    found, _, complaint = command(*words)
    assert (found, said in complaint) == (status, True)
    assert bool(complaint) == bool(status)


@pytest.mark.parametrize(("limit", "status"), [(None, 0), (0.80, 0), (0.85, 4), (0.90, 4), (0.95, 1), (1.2, 1)])
def test_a_gate_on_times_asks_for_speed(limit: float | None, status: int) -> None:
    """A step that takes 10 to 25 % longer has 80 to 91 % of the speed."""
    one = {"run": 2, "main": True, "word": "slower", "unit": "seconds", "low": 0.1, "high": 0.25, "text": ""}
    found = {"runs": [{"id": 1, "name": "A"}, {"id": 2, "name": "B"}], "verdicts": [one]}
    assert compare._judged(found, found["runs"][1], limit)[0] == status


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "name two to eight runs by their numbers; runs compare ID ID…"),
        (("1",), "name two to eight runs by their numbers"),
        (("1", "x"), "Parameter “runs” is “1,x”"),
        (("1", "77"), "There is no run 77."),
        (("1", "2", "--fail-below", "5"), "from 50 to 200: 95 allows 5 % less"),
        (("1", "2", "--fail-below", "much"), "--fail-below is “much”"),
    ],
)
def test_what_cannot_be_asked(command: Command, words: tuple[str, ...], said: str) -> None:
    status, out, complaint = command(*words)
    assert (status, out, said in complaint) == (2, "", True)


def test_json_is_that_of_the_api_with_the_status(command: Command) -> None:
    status, out, _ = command("1", "4", "--json")
    found = json.loads(out)
    assert (status, found["status"], found["base"], len(found["verdicts"])) == (4, 4, 1, 4)
    assert [one["name"].partition(" ")[0] for one in found["references"]] == ["Kimi", "Llama", "Gemini"]


def test_no_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["runs", "compare", "1", "2", "--store", f"sqlite:///{tmp_path / 'none.db'}"])
    assert (status, bool(capsys.readouterr().err)) == (2, True)


def test_ones_own_references(store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, settings = tmp_path / "own.toml", tmp_path / "tachograph.toml"
    settings.write_text(f'store = "{store}"\nreferences = "{path}"\n', "utf-8")
    asked = ["runs", "compare", "1", "2", "--json", "--config", str(settings)]
    assert main(asked) == 2
    assert f"references: {path} cannot be read" in capsys.readouterr().err
    path.write_text(
        '[[reference]]\nname = "Ours"\nsource = "us"\ncontext = "1M"\nengine = "vLLM"\nhardware = "4 × GB10"\n'
        'hosting = "self-hosted"\ndecode = 12\n',
        "utf-8",
    )
    assert main(asked) == 0
    assert json.loads(capsys.readouterr().out)["references"][-1]["decode"] == [12.0, 12.0]
