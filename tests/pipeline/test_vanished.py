"""A disk that is unmounted while its alert fires ends it; a node that is silent ends nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.config import TargetKind
from telemetry.catalog import memory
from tests.pipeline.stage import Stage
from tests.pipeline.test_alarms import alerts, times

DISK = 'tachograph_disk_available_bytes{{mount="{0}"}} {1}\ntachograph_disk_size_bytes{{mount="{0}"}} 1e12\n'
FULL = {"title": "F", "place": "mount", "severity": "critical", "when": "disk_available_bytes < 1 GB"}
EVERY_S = 20


def page(*mounts: str) -> bytes:
    usual = f"tachograph_{memory.MEMORY_TOTAL.name} 128e9\n"
    return (usual + "".join(DISK.format(one, "1e6" if one == "/usb" else "5e11") for one in mounts)).encode()


class Disks(Stage):
    """A node and what is mounted there."""

    async def mounted(self, first: int, last: int, *mounts: str) -> None:
        self.status, self.body = (200, page(*mounts)) if mounts else (500, b"")
        for second in range(first, last + 1, EVERY_S):
            await self.tick(second)


@pytest.fixture
def disks(tmp_path: Path) -> Disks:
    found = Disks(tmp_path / "store.db", TargetKind.NODE)
    found.settings = {"alerts": {"full": FULL}}
    return found


def of_rule(disks: Disks) -> list[Any]:
    return [(*times(one)[1:], one.ended) for one in alerts(disks) if one.rule == "full"]


def test_a_disk_that_was_unmounted_is_over(disks: Disks) -> None:
    async def story(stage: Stage) -> None:
        await disks.mounted(20, 60, "/", "/usb")
        await disks.mounted(80, 1000, "/")

    disks.play(story)
    ((_, fired, ended, why),) = of_rule(disks)
    assert (fired, ended, why) == (20, 680, "it is not there any more")


@pytest.mark.parametrize(
    ("away", "ends"),
    [
        ((("/",), ("/", "/usb"), ("/",)), False),  # it was back in between
        ((("/",), (), ("/",)), False),  # the node was silent in between
        (((), (), ()), False),  # silent all the time
        ((("/",), ("/",), ("/",)), True),
    ],
)
def test_what_is_away_for_less_than_ten_minutes_or_not_known_to_be_goes_on(
    disks: Disks, away: tuple[tuple[str, ...], ...], ends: bool
) -> None:
    async def story(stage: Stage) -> None:
        await disks.mounted(20, 60, "/", "/usb")
        for number, mounts in enumerate(away):
            await disks.mounted(80 + number * 300, 360 + number * 300, *mounts)

    disks.play(story)
    assert [one[2] is not None for one in of_rule(disks)] == [ends]


def test_a_clock_that_leaps_says_nothing_of_how_long_it_has_been_away(disks: Disks) -> None:
    async def story(stage: Stage) -> None:
        await disks.mounted(20, 60, "/", "/usb")
        await disks.mounted(80, 100, "/")
        await disks.mounted(2000, 2700, "/")

    disks.play(story)
    ((_, fired, ended, why),) = of_rule(disks)
    assert (fired, ended, why) == (20, 2600, "it is not there any more")


def test_a_rule_that_asks_for_what_is_absent_means_it(disks: Disks) -> None:
    rule = {**FULL, "when": "absent(disk_available_bytes)", "for": "60s"}
    disks.settings = {"interval_s": float(EVERY_S), "alerts": {"full": rule}}

    async def story(stage: Stage) -> None:
        await disks.mounted(20, 60, "/", "/usb")
        await disks.mounted(80, 1000, "/")
        await disks.mounted(1020, 1040, "/", "/usb")

    disks.play(story)
    ((_, fired, ended, why),) = of_rule(disks)
    assert (fired, ended, why) == (140, 1020, "it is well again")
