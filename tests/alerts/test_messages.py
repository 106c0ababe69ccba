"""What each rule of the product says when it fires, word for word, and that its paragraph of the documents is there.

`python -m tests.alerts.test_messages` writes the file of sentences anew.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from alerts.book import Book
from alerts.defaults import RUNBOOK, defaults
from alerts.machine import Phase
from alerts.message import message
from alerts.operands import operands
from alerts.rule import RuleError, rule
from alerts.view import View
from telemetry import formatting
from tests.alerts.stories_of_rules import MEMBERS, Story
from tests.alerts.test_default_rules import RULES, STORIES

ROOT = Path(__file__).parents[2]
SENTENCES = ROOT / "tests" / "data" / "alerts" / "sentences.txt"
DOCUMENT, ANCHOR = RUNBOOK.split("#")
PARTS = ("**Means.** ", "**First.** ", "**Not this.** ")


def said(name: str, story: Story) -> str:
    """The sentence of a rule at the tick at which its story fires it."""
    one, frame = RULES[name], story.frame()
    given, slow = story.given_lines(), story.slow_values(RULES[name].place.name)
    turns = Book().read([one], View(frame, 0, MEMBERS, story.facts, given, slow))
    change = next(turn.change for turn in turns if turn.key == story.key and turn.change.phase is Phase.FIRING)
    last = int((frame.ticks <= change.at_ms).sum())
    cut = frame.take(list(range(len(frame.series))))
    cut = type(cut)(
        cut.ticks[:last], cut.series, cut.values[:, :last], cut.at_ms[:, :last], cut.breaks[:, :last], cut.gap_ms
    )
    now = {metric: {owner: line[last - 1 : last] for owner, line in lines.items()} for metric, lines in given.items()}
    view = View(cut, last - 1, MEMBERS, story.facts, now, slow)
    read = operands(one.condition, one.place, story.key, view)
    return message(one, story.key, read, (change.at_ms - change.began_ms) / 1000)


def sentences() -> str:
    lines = (f"{name}: {said(name, pair.fires)}" for name, pair in STORIES.items())
    return "\n".join(lines) + "\n"


def test_what_rules_say() -> None:
    assert sentences() == SENTENCES.read_text("utf-8")


@pytest.mark.parametrize("name", list(RULES))
def test_no_hole_is_left_open(name: str) -> None:
    text = said(name, STORIES[name].fires)
    assert "{" not in text
    assert text.count(formatting.UNKNOWN_TEXT) == 0 or "not known" in text


def paragraphs() -> dict[str, str]:
    runbook = (ROOT / DOCUMENT).read_text("utf-8").partition("\n## Runbook\n")[2]
    return dict(re.findall(r"^### (\w+)\n\n(.+)\n", runbook, re.MULTILINE))


def test_each_rule_has_its_paragraph_and_no_other_has_one() -> None:
    assert list(paragraphs()) == [name for name in paragraphs() if name in RULES]
    assert sorted(paragraphs()) == sorted(RULES)
    for name, text in paragraphs().items():
        places = [text.find(part) for part in PARTS]
        assert -1 not in places, name
        assert places == sorted(places), name


def test_links_lead_there() -> None:
    assert {name: table["runbook"] for name, table in defaults().items()} == {
        name: f"docs/alerts.md#{name}" for name in RULES
    }


def test_a_message_may_ask_for_what_is_read_and_set_and_for_limits() -> None:
    table = {
        "title": "Slow",
        "place": "gpu",
        "severity": "info",
        "when": "gpu_temperature_celsius > $most"
        " and gpu_power_watts < peers(gpu_power_watts) + change(gpu_power_watts[9s])",
        "settings": {"most": "60 °C"},
    }
    holes = "{gpu} {most} {warning_gpu_temperature_celsius} {peers_gpu_power_watts} {change_gpu_power_watts}"
    assert rule("slow", {**table, "message": holes}).message == holes
    with pytest.raises(RuleError, match="nothing is read that is called usual_gpu_power_watts"):
        rule("slow", {**table, "message": "{usual_gpu_power_watts}"})


if __name__ == "__main__":
    SENTENCES.write_text(sentences(), "utf-8")
