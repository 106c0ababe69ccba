"""What each rule of the product says when it fires, word for word, and that its paragraph of the documents is there.

`python -m tests.alerts.test_messages` writes the file of sentences anew.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from alerts.book import Book
from alerts.defaults import RUNBOOK, defaults
from alerts.expression import Reading
from alerts.machine import Phase
from alerts.masks import said as said_of_mask
from alerts.message import message
from alerts.operands import operands, shown
from alerts.rule import RuleError, rule
from alerts.view import View
from alerts.written import settings
from telemetry import formatting
from telemetry.catalog import gpu
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


@pytest.mark.parametrize(
    ("when", "given", "expected"),
    [
        ("swap_bytes_per_second > $x", "50 MB/s", "47.7 MiB/s"),
        ("swap_bytes_per_second > $x", "50 MiB/s", "50 MiB/s"),
        ("rate(netdev_transmit_bytes_total[10s]) > $x", "1 GB/s", "8.0 Gb/s"),
        ("rate(netdev_transmit_bytes_total[10s]) > $x", "8 Gb/s", "8 Gb/s"),
        ("rate(netdev_transmit_bytes_total[10s]) > $x or swap_bytes_per_second > $x", "1 GB/s", "8.0 Gb/s"),
        ("swap_bytes_per_second > $x or rate(netdev_transmit_bytes_total[10s]) > $x", "1 GB/s", "954 MiB/s"),
        ("memory_headroom_bytes < $x", "4 GB", "3.7 GiB"),
        ("memory_headroom_bytes < $x", "4 GiB", "4 GiB"),
        ("rate(oom_kills_total[60s]) > $x", "6 /min", "0.10 /s"),
        ("rate(oom_kills_total[60s]) > $x", "10 /s", "10 /s"),
        ("gpu_sm_clock_hertz < $x", "1.4 GHz", "1400 MHz"),
        ("gpu_temperature_celsius > $x", "85 °C", "85 °C"),
        ("clock_skew_seconds > $x", "2 min", "2 min"),
        ("memory_free_blocks < $x", "64", "64"),
    ],
)
def test_a_limit_is_written_in_the_units_of_what_is_held_against_it(when: str, given: str, expected: str) -> None:
    made = rule("own", {"title": "A", "place": "node", "severity": "info", "when": when, "settings": {"x": given}})
    assert settings(made.condition, made.settings) == {"x": expected}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.0, "none"),
        (32.0, "software thermal"),
        (0x88, "hardware slowdown, power brake"),
        (0x201, "idle, 0x200"),
        (0x200, "0x200"),
        (None, "–"),
        (math.nan, "–"),
    ],
)
def test_bits_are_told_by_name(value: float | None, expected: str) -> None:
    assert said_of_mask("gpu_clock_event_reasons", value) == expected
    plain = Reading(gpu.GPU_CLOCK_EVENT_REASONS)
    assert shown(plain, value) == expected


def test_a_mask_without_names_is_a_number() -> None:
    assert said_of_mask("gpu_power_watts", 0x60) == "0x60"
    assert said_of_mask("gpu_power_watts", 0.0) == "0x0"


if __name__ == "__main__":
    SENTENCES.write_text(sentences(), "utf-8")
