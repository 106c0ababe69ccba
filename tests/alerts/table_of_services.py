"""What fires each rule about links, engines, disks and the monitor, within what time, and what only looks like it."""

from __future__ import annotations

from collections.abc import Mapping

from telemetry.catalog import engine, host, network
from tests.alerts.stories_of_rules import (
    CLOCK_SKEW,
    GIB,
    Pair,
    Story,
    busy,
    finished,
    grows,
    histogram,
    leaps,
    of_function,
    of_gpu,
    on,
    served,
    state,
    states,
)

A, GPU, CAGE, HEAD = ("a",), ("a", "0"), ("a", "p1"), ("head", "0", "Kimi-K3")
OK = state("ok")

LINK = Story(
    "no function is up, and it carried traffic",
    CAGE,
    11,
    of_function(up=(1.0, 0.0), name="f0") | of_function(up=(1.0, 0.0), name="f1"),
    slow={"increase(rdma_transmit_bytes_total[24h])": 5e9, "increase(rdma_receive_bytes_total[24h])": 5e9},
)
RAILS = of_function(name="f0", sent=grows(12e9, 6e9), up=1.0) | of_function(name="f1", sent=grows(0.1e9, 6e9), up=1.0)
WORK = of_gpu(util=0.96) | busy()
PLATEAU = WORK | of_function(sent=grows(1.65e9, 9e9), tcp_out=0.0, received=grows(1.65e9, 9e9), tcp_in=0.0)
for place in "bcd":
    PLATEAU |= of_function(place, sent=grows(9e9, 9e9), tcp_out=0.0, received=grows(9e9, 9e9), tcp_in=0.0)
PLATEAU |= {series: 25e9 for node in "abcd" for series in on(node, network.CAGE_CAPACITY, 0.0, cage="p1")}
SOCKETS = dict(WORK)
for place in "abcd":
    SOCKETS |= of_function(place, sent=grows(0, 2e9), received=grows(0, 2e9), tcp_out=grows(2e8), tcp_in=grows(2e8))
QUEUE = Story("the queue grows", HEAD, 121, served(waiting=lambda s: max(s - 150, 0) / 4), seconds=330)
FULL = Story("full, and somebody waits", HEAD, 61, served(kv=(0.5, 0.97), waiting=(0.0, 3.0)))
ERRORS = Story("ten of a hundred fail", HEAD, 75, finished(grows(0.5, 0), grows(4, 4)), seconds=480)
SLOWER = Story("half the clock of the others", GPU, 61, of_gpu(util=0.96, clock=(2.4e9, 1.9e9), power=70.0) | busy())
DISK = on("a", host.DISK_SIZE, 1000 * GIB, mount="/")
HALF_FULL = DISK | on("a", host.DISK_AVAILABLE, 500 * GIB, mount="/")
ACCEPTS = Story(
    "four of ten tokens less",
    HEAD,
    301,
    served(accepted=grows(2.0, 2.0), drafts=grows(2.0, 2.0)),
    slow={"usual(accepted_length_tokens[24h])": 4.0},
    seconds=700,
)
LATE = {"1.0": grows(0.2, 0.2), "80.0": grows(0.9, 0.9), "160.0": grows(2, 2), "+Inf": grows(2, 2)}
PROMPT = {"0.1": grows(4, 4), "+Inf": grows(4, 4)}
SLOW_TOKENS = {"0.1": grows(1, 1), "1.0": grows(9, 9), "+Inf": grows(9, 9)}

SAME_VERSIONS = {name: dict.fromkeys("ab", "1.0") for name in ("kernel", "gpu.0.vbios", "function.rocep1s0f1.firmware")}


def _less_for_a_minute(second: float) -> float:
    """Accepted tokens: six in two drafts, and one for a minute."""
    return 6.0 * second - 5.0 * min(max(second - 300, 0.0), 60.0)


STORIES: Mapping[str, Pair] = {
    "link_down": Pair(
        LINK,
        [
            LINK.but("never cabled", slow=dict.fromkeys(LINK.slow, 0.0)),
            LINK.but("one function is up", of_function(up=1.0, name="f0")),
        ],
        [
            LINK.but(
                "it carried sockets alone",
                slow=dict.fromkeys(LINK.slow, 0.0)
                | {"increase(netdev_transmit_bytes_total[24h])": 5e9, "increase(netdev_receive_bytes_total[24h])": 0.0},
            )
        ],
    ),
    "one_rail": Pair(
        Story("one carries all", ("a", "p1", "f0"), 80, RAILS),
        [
            Story(
                "little traffic",
                ("a", "p1", "f0"),
                80,
                of_function(name="f0", sent=grows(1e9), up=1.0) | of_function(name="f1", sent=0.0, up=1.0),
            ),
            Story(
                "both",
                ("a", "p1", "f0"),
                80,
                of_function(name="f0", sent=grows(6e9), up=1.0) | of_function(name="f1", sent=grows(6e9), up=1.0),
            ),
        ],
    ),
    "degraded_link": Pair(
        Story("13 Gb/s and no more", CAGE, 80, PLATEAU),
        [
            Story("idle", CAGE, 80, PLATEAU | of_gpu(util=0.1)),
            Story(
                "the others alike",
                CAGE,
                80,
                PLATEAU
                | {
                    series: grows(1.65e9, 9e9)
                    for series in PLATEAU
                    if series.metric == network.RDMA_TRANSMIT.name or series.metric == network.RDMA_RECEIVE.name
                },
            ),
            Story("varying", CAGE, 80, PLATEAU | of_function(sent=grows(3e9, 9e9), received=grows(3e9, 9e9))),
        ],
    ),
    "pcie_width": Pair(
        Story("2 lanes", ("a", "p1", "f0"), 61, of_function(lanes=(4.0, 2.0), up=1.0)),
        [
            Story("of one that is down", ("a", "p1", "f0"), 61, of_function(lanes=2.0, up=0.0)),
        ],
    ),
    "link_rate_differs": Pair(
        Story(
            "one at half",
            ("k3",),
            61,
            {
                **on("a", network.CAGE_CAPACITY, (25e9, 12.5e9), cage="p1"),
                **on("b", network.CAGE_CAPACITY, 25e9, cage="p1"),
                **of_function("a", up=1.0),
                **of_function("b", up=1.0),
            },
        ),
        [
            Story(
                "alike",
                ("k3",),
                61,
                {
                    **on("a", network.CAGE_CAPACITY, 25e9, cage="p1"),
                    **on("b", network.CAGE_CAPACITY, 25e9, cage="p1"),
                    **of_function("a", up=1.0),
                    **of_function("b", up=1.0),
                },
            ),
        ],
    ),
    "mtu_differs": Pair(
        Story(
            "1500 and 9000",
            ("k3",),
            61,
            of_function(mtu=(9000.0, 1500.0), up=1.0) | of_function("b", mtu=9000.0, up=1.0),
        ),
        [
            Story("alike", ("k3",), 61, of_function(mtu=9000.0, up=1.0) | of_function("b", mtu=9000.0, up=1.0)),
            Story(
                "a port that is down",
                ("k3",),
                61,
                of_function(mtu=1500.0, up=0.0) | of_function("b", mtu=9000.0, up=1.0),
            ),
        ],
    ),
    "fabric_loss": Pair(
        Story(
            "20 a second",
            CAGE,
            45,
            on("a", network.FABRIC_LOSS, grows(20), cage="p1", counter="out_of_sequence", function="f0"),
        ),
        [
            Story(
                "a few",
                CAGE,
                45,
                on("a", network.FABRIC_LOSS, grows(5), cage="p1", counter="out_of_sequence", function="f0"),
            ),
            Story(
                "flushes at a job's end",
                CAGE,
                45,
                on("a", network.FABRIC_REQUEST_ERRORS, grows(500), cage="p1", counter="x", function="f0"),
            ),
        ],
    ),
    "fabric_congestion": Pair(
        Story(
            "2,000 a second",
            CAGE,
            75,
            on("a", network.FABRIC_CONGESTION, grows(2000), cage="p1", counter="cnp", function="f0"),
        ),
        [
            Story(
                "100 a second",
                CAGE,
                75,
                on("a", network.FABRIC_CONGESTION, grows(100), cage="p1", counter="cnp", function="f0"),
            ),
        ],
    ),
    "tcp_fallback": Pair(
        Story("sockets both ways", A, 60, SOCKETS),
        [
            Story(
                "weights are copied",
                A,
                60,
                SOCKETS | {series: 0.0 for node in "abcd" for series in of_function(node, tcp_in=0.0)},
            ),
            Story("idle", A, 60, SOCKETS | of_gpu(util=0.02) | busy(util=0.02)),
            Story(
                "of one node alone",
                A,
                60,
                SOCKETS | {series: 0.0 for node in "bcd" for series in of_function(node, tcp_out=0.0, tcp_in=0.0)},
            ),
            Story(
                "RDMA moves",
                A,
                60,
                SOCKETS | {series: grows(2e9, 2e9) for node in "abcd" for series in of_function(node, sent=0.0)},
            ),
        ],
    ),
    "fatal_aer": Pair(
        Story("fatal", A, 2, on("a", host.KERNEL_AER, lambda s: float(s >= 90), severity="fatal"), seconds=120),
        [
            Story("corrected", A, 2, on("a", host.KERNEL_AER, grows(5), severity="correctable"), seconds=120),
        ],
    ),
    "engine_unreachable": Pair(
        Story("unreachable", ("head",), 21, given={"target_state": {"head": (OK, state("unreachable"))}}),
        [
            Story("stopped by hand", ("head",), 21, given={"target_state": {"head": (OK, state("stopped"))}}),
            Story("loading", ("head",), 21, given={"target_state": {"head": (OK, state("loading"))}}),
            Story("a node", ("a",), 21, given={"target_state": {"a": (OK, state("refused"))}}),
            Story("it never served", ("head",), 21, given={"target_state": {"head": float("nan")}}),
            Story("it starts anew", ("head",), 21, given={"target_state": {"head": (OK, state("restarting"))}}),
        ],
    ),
    "engine_wedged": Pair(
        Story("stalled", HEAD, 1, served(phase=(3.0, states(engine.ENGINE_PHASE, "stalled")), running=4.0, kv=0.2)),
        [
            Story("a long prefill", HEAD, 1, served(phase=states(engine.ENGINE_PHASE, "prefilling"))),
        ],
    ),
    "queue_growing": Pair(
        QUEUE.but("it grows", seconds=330),
        [
            QUEUE.but("a burst that drains", served(waiting=lambda s: max(40 - abs(s - 150), 0.0)), seconds=330),
        ],
    ),
    "kv_full": Pair(FULL, [FULL.but("full without a queue", served(waiting=0.0))]),
    "preemptions": Pair(
        Story("one in ten seconds", HEAD, 195, served(preempted=grows(0.1)), seconds=260),
        [
            Story("one in two minutes", HEAD, 195, served(preempted=lambda s: float(s >= 60)), seconds=260),
        ],
    ),
    "request_errors": Pair(
        ERRORS,
        [
            ERRORS.but("one in a hundred", finished(grows(0.04, 0.04), grows(4, 4)), seconds=480),
            ERRORS.but("two alone", finished(leaps(1, 2), 0.0), seconds=480),
        ],
    ),
    "ttft_objective": Pair(
        Story("two minutes", HEAD, 630, histogram(engine.TTFT, LATE), seconds=700),
        [
            Story(
                "too few observations",
                HEAD,
                630,
                histogram(
                    engine.TTFT, {"1.0": grows(0.01, 0.01), "160.0": grows(0.02, 0.02), "+Inf": grows(0.02, 0.02)}
                ),
                seconds=700,
            ),
        ],
    ),
    "itl_objective": Pair(
        Story("a second", HEAD, 630, histogram(engine.ITL, SLOW_TOKENS), seconds=700),
        [
            Story("fast", HEAD, 630, histogram(engine.ITL, PROMPT), seconds=700),
        ],
    ),
    "acceptance_collapse": Pair(
        ACCEPTS.but("2 where 4 is usual", within_s=640),
        [
            ACCEPTS.but("as usual", slow={"usual(accepted_length_tokens[24h])": 2.2}, within_s=640),
            ACCEPTS.but("too few drafts", served(accepted=grows(0.2, 0.2), drafts=grows(0.2, 0.2)), within_s=640),
            ACCEPTS.but("other prompts for one minute", served(accepted=_less_for_a_minute, drafts=grows(2.0, 2.0))),
        ],
    ),
    "slower_than_baseline": Pair(
        Story("below", ("k3",), 601, given={"baseline_speed_ratio": {"deployment/k3": (1.1, 0.9)}}),
        [
            Story("within its noise", ("k3",), 601, given={"baseline_speed_ratio": {"deployment/k3": 1.02}}),
        ],
    ),
    "straggler": Pair(
        SLOWER,
        [
            SLOWER.but("it takes no part", of_gpu(util=0.0)),
            SLOWER.but("all alike", busy(clock=(2.4e9, 1.9e9))),
            SLOWER.but("a tenth", of_gpu(clock=(2.4e9, 2.2e9))),
        ],
    ),
    "versions_differ": Pair(
        Story("two drivers", ("k3",), 601, facts={"driver_version": {"a": "580.1", "b": "580.2"}, **SAME_VERSIONS}),
        [
            Story("one", ("k3",), 601, facts={"driver_version": {"a": "580.1", "b": "580.1"}}),
            Story("names differ of course", ("k3",), 601, facts={"hostname": {"a": "a", "b": "b"}}),
        ],
    ),
    "disk_filling": Pair(
        Story(
            "8 % left",
            ("a", "/"),
            301,
            DISK | on("a", host.DISK_AVAILABLE, (500 * GIB, 80 * GIB), mount="/"),
            slow={"change(disk_available_bytes[24h])": -1.0},
        ),
        [
            Story(
                "half",
                ("a", "/"),
                301,
                DISK | on("a", host.DISK_AVAILABLE, 500 * GIB, mount="/"),
                slow={"change(disk_available_bytes[24h])": -1 * GIB},
            ),
            Story("slowly", ("a", "/"), 301, HALF_FULL, slow={"change(disk_available_bytes[24h])": -499 * GIB}),
        ],
        [
            Story(
                "full in a day",
                ("a", "/"),
                301,
                HALF_FULL,
                slow={"change(disk_available_bytes[24h])": -500 * GIB},
                seconds=400,
            ),
            Story(
                "a tenth left", ("a", "/"), 301, DISK | on("a", host.DISK_AVAILABLE, (500 * GIB, 100 * GIB), mount="/")
            ),
        ],
    ),
    "disk_full": Pair(
        Story("2 % left", ("a", "/"), 301, DISK | on("a", host.DISK_AVAILABLE, (500 * GIB, 20 * GIB), mount="/")),
        [
            Story("5 % left", ("a", "/"), 301, DISK | on("a", host.DISK_AVAILABLE, 50 * GIB, mount="/")),
        ],
    ),
    "clock_skew": Pair(
        Story("behind", A, 61, on("a", CLOCK_SKEW, (0.0, -4.2))),
        [
            Story("one late answer", A, 61, on("a", CLOCK_SKEW, lambda s: 4.2 if 30 <= s < 35 else 0.0)),
        ],
    ),
    "ticks_missed": Pair(
        Story("one in ten", (), 11, given={"ticks_missed_ratio": {"cluster": (0.0, 0.1)}}),
        [
            Story("one in a hundred", (), 11, given={"ticks_missed_ratio": {"cluster": 0.01}}),
        ],
    ),
    "store_nearly_full": Pair(
        Story("95 %", (), 11, given={"store_fill_ratio": {"cluster": (0.5, 0.95)}}),
        [
            Story("half", (), 11, given={"store_fill_ratio": {"cluster": 0.5}}),
        ],
    ),
    "channel_failing": Pair(
        Story("one", ("ops",), 11, given={"channel_failing": {"ops": (0.0, 1.0), "night": 0.0}}),
        [
            Story("the other", ("night",), 11, given={"channel_failing": {"ops": (0.0, 1.0), "night": 0.0}}),
            Story("once", ("ops",), 11, given={"channel_failing": {"ops": lambda s: float(s == 30)}}),
        ],
    ),
    "collector_silent": Pair(
        Story("it hangs", (), 11, given={"commit_age_seconds": {"cluster": lambda s: max(s - 30, 0.0)}}),
        [
            Story(
                "a slow commit",
                (),
                11,
                given={"commit_age_seconds": {"cluster": lambda s: min(max(s - 30, 0.0), 10.0)}},
            ),
        ],
    ),
}
