"""Asking for faults: when they begin and end, how they are written, what is refused."""

from __future__ import annotations

import pytest

from simulator.faults import Order, target_of
from tests.simulator.stage import record, world


def test_faults_begin_and_end_with_a_cell() -> None:
    looked = world(until=3.1)
    incident = looked.add(Order("thermal", "spark-02", None, 5.0))
    assert (incident.start, incident.end) == (3.25, 8.25)
    assert [incident.state(now) for now in (3.2, 3.25, 8.2, 8.25)] == ["planned", "on", "on", "over"]
    looked.advance(3.2)
    assert looked.conditions.incidents == ()
    looked.advance(3.3)
    assert looked.conditions.incidents == (incident,)
    looked.advance(8.3)
    assert looked.conditions.incidents == ()


def test_a_fault_taken_back_ends_with_the_cell() -> None:
    looked = world(until=3.1)
    number = looked.add(Order("thermal", "spark-02")).number
    later = looked.add(Order("straggler", "spark-03", 100.0, 10.0))
    looked.advance(10.1)
    assert looked.remove(number).end == 10.25
    assert looked.remove(later.number).start == 10.25
    looked.advance(11.0)
    assert looked.conditions.incidents == ()
    for gone in (number, 99):
        with pytest.raises(KeyError):
            looked.remove(gone)


def test_a_fault_asked_for_later_gives_the_same_world_as_one_on_the_schedule() -> None:
    asked, planned = world(until=30.0), world("straggler@spark-02:30.25+20")
    asked.add(Order("straggler", "spark-02", None, 20.0))
    assert record(asked, 80.0) == [line for line in record(planned, 80.0) if line["t"] > 30]


NAMES = ("spark-01", "spark-02")
ORDERS = (
    ("thermal@spark-02:60+120", Order("thermal", "spark-02", 60.0, 120.0), "spark-02"),
    ("thermal@1", Order("thermal", "1", 0.0, None), "spark-02"),
    ("wedge:5", Order("wedge", None, 5.0, None), "engine"),
    ("wedge@spark-02", Order("wedge", "spark-02", 0.0, None), "engine"),
    ("tcp-fallback+7.5", Order("tcp-fallback", None, 0.0, 7.5), "cluster"),
    ("slow-scrape@engine", Order("slow-scrape", "engine", 0.0, None), "engine"),
)


@pytest.mark.parametrize(("text", "order", "target"), ORDERS)
def test_orders(text: str, order: Order, target: str) -> None:
    assert Order.parse(text) == order
    assert target_of(order, NAMES) == target


@pytest.mark.parametrize("text", ["", "thermal@@1", "thermal:x", "thermal+-3", "THERMAL"])
def test_orders_that_cannot_be_read(text: str) -> None:
    with pytest.raises(ValueError, match="is not NAME@NODE:START"):
        Order.parse(text)


@pytest.mark.parametrize(
    "order", [Order("flood"), Order("thermal"), Order("thermal", "spark-09"), Order("thermal", "engine")]
)
def test_orders_that_make_no_sense(order: Order) -> None:
    with pytest.raises(ValueError, match=r"no fault|wants a node"):
        world().add(order)


def test_a_duration_is_positive() -> None:
    with pytest.raises(ValueError, match="positive"):
        world().add(Order("thermal", "spark-02", None, 0.0))
