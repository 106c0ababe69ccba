"""The supervisor with real child processes: restarts, stops, exit codes."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cli import lifeline
from cli.supervisor import ROOT, Child, Pace, Supervisor

QUICK = Pace(first=0.01, longest=0.05, steady=60, grace=20)
STUBBORN = "import signal,sys;signal.signal(signal.SIGTERM, signal.SIG_IGN);print('up',flush=True);signal.pause()"
WAITING = "print('up',flush=True);import signal;signal.pause()"


def python(text: str, name: str = "child", vital: bool = False) -> Child:
    return Child(name, (sys.executable, "-c", text), {}, vital)


def counting(path: Path, status: int, until: int) -> str:
    """A program that adds a line to a file, and ends with `status` until there are `until` lines; then it waits."""
    return (
        f"import os,signal,sys; open({str(path)!r},'a').write('x\\n'); n=len(open({str(path)!r}).readlines());"
        f"os.kill(os.getppid(), signal.SIGTERM) if n>={until} else sys.exit({status}); signal.pause()"
    )


def run(*children: Child, pace: Pace = QUICK) -> int:
    async def plan(supervisor: Supervisor) -> None:
        for child in children:
            supervisor.keep(child)

    return asyncio.run(asyncio.wait_for(Supervisor(pace).run(plan), 60))


def test_a_child_that_dies_is_started_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "starts"
    assert run(python(counting(path, 3, 3), "collector")) == 0
    assert path.read_text() == "x\n" * 3
    assert [record.getMessage() for record in caplog.records] == [
        "collector ended with status 3; starting it again in 0.0 s",
        "collector ended with status 3; starting it again in 0.0 s",
    ]


def test_the_end_of_a_vital_child_ends_all_with_its_status() -> None:
    assert run(python(WAITING), python("raise SystemExit(7)", vital=True)) == 7
    assert run(python(WAITING), python("raise SystemExit(0)", vital=True)) == 0


def test_a_vital_child_killed_by_a_signal() -> None:
    assert run(python("import os,signal; os.kill(os.getpid(), signal.SIGKILL)", vital=True)) == 128 + signal.SIGKILL


def test_refused_settings_are_not_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "starts"
    assert run(python(counting(path, 2, 99)), python(WAITING)) == 2
    assert path.read_text() == "x\n"


def test_a_program_that_does_not_exist_is_no_endless_wait(caplog: pytest.LogCaptureFixture) -> None:
    assert run(Child("odd", ("/nowhere/at/all",), {}, vital=True)) == 1


def test_a_child_that_cannot_be_spawned(caplog: pytest.LogCaptureFixture) -> None:
    assert run(Child("odd", ("bad\0name",))) == 1
    assert "a child cannot be run" in caplog.text


def test_a_plan_that_fails_stops_its_children() -> None:
    async def plan(supervisor: Supervisor) -> None:
        await supervisor.announce(python(WAITING))
        raise ValueError("no plan")

    with pytest.raises(ValueError, match="no plan"):
        asyncio.run(Supervisor(QUICK).run(plan))


def test_the_environment_reaches_the_child() -> None:
    child = Child("c", (sys.executable, "-c", "import os; print(os.environ['A'], os.getcwd(), flush=True)"), {"A": "b"})
    lines: list[str] = []

    async def plan(supervisor: Supervisor) -> None:
        lines.append(await supervisor.announce(child))

    assert asyncio.run(Supervisor(QUICK).run(plan)) == 0
    assert lines == [f"b {ROOT}"]


def test_first_line_and_nothing_after_it_blocks() -> None:
    talkative = python("print('ready', flush=True)\nfor _ in range(40000): print('x' * 100)\nraise SystemExit(5)")
    lines: list[str] = []

    async def plan(supervisor: Supervisor) -> None:
        lines.append(await supervisor.announce(talkative))

    assert asyncio.run(asyncio.wait_for(Supervisor(QUICK).run(plan), 60)) == 5
    assert lines == ["ready"]


def test_no_first_line() -> None:
    lines: list[str] = []

    async def plan(supervisor: Supervisor) -> None:
        lines.append(await supervisor.announce(python("raise SystemExit(4)")))

    assert asyncio.run(Supervisor(QUICK).run(plan)) == 4
    assert lines == [""]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_the_children_and_is_no_failure(number: signal.Signals) -> None:
    children: list[asyncio.subprocess.Process] = []

    class Watched(Supervisor):
        async def _start(self, child: Child, stdout: int | None = None) -> asyncio.subprocess.Process:
            children.append(await super()._start(child, stdout))
            return children[-1]

    async def plan(supervisor: Supervisor) -> None:
        assert await supervisor.announce(python(WAITING)) == "up"
        os.kill(os.getpid(), number)

    assert asyncio.run(asyncio.wait_for(Watched(QUICK).run(plan), 60)) == 0
    assert [child.returncode for child in children] == [-signal.SIGTERM]


def test_who_does_not_stop_is_killed() -> None:
    async def plan(supervisor: Supervisor) -> None:
        assert await supervisor.announce(python(STUBBORN)) == "up"
        supervisor.stop()

    assert asyncio.run(asyncio.wait_for(Supervisor(Pace(grace=0.2)).run(plan), 60)) == 1


def test_waiting_for_a_port_ends_with_everything_else() -> None:
    answers: list[bool] = []

    async def plan(supervisor: Supervisor) -> None:
        asyncio.get_running_loop().call_later(0.1, supervisor.stop)
        answers.append(await supervisor.listening("127.0.0.1", 1))

    assert asyncio.run(asyncio.wait_for(Supervisor(QUICK).run(plan), 60)) == 0


def test_waiting_for_a_port() -> None:
    answers: list[bool] = []

    async def plan(supervisor: Supervisor) -> None:
        server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
        async with server:
            answers.append(await supervisor.listening("127.0.0.1", server.sockets[0].getsockname()[1]))
        supervisor.stop()

    assert asyncio.run(asyncio.wait_for(Supervisor(QUICK).run(plan), 60)) == 0
    assert answers == [True]


def test_what_is_usual() -> None:
    assert Pace() == Pace(first=0.5, longest=30, steady=60, grace=10)
    assert not Child("collector", ("program",)).vital


def test_pauses_double_up_to_a_limit_and_begin_anew() -> None:
    pace = Pace(first=0.5, longest=3, steady=60)
    pauses, pause = [], pace.first
    for lived in (0, 1, 1, 1, 59.9, 60, 1):
        now, pause = pace.after(pause, lived)
        pauses.append(now)
    assert pauses == [0.5, 1, 2, 3, 3, 0.5, 1]


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel tells of a parent's death on Linux only")
def test_children_die_with_a_killed_supervisor() -> None:
    text = (
        "import subprocess,sys; sys.path.insert(0, sys.argv[1])\n"
        "from cli import lifeline\n"
        f"p = subprocess.Popen(lifeline.command((sys.executable, '-c', {WAITING!r})), cwd=sys.argv[1])\n"
        "print(p.pid, flush=True); p.wait()"
    )
    parent = subprocess.Popen([sys.executable, "-c", text, str(ROOT)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    with parent.stdout:
        lines = sorted((parent.stdout.readline().strip(), parent.stdout.readline().strip()))
        assert lines[1] == "up"
        parent.kill()
        parent.wait()
        # The child holds the other end of this pipe: the end of file is its death.
        assert parent.stdout.read() == ""


def test_a_parent_that_is_gone_already() -> None:
    arguments = list(lifeline.command((sys.executable, "-c", "print('ran')")))
    arguments[3] = "1" if os.getpid() != 1 else "2"
    done = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (143, "")
