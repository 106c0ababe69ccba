"""The truth log keeps its bounds and repeats in every file what is needed to read it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simulator import truth
from simulator.faults import FAULTS, Incident
from simulator.truth import TruthLog


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_files_of_an_hour_of_which_the_last_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(truth, "LINES_PER_FILE", 10)
    monkeypatch.setattr(truth, "FILES_KEPT", 3)
    log = TruthLog(tmp_path, {"seed": 7})
    log.fault(Incident(1, FAULTS["wedge"], "engine", 3.0, 8.0))
    for second in range(-5, 45):
        log.second(second, {"generated": second})
    log.close()
    files = sorted(tmp_path.glob("*.jsonl"))
    assert [file.name for file in files] == ["truth-00000020.jsonl", "truth-00000030.jsonl", "truth-00000040.jsonl"]
    first = lines(files[0])
    assert first[0] == {"kind": "about", "seed": 7}
    assert first[1] == {"kind": "fault", "id": 1, "name": "wedge", "target": "engine", "start": 3.0, "end": 8.0}
    assert [line["t"] for line in first[2:]] == list(range(20, 30))
    assert [line["t"] for line in lines(files[2])[2:]] == list(range(40, 45))


def test_the_past_before_the_start_is_not_told() -> None:
    log = TruthLog(None, {})
    log.second(-1, {})
    log.second(0, {})
    assert log.after(-100) == [{"kind": "second", "t": 0}]


def test_only_the_last_seconds_are_remembered() -> None:
    log = TruthLog(None, {})
    for second in range(2000):
        log.second(second, {})
    told = log.after(0)
    assert (len(told), told[-1]["t"]) == (truth.SECONDS_REMEMBERED, 1999)
    assert log.after(1997.5) == [{"kind": "second", "t": 1998}, {"kind": "second", "t": 1999}]


def test_a_fault_taken_back_replaces_what_was_said(tmp_path: Path) -> None:
    log = TruthLog(tmp_path, {})
    log.fault(Incident(1, FAULTS["wedge"], "engine", 3.0, float("inf")))
    log.fault(Incident(1, FAULTS["wedge"], "engine", 3.0, 5.0))
    log.second(0, {})
    log.fault(Incident(2, FAULTS["wedge"], "engine", 9.0, float("inf")))
    log.close()
    (file,) = tmp_path.glob("*.jsonl")
    assert [(line["kind"], line.get("id"), line.get("end")) for line in lines(file)] == [
        ("about", None, None),
        ("fault", 1, 5.0),
        ("second", None, None),
        ("fault", 2, None),
    ]
