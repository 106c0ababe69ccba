"""Both cages of a node, each with its functions: link, rates, traffic, losses."""

from __future__ import annotations

from collections.abc import Mapping

from dash import html
from dash.development.base_component import Component

from dashboard.components.latest import Latest, number_cell, unknown
from dashboard.components.table import Column, Content, Row, table
from telemetry.catalog import network
from telemetry.catalog import ratios as quotients
from telemetry.model import Unit

CAGE_COLUMNS: tuple[Column, ...] = (
    "Cage, function",
    "Link",
    "Rate",
    ("Sends", "What goes out of the cage now, of both functions together"),
    ("Receives", "What comes into the cage now, of both functions together"),
    "Use",
    ("Sent in all", "Bytes that the function has counted since its counters began: RDMA and TCP/IP together"),
    ("Received in all", "Bytes that the function has counted since its counters began: RDMA and TCP/IP together"),
    "PCIe",
    "MTU",
    ("Loss", "Retries and sequence errors of RDMA: per second of a cage, in all of a function"),
    ("At maximum", "Port counters that stand at their highest value and count no further; 0 is well"),
    "Netdev",
)
NO_LINK = "no link"


def names(latest: Latest) -> dict[str, list[str]]:
    """Cages of a node in order, and the functions of each."""
    found: dict[str, list[str]] = {}
    for entry in latest.all(network.LINK_UP):
        cage, function = entry["labels"].get("cage"), entry["labels"].get("function")
        if cage is not None and function is not None:
            found.setdefault(cage, []).append(function)
    return {cage: sorted(found[cage]) for cage in sorted(found)}


def link(up: float | None) -> Content:
    """State of a link in words; a cage that was never cabled is healthy."""
    return unknown("not read") if up is None else ("up" if up else NO_LINK)


def cage_row(latest: Latest, cage: str) -> Row:
    """Sums of a cage: its capacity is the link's, once."""
    up = latest.value(network.LINK_UP, cage=cage)
    cells: list[Content] = [
        link(up),
        latest.shown(network.CAGE_CAPACITY, cage=cage) if up else "",
        latest.shown(quotients.INTERCONNECT_TRANSMIT, cage=cage),
        latest.shown(quotients.INTERCONNECT_RECEIVE, cage=cage),
        latest.shown(quotients.INTERCONNECT_USE, cage=cage) if up else "",
        "",
        "",
        "",
        "",
        latest.shown(quotients.FABRIC_LOSS, cage=cage),
        "",
        "",
    ]
    return Row(html.Strong(f"Cage {cage}"), cells)


def function_row(latest: Latest, cage: str, function: str, facts: Mapping[str, str]) -> Row:
    """One PCI function of a cage."""
    at = {"cage": cage, "function": function}
    up = latest.value(network.LINK_UP, **at)
    full = latest.value(network.FABRIC_AT_MAXIMUM, **at)
    cells: list[Content] = [
        link(up),
        latest.shown(network.LINK_CAPACITY, **at) if up else "",
        "",
        "",
        "",
        *(sent(latest, counters, at) for counters in (SENT, RECEIVED)),
        pcie(latest, at),
        unknown("not read") if (mtu := latest.value(network.MTU, **at)) is None else f"{mtu:.0f}",
        _times(latest.value(network.FABRIC_LOSS, **at)),
        number_cell(full, Unit.COUNT),
        facts.get(f"function.{function}.netdev", ""),
    ]
    return Row(function, cells, "warning" if full else "ok")


def pcie(latest: Latest, at: Mapping[str, str]) -> Component:
    """Lanes and capacity of a function's PCIe link: "x4 126 Gb/s"."""
    width, capacity = latest.value(network.PCIE_WIDTH, **at), latest.value(network.PCIE_CAPACITY, **at)
    if width is None:
        return unknown("not read")
    return html.Span([f"x{width:.0f} ", number_cell(capacity, Unit.NETWORK_BYTES_PER_SECOND)])


def _times(value: float | None) -> Content:
    return number_cell(value, Unit.COUNT) if value is None else html.Span([number_cell(value, Unit.COUNT), " in all"])


SENT = (network.RDMA_TRANSMIT, network.NETDEV_TRANSMIT)
RECEIVED = (network.RDMA_RECEIVE, network.NETDEV_RECEIVE)


def sent(latest: Latest, counters: tuple[network.Metric, ...], at: Mapping[str, str]) -> Component:
    """RDMA and TCP/IP bytes of a function since its counters began to be watched; unknown when either is."""
    values = [latest.value(counter, **at) for counter in counters]
    total = None if None in values else float(sum(value for value in values if value is not None))
    return number_cell(total, Unit.BYTES, "not read")


def cage_table(latest: Latest, facts: Mapping[str, str]) -> Component:
    """All cages and functions, or a sentence where there are none, or where nothing is known of any."""
    known = ", ".join(f"{cage} ({', '.join(functions)})" for cage, functions in names(latest).items())
    if known and (why := latest.why_not(network.LINK_UP)):
        return html.P(f"Not known of {known}: {why}.", className="note")
    rows = [
        row
        for cage, functions in names(latest).items()
        for row in (cage_row(latest, cage), *(function_row(latest, cage, name, facts) for name in functions))
    ]
    if not rows:
        return html.P("No fabric port is known on this node.", className="note")
    return table(CAGE_COLUMNS, rows, "Cages and their functions", "cages")
