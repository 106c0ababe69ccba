"""The systemd unit of the agent: it starts what there is, and may do nothing that the agent does not need."""

from __future__ import annotations

import shlex
from collections import defaultdict
from pathlib import Path

import pytest

from collectors.node.command import parser

UNIT = Path(__file__).parents[2] / "deploy" / "tachograph-agent.service"
REFUSED = (
    "ProtectKernelTunables",
    "ProtectKernelModules",
    "ProtectControlGroups",
    "ProtectClock",
    "ProtectHostname",
    "NoNewPrivileges",
    "RestrictNamespaces",
    "RestrictRealtime",
    "RestrictSUIDSGID",
    "LockPersonality",
    "DynamicUser",
)
HIDES = (
    "ProtectKernelLogs",
    "PrivateDevices",
    "DevicePolicy",
    "ProtectProc",
    "PrivateNetwork",
    "MemoryDenyWriteExecute",
)
"""What would hide from the agent what it is there to read."""


def entries() -> dict[str, list[str]]:
    """Values of each key, of all sections."""
    found: dict[str, list[str]] = defaultdict(list)
    for line in UNIT.read_text("ascii").splitlines():
        if line and not line.startswith(("#", "[")):
            key, _, value = line.partition("=")
            found[key].append(value)
    return found


def test_it_starts_the_archive_with_flags_that_there_are() -> None:
    (command,) = entries()["ExecStart"]
    python, *flags, archive, lock, options = shlex.split(command)
    assert (python, flags) == ("/usr/bin/python3", ["-I", "-S"])
    assert archive.endswith("/tachograph-agent.pyz")
    (given,) = entries()["Environment"]
    name, _, words = given.strip('"').partition("=")
    assert options == f"${name}"
    found = parser().parse_args([lock, *shlex.split(words)])
    assert (found.host, found.port) == ("0.0.0.0", 9810)


@pytest.mark.parametrize("key", REFUSED)
def test_it_is_hardened(key: str) -> None:
    assert entries()[key] == ["yes"]


def test_it_sees_what_it_reads_and_has_room_for_no_more() -> None:
    found = entries()
    assert [key for key in HIDES if key in found] == []
    assert found["ProtectSystem"] == ["strict"]
    assert set(found["CapabilityBoundingSet"][0].split()) == {"CAP_SYSLOG", "CAP_IPC_LOCK"}
    assert found["MemoryMax"] == ["96M"]
    assert int(found["TimeoutStopSec"][0]) > 3, "the goodbye lasts up to 3 s"
