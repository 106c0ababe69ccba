"""The command line as a user meets it."""

from __future__ import annotations

import dataclasses
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from cli import agent, logs
from cli.main import COMMANDS, main, parser
from cli.options import OPTIONS
from cli.supervisor import ROOT
from collectors.node.command import parser as agent_parser
from settings import TABLE, Settings


def test_every_flag_of_the_table_is_a_flag_of_its_commands() -> None:
    for row in TABLE:
        for command in row.commands:
            assert command in COMMANDS
            arguments = [] if row.form.switch else ["value"]
            named = ["x" for option in OPTIONS.get(command, ()) if not option.flag.startswith("-")]
            given = vars(parser().parse_args([command, *named, row.flag or "", *arguments]))
            assert given[row.name] == (True if row.form.switch else ["value"] if row.form.many else "value")


def test_flags_that_are_not_given_are_not_there() -> None:
    assert vars(parser().parse_args(["run"])) == {"command": "run", "config": None}
    assert vars(parser().parse_args(["version"])) == {"command": "version"}


def test_a_repeated_flag_and_a_switch() -> None:
    given = vars(parser().parse_args(["run", "--node", "a=b", "--node", "c=d", "--no-discover", "--config", "f"]))
    assert given == {"command": "run", "nodes": ["a=b", "c=d"], "discover": False, "config": "f"}


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert COMMANDS[command].split()[0] in capsys.readouterr().out


def test_help_tells_the_default_of_each_flag_that_has_one(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert "--port N Port the web page listens on; 0 takes a free one. (default: 8050; TACHOGRAPH_PORT)" in told
    assert "links in notifications begin with it. (default: made of host and port; TACHOGRAPH_WEB_URL)" in told
    assert "--web-url URL" in told
    assert "(docs/roofline.md). (TACHOGRAPH_ROOFLINE)" in told


@pytest.mark.parametrize(
    ("arguments", "status"),
    [(["version"], 141), (["export", "--help"], 0), (["alerts", "check", "empty.toml"], 141)],
    ids=["version", "help", "alerts"],
)
def test_a_reader_that_goes_away_is_no_fault(arguments: list[str], status: int, tmp_path: Path) -> None:
    """argparse keeps it to itself that nobody reads its help."""
    (tmp_path / "empty.toml").touch()
    read, write = os.pipe()
    os.close(read)
    try:
        command = [sys.executable, ROOT / "app.py", *arguments]
        ended = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False, cwd=tmp_path)
    finally:
        os.close(write)
    assert (ended.returncode, ended.stderr) == (status, "")


@pytest.mark.parametrize("arguments", [[], ["runn"], ["run", "--no-token"], ["run", "--por", "1"]])
def test_wrong_command_lines(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "usage: app.py" in capsys.readouterr().err


def test_wrong_settings_end_with_2_and_all_sentences(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--config", "", "--port", "x", "--interval", "0"]) == 2
    assert capsys.readouterr().err == (
        "These settings are wrong:\n"
        "  --interval: '0' is wrong, expected a number from 0.2 to 60\n"
        "  --port: 'x' is wrong, expected a whole number from 0 to 65535\n"
    )


def test_the_agent_is_told_what_the_settings_say() -> None:
    settings = Settings(agent_host="10.0.0.1", agent_port=99, agent_root="/host", agent_token_file="/etc/token")
    wanted = ["--host", "10.0.0.1", "--port", "99", "--root", "/host"]
    assert agent.arguments(settings)[1:] == (str(ROOT / "agent.py"), *wanted, "--token-file", "/etc/token")
    without = dataclasses.replace(settings, agent_token_file=None)
    assert agent.arguments(without)[1:] == (str(ROOT / "agent.py"), *wanted)
    assert vars(agent_parser().parse_args(list(agent.arguments(settings)[2:])))["port"] == 99


def test_log_lines(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("web", "warning")
    logging.getLogger("a").info("unseen")
    logging.getLogger("a").warning("seen")
    assert re.fullmatch(r"\d\d:\d\d:\d\d web     WARNING seen\n", capsys.readouterr().err)
    logs.configure("web", "info")
    logging.getLogger("apscheduler.executors.default").error("unseen")
    logging.getLogger("apscheduler.scheduler").warning("unseen")
    logging.getLogger("asyncio").info("unseen")
    logging.getLogger("a").info("seen")
    assert capsys.readouterr().err.count("\n") == 1
    logging.getLogger("apscheduler.scheduler").error("a defect of the scheduler")
    logging.getLogger("asyncio").warning("a coroutine")
    assert capsys.readouterr().err.count("\n") == 2


def test_debugging_shows_the_libraries_too(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("web", "debug")
    logging.getLogger("apscheduler.executors").debug("seen")
    assert "seen" in capsys.readouterr().err


def test_ctrl_c_leaves_no_traceback() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        command = [sys.executable, str(ROOT / "app.py"), "check", "--config", "", "--engine", url]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            connection, _ = silent.accept()
            with connection:
                assert connection.recv(1), "it waits for an answer now"
                process.send_signal(signal.SIGINT)
                _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, "")


def test_version_from_the_command_line() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    done = subprocess.run(
        [sys.executable, str(ROOT / "app.py"), "version"], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == f"tachograph {version}\n"
