"""Labels and tags are kept only where somebody can search for them; odd ones that are there can be taken off."""

from __future__ import annotations

import pytest

from pipeline.edits import EDITS
from runs.model import Run

RUN = Run(1, "d", "n", 5, labels={"a:b": "1"}, tags=("x,y",))


@pytest.mark.parametrize(
    ("kind", "order", "sentence"),
    [
        ("label", {"key": "a:b", "value": "1"}, "the key of a label has no “:”: nobody could search for it"),
        ("label", {"key": "a,b", "value": "1"}, "the key of a label has no “,”"),
        ("label", {"key": "a", "value": "1,2"}, "the value of a label has no “,”"),
        ("tag", {"tag": "a,b", "on": True}, "a tag has no “,”"),
    ],
)
def test_what_nobody_could_search_for_is_refused(kind: str, order: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        EDITS[kind](RUN, order)


def test_what_can_be_searched_for() -> None:
    assert EDITS["label"](RUN, {"key": "at", "value": "10:30"}).labels == {"a:b": "1", "at": "10:30"}
    assert EDITS["tag"](RUN, {"tag": "a:b", "on": True}).tags == ("x,y", "a:b")


def test_what_is_there_can_be_taken_off() -> None:
    assert EDITS["label"](RUN, {"key": "a:b", "value": None}).labels == {}
    assert EDITS["tag"](RUN, {"tag": "x,y", "on": False}).tags == ()
