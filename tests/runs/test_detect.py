"""Strips of activity and the runs that they are. Silence is 5 s here, and an engine is given up after 30 s."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from runs.detect import Began, Detector, Ended, Marked
from runs.history import Found, over, told
from runs.model import Mark
from runs.sights import EngineState, Observation, Sight, engine_name, speculative_text
from telemetry.frame import empty
from tests.runs import strips
from tests.runs.strips import Engine, at, changes, found, named, seconds

SILENCE, LOST = 5_000, 30_000

Words = str | tuple[str, ...]
Runs = list[tuple[float, float | None]]

TABLE: list[tuple[str, Words, Runs]] = [
    ("nothing ever", "..........", []),
    ("one burst", "...###.......", [(2, 6)]),
    ("still going on", "...###", [(2, None)]),
    ("still within the silence", "...###.....", [(2, None)]),
    ("a silence of exactly its length ends it", "...###......", [(2, 6)]),
    ("busy from the first look on", "###.......", [(0, 3)]),
    ("a pause shorter than the silence", "..##.....##.......", [(1, 11)]),
    ("a pause as long as the silence", "..##......##.......", [(1, 4), (9, 12)]),
    ("tokens while the gauge reads 0", "..f.f.f.......", [(1, 6)]),
    ("only the gauge", "..pp.......", [(1, 4)]),
    ("a prompt alone", "..i.......", [(1, 2)]),
    ("a long prefill", "..p" + "p" * 20 + "##.......", [(1, 25)]),
    ("a long prefill in the middle", "..##" + "p" * 20 + "##.......", [(1, 26)]),
    ("a gap while it works", "..##GGGG##.......", [(1, 10)]),
    ("a gap longer than the silence while it works", "..##GGGGGGGG##.......", [(1, 14)]),
    ("a gap after it stopped", "..##..GGGGGGGG......", [(1, 4)]),
    ("a gap in which tokens came, and silence after", "..##ggggggggg.......", [(1, 13)]),
    ("a gap in which nothing came: silent all the time", "..##GGGGGGGGG...", [(1, 3)]),
    ("a short gap before the first token", "...GG##.......", [(2, 7)]),
    ("a gap as long as the silence before the first token", "..GGGG##.......", [(1, 8)]),
    ("tokens in a gap as long as the silence", "..gggg........", [(1, 6)]),
    ("a long gap before the first token", "..GGGGGGG##.......", [(9, 11)]),
    ("tokens in a long gap, at an unknown time", "..ggggggg........", []),
    ("tokens in a short gap", "..ggg........", [(1, 5)]),
    ("a restart ends it", "..##R.......", [(1, 3)]),
    ("a restart, and work goes on", "..##R##.......", [(1, 3), (4, 7)]),
    ("a restart with tokens already", "..##r##.......", [(1, 3), (3, 7)]),
    ("a restart after a gap", "..##GGR##.......", [(1, 3), (6, 9)]),
    ("stopped on purpose", "..##XXXX", [(1, 3)]),
    ("stopped, and back", "..##XXXR##.......", [(1, 3), (7, 10)]),
    ("given up after so long without a word", "..##" + "G" * 32, [(1, 3)]),
    ("not given up yet", "..##" + "G" * 30, [(1, None)]),
    ("back after it was given up", "..##" + "G" * 31 + "##.......", [(1, 3), (35, 37)]),
    ("stalled: the run ends where tokens last moved", "..##ppSSSSSSS", [(1, 3)]),
    ("stalled is no beginning", "..SSSSSSSSS", []),
    ("stalled for a moment", "..##SSS##.......", [(1, 9)]),
    ("requests that run on after a stall", "..##SSSSSSS##.......", [(1, 3), (10, 13)]),
    ("two engines, one after the other", ("..##...........", ".....##........"), [(1, 7)]),
    ("two engines, one restarts", ("..####R........", "..#########......."), [(1, 11)]),
    ("two engines, both restart", ("..####R........", "..####R........"), [(1, 5)]),
    ("two engines, one restarts after the other", ("..####R........", "..#####R......."), [(1, 6)]),
    ("a rolling restart under load", ("..####R####..........", "..######R#####......."), [(1, 14)]),
    (
        "an engine that restarted serves again, if only a prefill",
        ("..####Rppppppppp", "..#######R......."),
        [(1, None)],
    ),
    ("two engines, one stops", ("..####XXXXXXXXX", "..#########......."), [(1, 11)]),
    ("two engines, both stop", ("..####XXXXXXXXX", "..#####XXXX"), [(1, 6)]),
    ("an idle second engine holds the run", ("..##R##.......", ".............."), [(1, 7)]),
    ("a second engine that cannot be seen, and worked", ("..##..............", "..##GGGGGGGGGG####"), [(1, None)]),
    ("a second engine that cannot be seen, and then is", ("..##.............", "..##GGGGGGGGGG..."), [(1, 4)]),
    ("a second engine that was given up", ("..##" + "." * 40, "..##" + "G" * 40), [(1, 4)]),
    ("an engine that is read every third second", (". # # # . . . . . ",), [(0, 8)]),
]


@pytest.mark.parametrize(("words", "runs"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_strips(words: Words, runs: Runs) -> None:
    assert seconds(found(named(words), Detector(SILENCE, LOST))) == runs


@pytest.mark.parametrize(("words", "runs"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_the_same_over_a_stored_history(words: Words, runs: Runs) -> None:
    engines = named(words)
    frame, stops = strips.frame(engines), strips.stops(engines)
    end_ms = at(len(engines["a/0"].word) - 1)
    stored = over(frame, silence_ms=SILENCE, lost_ms=LOST, stops=stops, end_ms=end_ms)
    assert stored == found(engines, Detector(SILENCE, LOST))


@pytest.mark.parametrize(("words", "runs"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_a_monitor_that_starts_anew_at_every_tick(words: Words, runs: Runs) -> None:
    engines = named(words)
    detector, told_so_far = Detector(SILENCE, LOST), []
    for second in range(max(len(one.word) for one in engines.values())):
        state = json.loads(json.dumps(detector.to_json()))
        detector = Detector.from_json(state, SILENCE, LOST)
        told_so_far += detector.see(strips.observation(engines, second))
    assert told_so_far == changes(engines, Detector(SILENCE, LOST))


def ends(words: Words) -> list[str]:
    return [one.ended for one in found(named(words), Detector(SILENCE, LOST))]


@pytest.mark.parametrize(
    ("words", "reasons"),
    [
        ("..##......", ["nothing happened for 5 s"]),
        ("..##R", ["a/0 restarted"]),
        ("..##X", ["a/0 stopped"]),
        (("..##R", "..##X"), ["a/0 restarted, b/0 stopped"]),
        ("..##" + "G" * 32, ["nothing was heard of a/0 for 30 s"]),
        ("..##SSSSSSS", ["stalled: requests ran, but nothing moved any more"]),
        ("..##", [""]),
    ],
)
def test_why_it_ended(words: Words, reasons: list[str]) -> None:
    assert ends(words) == reasons


@pytest.mark.parametrize(
    ("word", "reason"), [("..#", "tokens flowed"), ("..p", "requests ran"), ("..f", "tokens flowed")]
)
def test_why_it_began(word: str, reason: str) -> None:
    assert changes(named(word), Detector()) == [Began(at(1), "found", reason, "m")]


@pytest.mark.parametrize(
    ("words", "marks"),
    [
        (("..##R##", "..#####"), [Mark(at(4), "restart", "a/0 restarted")]),
        (("..##XXX", "..#####"), [Mark(at(4), "stop", "a/0 stopped")]),
        (("..##RRR", "..#####"), [Mark(at(second), "restart", "a/0 restarted") for second in (4, 5, 6)]),
        (("..##" + "G" * 32, "..##" + "#" * 32), [Mark(at(34), "lost", "nothing was heard of a/0 for 30 s")]),
        ("..##" + "g" * 15 + "#", [Mark(at(19), "hole", "tokens came from a/0 in 16 s not watched")]),
        ("..##" + "g" * 14 + "#", []),
    ],
)
def test_marks(words: Words, marks: list[Mark]) -> None:
    runs = found(named(words), Detector(SILENCE, LOST))
    assert [list(one.marks) for one in runs] == [marks]


def test_a_restart_that_ends_a_run_is_no_mark() -> None:
    assert changes(named("..##R"), Detector(SILENCE)) == [
        Began(at(1), "found", "tokens flowed", "m"),
        Ended(at(3), "a/0 restarted"),
    ]


class Relabelled(Engine):
    """An engine that serves another model from some second on; its counters are the other model's."""

    def __init__(self, word: str, since: int) -> None:
        super().__init__(word)
        self.since = since

    def sight(self, second: int) -> Sight | None:
        one = super().sight(second)
        if one is None or second < self.since:
            return one
        return replace(one, model="other", output=self.output[second] - self.output[self.since - 1])


def test_a_change_of_model_ends_it() -> None:
    runs = found({"a/0": Relabelled("..#######.......", 5)}, Detector(SILENCE))
    assert seconds(runs) == [(1, 4), (4, 9)]
    assert runs[0].ended == "the model changed from m to other"
    assert [one.model for one in runs] == ["m", "other"]


def test_a_model_seen_while_idle_is_no_end_of_anything() -> None:
    assert changes({"a/0": Relabelled("........", 4)}, Detector(SILENCE)) == []


def test_a_model_that_is_not_told_is_no_change() -> None:
    class Quiet(Engine):
        def sight(self, second: int) -> Sight | None:
            one = super().sight(second)
            return one and replace(one, model=None if second == 4 else one.model)

    assert seconds(found({"a/0": Quiet("..#####.......")}, Detector(SILENCE))) == [(1, 7)]


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({0: "", 4: "dspark, 8 tokens"}, "the speculative settings changed from none to dspark, 8 tokens"),
        (
            {0: "dspark, 7 tokens", 4: "dspark, 8 tokens"},
            "the speculative settings changed from dspark, 7 tokens to dspark, 8 tokens",
        ),
        ({0: "dspark, 8 tokens", 4: ""}, "the speculative settings changed from dspark, 8 tokens to none"),
    ],
)
def test_a_change_of_speculative_settings_ends_it(settings: dict[int, str], text: str) -> None:
    runs = found({"a/0": Engine("..####.......", speculative=settings)}, Detector(SILENCE))
    assert seconds(runs) == [(1, 3), (3, 6)]
    assert [one.ended for one in runs] == [text, "nothing happened for 5 s"]


def test_the_default_silence_is_a_minute() -> None:
    short, long = ("..##" + "." * n for n in (60, 61))
    assert seconds(found(named(short), Detector())) == [(1, None)]
    assert seconds(found(named(long), Detector())) == [(1, 4)]


def test_an_engine_is_given_up_after_an_hour() -> None:
    first = Observation(at(0), {"a/0": Sight(running=1.0)})
    detector = Detector()
    assert detector.see(first) == [Began(at(0), "found", "requests ran")]
    for minute in range(1, 61):
        assert detector.see(Observation(at(60 * minute), {"a/0": Sight(EngineState.UNKNOWN)})) == []
    assert detector.see(Observation(at(3601), {"a/0": Sight(EngineState.UNKNOWN)})) == [
        Ended(at(0), "nothing was heard of a/0 for 1 h")
    ]


def test_a_prefill_of_the_last_sight_outlasts_a_hole_only_within_a_silence() -> None:
    """3 requests ran, 20 s of nothing, none runs: when they went nobody knows, and tokens came none."""
    assert seconds(found(named("..##GGG......."), Detector(SILENCE, LOST))) == [(1, 7)]
    assert seconds(found(named("..##GGGGGGGG..."), Detector(SILENCE, LOST))) == [(1, 3)]


def test_a_series_that_appears_at_its_first_use_counts_from_0() -> None:
    detector = Detector()
    assert detector.see(Observation(at(0), {"a": Sight(running=0.0)})) == []
    assert detector.see(Observation(at(1), {"a": Sight(running=0.0, output=1.0)})) == [
        Began(at(0), "found", "tokens flowed")
    ]


def test_a_counter_that_was_not_told_for_a_tick_goes_on_from_where_it_was() -> None:
    detector = Detector()
    for second, output in enumerate((500.0, None, 500.0)):
        assert detector.see(Observation(at(second), {"a": Sight(output=output, prompt=output)})) == []


class TestByHand:
    """Runs that people start and stop."""

    def test_silence_does_not_end_it(self) -> None:
        detector = Detector(SILENCE)
        engines = named("......##........")
        detector.see(strips.observation(engines, 0))
        assert detector.start(at(0.5), "tuning") == [Began(at(0.5), "hand", "started by hand", "m", "tuning")]
        assert [change for second in range(1, 16) for change in detector.see(strips.observation(engines, second))] == []
        assert detector.running
        assert detector.stop(at(15.5)) == [Ended(at(15.5), "stopped by hand")]
        assert not detector.running

    def test_it_ends_the_run_that_goes_on(self) -> None:
        detector = Detector(SILENCE)
        engines = named("..####")
        for second in range(5):
            detector.see(strips.observation(engines, second))
        assert detector.start(at(4.5)) == [
            Ended(at(4.5), "another one was started by hand"),
            Began(at(4.5), "hand", "started by hand", "m"),
        ]

    def test_what_still_runs_when_it_is_stopped_is_another_run(self) -> None:
        detector = Detector(SILENCE)
        engines = named("..######.......")
        for second in range(4):
            detector.see(strips.observation(engines, second))
        assert detector.stop(at(3.5)) == [Ended(at(3.5), "stopped by hand")]
        rest = [change for second in range(4, 15) for change in detector.see(strips.observation(engines, second))]
        assert rest == [Began(at(3.5), "found", "tokens flowed", "m"), Ended(at(8), "nothing happened for 5 s")]

    def test_the_last_engines_restart_ends_it_at_its_last_activity(self) -> None:
        detector = Detector(SILENCE)
        engines = named("..####..R")
        detector.see(strips.observation(engines, 0))
        detector.start(at(0.5))
        rest = [change for second in range(1, 9) for change in detector.see(strips.observation(engines, second))]
        assert rest == [Ended(at(6), "a/0 restarted")]

    def test_nothing_to_stop(self) -> None:
        assert Detector().stop(at(3)) == []

    def test_it_is_never_shorter_than_nothing(self) -> None:
        detector = Detector()
        detector.start(at(5))
        assert detector.stop(at(4)) == [Ended(at(5), "stopped by hand")]

    def test_started_while_no_engine_is_there(self) -> None:
        """A benchmark that starts its own server: the server's start is no end."""
        detector = Detector(SILENCE)
        detector.start(at(0))
        assert detector.see(Observation(at(1), {"a": Sight(EngineState.RESTARTED, 0.0, 0.0, 0.0)})) == [
            Marked(Mark(at(1), "restart", "a restarted"))
        ]
        assert detector.running


def test_a_state_of_another_version_is_refused() -> None:
    with pytest.raises(ValueError, match="a detector's state of version 99 cannot be read"):
        Detector.from_json({"version": 99})


def test_changes_told() -> None:
    mark = Mark(at(2), "restart", "a restarted")
    story = [Began(at(0), "found", "x", "m"), Marked(mark), Ended(at(3), "y"), Began(at(5), "hand", "z")]
    assert told(story) == [
        Found(at(0), at(3), "x", "y", "found", "m", (mark,)),
        Found(at(5), None, "z", "", "hand"),
    ]


def test_an_empty_history() -> None:
    assert over(empty()) == []


def test_names_of_engines() -> None:
    assert engine_name("head", "0") == "head/0"
    assert engine_name("llama", "") == "llama"


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        ({}, None),
        ({"speculative_method": "EAGLE"}, "EAGLE"),
        ({"speculative_tokens": "4"}, "4 tokens"),
        ({"speculative_method": "EAGLE", "speculative_tokens": "4"}, "EAGLE, 4 tokens"),
    ],
)
def test_speculative_settings_in_words(facts: dict[str, str], text: str | None) -> None:
    assert speculative_text(facts) == text
