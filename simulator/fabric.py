"""Bytes between the nodes: RDMA and TCP on the two PCI functions of the cabled cage, and the management port.

A copy of files comes from the head, or from its neighbour when the head is what gets them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simulator.conditions import Floats, NodeStates
from simulator.draws import array_stream

CHATTER = 1.8e3
"""Bytes per second that a healthy fabric port sends through the kernel: neighbour discovery and little else."""
MANAGEMENT = 4.0e3
SPREAD = 0.02
MARKS_PER_BYTE = 3e-10
"""Congestion notifications per byte of RDMA."""


class Fabric:
    """Shares of each node in the traffic; the second axis of its arrays is the PCI function."""

    def __init__(self, seed: int, nodes: int) -> None:
        draw = array_stream(seed, "fabric")
        self._nodes = nodes
        self._sends = draw.normal(1.0, SPREAD, nodes).clip(0.9, 1.1)
        self._receives = draw.normal(1.0, SPREAD, nodes).clip(0.9, 1.1)
        self._rail = draw.normal(0.0, 0.006, nodes)
        self._follow(NodeStates(nodes))

    def open(self, state: NodeStates) -> None:
        """Fix who takes part in the next cell."""
        if state is not self._state:
            self._follow(state)

    def _follow(self, state: NodeStates) -> None:
        """Work out what changes with the faults alone."""
        self._state = state
        joined = state.taking_part & (state.gone == 0) & (state.link_down == 0) & (state.uncabled == 0)
        self._sent, self._received = _shares(self._sends, joined), _shares(self._receives, joined)
        self._limited = np.isfinite(state.limit)
        second = np.where(state.second_rail == 0.5, 0.5 + self._rail, state.second_rail)
        self._rails = np.stack([1 - second, second], axis=1)
        self._rdma = np.where(state.sockets > 0, 0.0, 1.0)[:, None] * self._rails
        self._alive = np.where(state.gone > 0, 0.0, 1.0)
        wired = joined[:, None] * np.full(2, CHATTER)
        self._tcp_sent, self._tcp_received = wired.copy(), wired.copy()
        for node in np.flatnonzero(state.copies):
            source = 0 if node else min(1, self._nodes - 1)
            self._tcp_sent[source, 0] += state.copies[node]
            self._tcp_received[node, 0] += state.copies[node]

    def gains(self, seconds: float, moved: float) -> dict[str, Floats]:
        """What the counters grow by in so many seconds, when each rank sends so many bytes in the mean."""
        sent, received = self._sent * moved, self._received * moved
        if self._limited.any():
            ceiling = self._state.limit * max(seconds, 1e-12)
            sent, received = np.minimum(sent, ceiling), np.minimum(received, ceiling)
            received = _balance(received, float(sent.sum()), self._limited)
        sockets = self._state.sockets
        tcp_sent, tcp_received = self._tcp_sent * seconds, self._tcp_received * seconds
        tcp_sent[:, 0] += sockets * sent
        tcp_received[:, 0] += sockets * received
        rdma_received = self._rdma * received[:, None]
        return {
            "rdma_sent": self._rdma * sent[:, None],
            "rdma_received": rdma_received,
            "tcp_sent": tcp_sent,
            "tcp_received": tcp_received,
            "marks": rdma_received * MARKS_PER_BYTE,
            "management_sent": MANAGEMENT * seconds * self._alive,
            "management_received": 0.7 * MANAGEMENT * seconds * self._alive,
        }


def _shares(weights: Floats, joined: Floats) -> Floats:
    """Weights of those who take part, with a mean of 1 among them; alone nobody sends."""
    weights = np.where(joined, weights, 0.0)
    count = np.count_nonzero(joined)
    return weights * (count / weights.sum()) if count > 1 else np.zeros_like(weights)


def _balance(received: Floats, sent: float, limited: npt.NDArray[np.bool_]) -> Floats:
    """What is received, stretched among the nodes without a limit so that all that was sent arrives."""
    free = received[~limited].sum()
    factor = (sent - received[limited].sum()) / free if free else 1.0
    return np.where(limited, received, received * factor)
