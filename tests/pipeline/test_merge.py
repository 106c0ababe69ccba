"""Batches that waited are written as one, in order, with nothing left out."""

from __future__ import annotations

from dataclasses import fields

from alerts.notices import Memory, Notice, Told, Word
from alerts.outbox import ChannelMemory
from alerts.record import Alert, RuleChange, RuleState, Silence
from pipeline.writer import merge
from runs.model import Mark, Run
from storage.records import (
    Absence,
    Batch,
    DetectorState,
    Done,
    Episode,
    Event,
    Fact,
    MarksMoved,
    Offset,
    PartsMoved,
    Row,
    RunMark,
    RunPart,
    TargetRow,
)


def batch(n: int) -> Batch:
    return Batch(
        rows=[Row(n, "head", n, 1, [float(n)]), Row(n, "n1", n, 2, [float(n)])],
        offsets=[Offset("head", "m", (), n, 1.0, "restart")],
        absences_opened=[Absence("head", None, n, None, "timed out")],
        absences_closed=(Absence("head", None, n, n + 1, "timed out"),),
        facts=[Fact("head", "model", str(n), n)],
        events=[Event(0, n, "head", "restart", "text")],
        episodes=[Episode("M", "head", "0", n, n + 1, 5, 1.0)],
        targets=[TargetRow("head", "engine", "http://x", 1000, "ok", "", n, n)],
        runs=[Run(n, "M", "M #1", n)],
        marks=[RunMark(n, Mark(n, "note", "text"))],
        marks_moved=[MarksMoved(n, n + 1)],
        parts_moved=[PartsMoved(n, n + 1, "benchmark:")],
        parts=[RunPart(n, "benchmark:a", 0, {})],
        runs_deleted=[n],
        detectors=[DetectorState("M", {"n": n})],
        commands=[Done(n, n)],
        alerts=[Alert(n, "hot", "Hot", "node", ("n1",), "warning", "M", n, n, "text")],
        standings=[RuleState("hot", [n])],
        rule_changes=[RuleChange(n, "hot", None, n)],
        silences=[Silence(n, n, n + 1)],
        notices=[Notice(f"n{n}", "ops", n, ((n, Word.FIRING),))],
        memories=[ChannelMemory("ops", Memory({n: Told(Word.FIRING, n)}, (n,)))],
    )


def test_one_is_itself() -> None:
    one = batch(1)
    assert merge([one]) is one


def test_every_field_of_every_batch_in_order() -> None:
    merged = merge([batch(1), Batch(), batch(2), batch(3)])
    for field in fields(Batch):
        expected = [item for n in (1, 2, 3) for item in getattr(batch(n), field.name)]
        assert list(getattr(merged, field.name)) == expected
        assert expected, f"{field.name} is tested"
