"""Every rule of the product: an input that fires it within its time, and what only looks like it, which must not."""

from __future__ import annotations

import pytest

from alerts import expression as ex
from alerts.book import Book
from alerts.defaults import defaults
from alerts.machine import Phase
from alerts.places import Key
from alerts.rule import Rule, rules
from alerts.view import View
from tests.alerts import table_of_machines, table_of_services, table_of_ways
from tests.alerts.stories_of_rules import FAULT_S, MEMBERS, Story

STORIES = {**table_of_machines.STORIES, **table_of_services.STORIES}
WAYS = table_of_ways.WAYS
RULES = rules({name: {**table, "enabled": True} for name, table in defaults().items()})


def fired(rule: Rule, story: Story) -> list[tuple[Key, float]]:
    """(instance, seconds after the story's begin) of each firing."""
    frame = story.frame()
    view = View(
        frame,
        0,
        MEMBERS,
        story.facts,
        story.given_lines(),
        story.slow_values(rule.place.name),
    )
    turns = Book().read([rule], view)
    begin = int(frame.ticks[0])
    return [(turn.key, (turn.change.at_ms - begin) / 1000) for turn in turns if turn.change.phase is Phase.FIRING]


def test_every_rule_has_its_story() -> None:
    assert sorted(STORIES) == sorted(RULES)
    assert {*WAYS, *table_of_ways.QUIET} <= set(RULES)


WRONG = [(name, one) for name, pair in STORIES.items() for one in (pair.fires, *pair.also, *WAYS.get(name, ()))]


@pytest.mark.parametrize(("name", "story"), WRONG, ids=[f"{name}: {story.what}" for name, story in WRONG])
def test_what_is_wrong_fires_within_its_time(name: str, story: Story) -> None:
    found = dict(reversed(fired(RULES[name], story)))
    assert story.key in found, f"{name}: {story.what}: {found}"
    assert found[story.key] <= max(FAULT_S + story.within_s, story.seconds), story.what
    if (
        not isinstance(RULES[name].condition, ex.Differs | ex.Some) and not story.seconds
    ):  # members are compared as they are at the end
        assert found[story.key] >= FAULT_S + RULES[name].timing.for_ms / 1000


QUIET = [(name, one) for name, pair in STORIES.items() for one in (*pair.quiet, *table_of_ways.QUIET.get(name, ()))]


@pytest.mark.parametrize(("name", "story"), QUIET, ids=[f"{name}: {story.what}" for name, story in QUIET])
def test_what_only_looks_like_it_does_not(name: str, story: Story) -> None:
    assert [key for key, _ in fired(RULES[name], story) if key == story.key] == []
