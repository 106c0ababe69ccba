"""Orders and rules in which the program itself fails: answered, logged with a traceback, never left to come back."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any, cast

import pytest

from alerts import expression as ex
from alerts.record import RuleState, faults
from alerts.rulebook import Rulebook
from alerts.view import View
from pipeline.alarms import Alarms
from pipeline.chronicle import Chronicle
from pipeline.inbox import Asked, _about_alerts
from storage.records import Command
from telemetry.catalog import gpu
from tests.alerts.samples import frame, of_node

FAULT = "this cannot be carried out: a fault of the program ({}), which the collector's log tells"


def tracebacks(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one.getMessage() for one in caplog.records if one.exc_info and one.levelno == logging.ERROR]


def view() -> View:
    return View(frame({of_node("a", "gpu_clock_event_reasons", gpu="0"): [1.0]}))


@pytest.mark.parametrize("kind", ["silence", "acknowledge", "rule", "nonsense"])
def test_an_order_about_alerts_in_which_the_program_fails(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    raised = Alarms(Rulebook()).tick(1000, view(), {}, [Asked(5, kind), Asked(6, kind, error="no")])
    assert [(one.command, one.at_ms, one.error) for one in raised.commands] == [
        (5, 1000, FAULT.format("KeyError")),
        (6, 1000, "no"),
    ]
    assert tracebacks(caplog) == [f"the order 5 ({kind}) cannot be carried out"]


def test_an_order_about_runs_in_which_the_program_fails(caplog: pytest.LogCaptureFixture) -> None:
    told = Chronicle().tick(1000, {}, [], {}, [Asked(5, "start"), Asked(6, "start", {"deployment": "x", "name": None})])
    assert [one.error for one in told.commands] == [
        FAULT.format("KeyError"),
        "there is no deployment “x”, known are: none yet",
    ]
    assert tracebacks(caplog) == ["the order 5 (start) cannot be carried out"]


def test_an_order_that_cannot_be_read(caplog: pytest.LogCaptureFixture) -> None:
    asked = _about_alerts(Command(5, 0, "alert.silence", cast(Any, [1])))
    assert (asked.number, asked.kind, asked.error) == (5, "silence", FAULT.format("TypeError"))
    assert tracebacks(caplog) == ["the order 5 (silence) cannot be read"]


def test_a_rule_that_cannot_be_worked_out_is_told_until_it_can(caplog: pytest.LogCaptureFixture) -> None:
    book = Rulebook()
    good = book.rules["gpu_hot"]
    bad = replace(good, condition=ex.Has(ex.Reading(gpu.GPU_CLOCK_EVENT_REASONS), 1 << 80))
    book.rules["gpu_hot"] = bad
    alarms = Alarms(book)
    kept: dict[str, RuleState] = {}

    def look(tick: int) -> dict[str, str]:
        kept.update({one.rule: one for one in alarms.tick(tick, view(), {}).standings})
        return faults(kept.values())

    assert list(look(1000)) == ["gpu_hot"]
    assert look(1000)["gpu_hot"].startswith("cannot be worked out: OverflowError, ")
    assert tracebacks(caplog) == ["the rule gpu_hot cannot be worked out"], "once"
    alarms = Alarms(book)
    alarms.resume([], kept.values(), [])
    assert alarms.tick(2000, view(), {}).standings == [], "the same is not written again"
    alarms = Alarms(book)
    alarms.resume([], kept.values(), [])
    book.rules["gpu_hot"] = good
    assert look(3000) == {}
    assert kept["?gpu_hot"].state == []
    alarms = Alarms(book)
    alarms.resume([], kept.values(), [])
    assert look(4000) == {}
    assert not [one for one in caplog.messages if "is not known any more" in one]
