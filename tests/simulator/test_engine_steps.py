"""The engine counts as vLLM does: by steps, prompts at the first token, everything that belongs together adds up."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from simulator.engine import NEVER, SEATS, Engine, Life
from simulator.requests import ANSWER_TOKENS, BLOCK, PROMPT_TOKENS, Arrivals
from simulator.tally import DRAFT_TOKENS, INFINITY, Histogram, Tally
from simulator.timeline import Activity


def counts(tally: Tally) -> tuple[int, ...]:
    return tally.generated, tally.prompt, tally.drafts, tally.accepted, tally.running, tally.waiting


def states(engine: Engine, until: float) -> Iterator[tuple[float, tuple[int, ...]]]:
    """(instant, counters) after each event."""
    while engine.next_event <= until:
        now = engine.next_event
        engine.act()
        yield now, counts(engine.tally)


@pytest.fixture
def worked() -> Engine:
    engine = Engine(7, 0.0)
    for _ in states(engine, 900.0):
        pass
    return engine


def test_same_seed_same_run_other_seed_other_run() -> None:
    runs = [list(states(Engine(seed, 0.0), 300.0)) for seed in (7, 7, 8)]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


def test_requests_are_as_long_as_they_should_be() -> None:
    arrivals = Arrivals(5, 0.0)
    made = [arrivals.take() for _ in range(400)]
    assert all(PROMPT_TOKENS[0] <= request.prompt <= PROMPT_TOKENS[1] for request in made)
    assert all(ANSWER_TOKENS[0] <= request.answer <= ANSWER_TOKENS[1] for request in made)
    assert all(request.cached % BLOCK == 0 and request.cached < request.prompt for request in made)
    assert 0.25 < sum(request.cached == 0 for request in made) / len(made) < 0.45
    assert all(earlier.arrived < later.arrived for earlier, later in itertools.pairwise(made))


def test_an_extra_request_changes_nothing_in_the_others() -> None:
    plain, disturbed = Arrivals(5, 0.0), Arrivals(5, 0.0)
    extra = disturbed.extra(1.0, 60_000, 10)
    assert (extra.cached, extra.to_compute, extra.answer) == (0, 60_000, 10)
    for _ in range(20):
        one, other = plain.take(), disturbed.take()
        assert (one.arrived, one.prompt, one.answer) == (other.arrived, other.prompt, other.answer)
        assert one.stream.random() == other.stream.random()


def test_totals_belong_together(worked: Engine) -> None:
    tally, totals = worked.tally, worked.ledger.totals
    assert tally.generated > 1000
    assert tally.prompt == tally.computed + tally.cached
    assert sum(tally.by_position) == tally.accepted
    assert all(first >= second for first, second in zip(tally.by_position, tally.by_position[1:], strict=False))
    assert tally.by_position[0] <= tally.drafts
    assert len(tally.by_position) == DRAFT_TOKENS
    assert (totals.generated, totals.prompt, totals.drafts) == (tally.generated, tally.prompt, tally.drafts)
    assert tally.hits <= tally.queries
    assert tally.queries >= tally.prompt, "looked up at admission, counted at the first token"


def test_generated_tokens_are_first_tokens_drafts_and_accepted_ones(worked: Engine) -> None:
    tally = worked.tally
    first = tally.histograms["time_to_first_token_seconds"].count
    cut = first + tally.drafts + tally.accepted - tally.generated
    finished = sum(tally.finished.values())
    assert 0 <= cut <= finished * DRAFT_TOKENS, "only the end of an answer cuts accepted tokens off"


def test_histograms_agree_with_counters(worked: Engine) -> None:
    tally = worked.tally
    finished = tally.finished["stop"] + tally.finished["length"]
    assert finished > 5
    for name in ("e2e_request_latency_seconds", "request_queue_time_seconds", "request_generation_tokens"):
        assert tally.histograms[name].count == finished
    assert tally.histograms["inter_token_latency_seconds"].count == tally.drafts
    assert tally.histograms["iteration_tokens_total"].sum == tally.generated + tally.computed
    assert tally.histograms["iteration_tokens_total"].count == len(worked.ledger.steps)
    for name, histogram in tally.histograms.items():
        assert sum(histogram.counts) == histogram.count, name
    for name in ("time_to_first_token_seconds", "e2e_request_latency_seconds"):
        assert tally.histograms[name].sum == pytest.approx(sum(worked.ledger.observed[name]), abs=1e-3)


def test_whole_is_queue_prefill_and_decode(worked: Engine) -> None:
    sums = {name: histogram.sum for name, histogram in worked.tally.histograms.items()}
    inference = sums["request_prefill_time_seconds"] + sums["request_decode_time_seconds"]
    assert inference == pytest.approx(sums["request_inference_time_seconds"])
    assert inference + sums["request_queue_time_seconds"] == pytest.approx(sums["e2e_request_latency_seconds"])


def test_prompt_tokens_jump_at_the_first_token() -> None:
    engine = Engine(7, 0.0)
    before, jumps = counts(engine.tally), 0
    for now, after in states(engine, 600.0):
        jump = after[1] - before[1]
        if jump:
            jumps += 1
            episode = engine.ledger.episodes[-1]
            assert (episode["prompt"], episode["first_token"]) == (jump, pytest.approx(now, abs=1e-6))
            assert after[0] > before[0], "with a token"
        before = after
    assert jumps == len(engine.ledger.episodes) > 5


def test_nothing_moves_during_a_prefill_but_the_gauge() -> None:
    engine = Engine(7, 0.0)
    engine.ask(0.0, 60_000, 50)
    seen = [after for _, after in states(engine, 60.0)]
    assert len(seen) > 60
    assert all(after[:4] == (0, 0, 0, 0) for after in seen), "others wait behind it"
    assert all(after[4] >= 1 for after in seen[1:])


def test_prefill_takes_its_time() -> None:
    engine = Engine(7, 0.0)
    engine.ask(0.0, 60_000, 50)
    while not engine.ledger.episodes:
        engine.act()
    assert engine.ledger.episodes[0]["computed"] == 60_000
    assert 60_000 / engine.ledger.episodes[0]["first_token"] == pytest.approx(755, rel=0.03)


def test_a_step_on_an_edge_belongs_to_the_lower_bucket() -> None:
    histogram = Histogram((1.0, 2.0))
    for value in (0.5, 1.0, 1.5, 2.0, 2.5):
        histogram.observe(value)
    assert histogram.edges == (1.0, 2.0, INFINITY)
    assert histogram.counts == [2, 2, 1]
    assert (histogram.count, histogram.sum) == (5, 7.5)


def advance(engine: Engine, until: float) -> None:
    for _ in states(engine, until):
        pass


def test_a_hang_stops_the_step_and_release_ends_it_later() -> None:
    free, hung = Engine(7, 0.0), Engine(7, 0.0)
    for engine in (free, hung):
        engine.ask(0.0, 2_000, 3_000)
        advance(engine, 20.0)
    due, before = hung.next_event, counts(hung.tally)
    hung.hang(20.0, True)
    assert hung.next_event == NEVER
    assert hung.timeline.current == (Activity.STALL, 0.0)
    hung.hang(50.0, True)
    hung.hang(80.0, False)
    assert hung.next_event == pytest.approx(due + 60.0)
    assert counts(hung.tally) == before
    assert hung.timeline.current[0] in (Activity.DECODE, Activity.PREFILL)
    hung.act()
    free.act()
    assert hung.tally.generated == free.tally.generated


def test_a_hang_waits_until_the_gauge_says_that_something_runs() -> None:
    engine = Engine(7, 0.0)
    engine.hang(0.0, True)
    engine.ask(0.0, 3_000, 100)
    advance(engine, 100.0)
    assert engine.tally.running == 1
    assert engine.tally.generated == 0
    assert engine.timeline.current[0] is Activity.STALL
    engine.hang(100.0, False)
    advance(engine, 130.0)
    assert engine.tally.generated > 0


def test_a_process_that_ends_takes_its_counters_along() -> None:
    engine = Engine(7, 0.0)
    engine.ask(0.0, 2_000, 3_000)
    advance(engine, 30.0)
    counted = engine.ledger.totals.generated
    assert counted > 0
    engine.end(30.0)
    assert (engine.life, engine.next_event) == (Life.STOPPED, NEVER)
    assert engine.timeline.current[0] is Activity.ABSENT
    assert engine.ledger.totals.aborted >= 1
    engine.load(40.0)
    assert engine.timeline.current[0] is Activity.LOADING
    engine.serve(100.0)
    assert (engine.life, engine.lives, engine.tally.started) == (Life.SERVING, 2, 100.0)
    assert counts(engine.tally) == (0, 0, 0, 0, 0, 0)
    assert engine.arrivals.next.arrived >= 100.0
    assert engine.ledger.totals.generated == counted


def test_a_stop_by_hand_aborts_and_still_answers() -> None:
    engine = Engine(7, 0.0)
    engine.ask(0.0, 2_000, 3_000)
    advance(engine, 20.0)
    running = engine.tally.running
    assert running >= 1
    engine.drain(20.0)
    assert engine.life is Life.STOPPING
    assert (engine.tally.running, engine.tally.waiting, engine.tally.kv_usage) == (0, 0, 0.0)
    assert engine.tally.finished["abort"] >= running
    assert engine.next_event == NEVER


def test_a_load_stays_in_work_until_it_is_withdrawn() -> None:
    engine = Engine(7, 0.0)
    engine.offer_load(0.0, 5_000)
    advance(engine, 60.0)
    loads = [one for one in engine.ledger.episodes if one["request"] > 1_000_000]
    assert len(loads) >= 3, "one after the other"
    engine.offer_load(60.0, 0)
    advance(engine, 70.0)
    aborted = engine.tally.finished["abort"]
    advance(engine, 200.0)
    assert (aborted, engine.tally.finished["abort"]) == (1, 1)
    assert all(one["first_token"] < 61 for one in engine.ledger.episodes if one["request"] > 1_000_000)


def test_kv_cache_follows_what_runs() -> None:
    engine = Engine(7, 0.0)
    engine.ask(0.0, 131_072, 50)
    usages = []
    while not engine.ledger.episodes:
        engine.act()
        usages.append(engine.tally.kv_usage)
    assert 0.25 <= usages[-1] <= 0.5
    assert usages == sorted(usages)


def test_requests_wait_for_room_in_the_kv_cache() -> None:
    engine = Engine(7, 0.0)
    for _ in range(3):
        engine.ask(0.0, 240_000, 100)
    engine.act()
    assert (engine.tally.running, engine.tally.waiting) == (1, 2), "the others came after the step had begun"
    engine.act()
    assert (engine.tally.running, engine.tally.waiting) == (2, 1)
    assert engine.tally.queries == 480_000, "looked up when admitted"


def test_requests_wait_for_a_seat() -> None:
    engine = Engine(7, 0.0)
    for _ in range(SEATS + 2):
        engine.ask(0.0, 2_000, 100)
    engine.act()
    engine.act()
    assert (engine.tally.running, engine.tally.waiting) == (SEATS, 2)


def test_a_prompt_alone_stops_all_decoding() -> None:
    engine = Engine(7, 0.0)
    engine.ask(0.0, 2_000, 3_000)
    advance(engine, 10.0)
    engine.ask(10.0, 30_000, 100, alone=True)
    advance(engine, 12.0)
    before = engine.tally.generated
    assert before > 0
    advance(engine, 40.0)
    assert engine.tally.generated == before
    advance(engine, 70.0)
    assert engine.tally.generated > before


def test_answers_come_out_as_long_as_asked(worked: Engine) -> None:
    sums = {name: histogram.sum for name, histogram in worked.tally.histograms.items()}
    assert sums["request_generation_tokens"] == sums["request_params_max_tokens"] > 1000
    assert worked.tally.finished["stop"] > 0 < worked.tally.finished["length"]


def test_time_to_first_token_begins_with_the_arrival(worked: Engine) -> None:
    waits = [one["first_token"] - one["arrived"] for one in worked.ledger.episodes]
    assert worked.ledger.observed["time_to_first_token_seconds"] == pytest.approx(waits, abs=1e-5)
    assert any(one["admitted"] > one["arrived"] for one in worked.ledger.episodes)


def test_what_is_found_in_the_cache(worked: Engine) -> None:
    assert worked.tally.cached <= worked.tally.hits <= worked.tally.cached + 8 * PROMPT_TOKENS[1]
    engine = Engine(7, 0.0)
    engine.ask(0.0, 2_000, 100)
    assert (engine.tally.queries, engine.tally.hits) == (2_000, 0)


def test_time_per_output_token_leaves_the_first_out() -> None:
    engine = Engine(7, 0.0)
    engine.ask(0.0, 500, 30)
    while not sum(engine.tally.finished.values()):
        engine.act()
    whole = engine.tally.histograms["request_decode_time_seconds"].sum
    assert engine.tally.histograms["request_time_per_output_token_seconds"].sum == pytest.approx(whole / 29)
