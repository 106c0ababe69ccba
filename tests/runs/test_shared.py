"""Energy of nodes on which two deployments worked at once is said to be shared."""

from __future__ import annotations

from runs.entries import Entry, Section
from runs.shared import Other, told
from telemetry.model import Unit

SECTIONS = (
    Section("speed", "Speed", (Entry("energy", "another", 1.0, Unit.JOULES, note="n"),)),
    Section(
        "energy",
        "Energy",
        (
            Entry("energy", "Energy", 9.0, Unit.JOULES, note="GPUs only"),
            Entry("power_mean", "Power", 3.0, Unit.WATTS),
            Entry("energy_per_token", "Energy per token", None, Unit.JOULES_PER_TOKEN, note="no output token came"),
            Entry("energy_on", "Energy", 9.0, Unit.JOULES, note="GPUs only", of="a"),
        ),
    ),
    Section("nodes", "Nodes", (Entry("took_part", "Nodes", 2.0, Unit.COUNT), Entry("power_max", "P", 1.0, Unit.WATTS))),
)


def notes(*others: Other, nodes: tuple[str, ...] = ("a", "b")) -> dict[tuple[str, str], str]:
    """What stands at each entry, and did not before."""
    found = told(SECTIONS, others, 1000, 2000, nodes)
    assert [one.key for one in found] == [one.key for one in SECTIONS]
    pairs = [
        ((one.key, entry.key), entry, before)
        for one, old in zip(found, SECTIONS, strict=True)
        for entry, before in zip(one.entries, old.entries, strict=True)
    ]
    return {key: entry.note for key, entry, before in pairs if entry != before}


def test_nobody_else_worked() -> None:
    assert notes() == {}
    assert notes(Other("x", 2000, 3000), Other("x", 0, 1000)) == {}, "before and after"
    assert notes(Other("x", 1500, 1510)) == {}, "for too short"
    assert notes(Other("x", 1500, 1511)) != {}
    assert notes(Other("x", 1000, 2000, ("c",))) == {}, "on other nodes"
    assert notes(Other("x", 1000, 2000), nodes=()) == {}


def test_where_another_was_nobody_said() -> None:
    words = "may be shared with x, which worked for 40 % of the time: on which nodes nobody said"
    assert notes(Other("x", 0, 1300), Other("x", 1200, 1350), Other("x", 1950, 5000), Other("x", 1960, 1970)) == {
        ("energy", "energy"): f"GPUs only; {words}",
        ("energy", "power_mean"): words,
        ("nodes", "took_part"): words,
    }


def test_where_another_was_as_people_say() -> None:
    found = notes(Other("y", 1500, 2000), Other("x", 1000, 1250, ("b", "c")), Other("x", 1500, 1600, ("d",)))
    assert found["nodes", "took_part"] == (
        "shared with x, which worked for 25 % of the time on b; "
        "may be shared with y, which worked for 50 % of the time: on which nodes nobody said"
    )
