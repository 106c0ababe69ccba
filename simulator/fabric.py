"""Bytes between the nodes: RDMA and TCP on the two PCI functions of the cabled cage, and the management port."""

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
        self._state = NodeStates(nodes)

    def open(self, state: NodeStates) -> None:
        """Fix who takes part in the next cell."""
        self._state = state

    def gains(self, seconds: float, moved: float) -> dict[str, Floats]:
        """What the counters grow by in so many seconds, when each rank sends so many bytes in the mean."""
        state = self._state
        joined = state.taking_part & (state.gone == 0) & (state.link_down == 0) & (state.uncabled == 0)
        ceiling = state.limit * max(seconds, 1e-12)
        sent = np.minimum(_shares(self._sends, joined) * moved, ceiling)
        received = np.minimum(_shares(self._receives, joined) * moved, ceiling)
        received = _balance(received, float(sent.sum()), np.isfinite(state.limit))
        rdma = np.where(state.sockets > 0, 0.0, 1.0)
        chatter = CHATTER * seconds * (joined[:, None] * np.ones(2))
        tcp_sent, tcp_received = chatter.copy(), chatter.copy()
        tcp_sent[:, 0] += sent * (1 - rdma)
        tcp_received[:, 0] += received * (1 - rdma)
        self._copy(tcp_sent, tcp_received, seconds)
        marks = received * rdma * MARKS_PER_BYTE
        alive = np.where(state.gone > 0, 0.0, seconds)
        return {
            "rdma_sent": self._rails(sent * rdma),
            "rdma_received": self._rails(received * rdma),
            "tcp_sent": tcp_sent,
            "tcp_received": tcp_received,
            "marks": self._rails(marks),
            "management_sent": MANAGEMENT * alive,
            "management_received": 0.7 * MANAGEMENT * alive,
        }

    def _rails(self, amount: Floats) -> Floats:
        second = np.where(self._state.second_rail == 0.5, 0.5 + self._rail, self._state.second_rail)
        return np.stack([amount * (1 - second), amount * second], axis=1)

    def _copy(self, sent: Floats, received: Floats, seconds: float) -> None:
        """A copy of files from the head, or from its neighbour when the head is what gets them."""
        for node in np.flatnonzero(self._state.copies):
            amount = self._state.copies[node] * seconds
            sent[0 if node else min(1, self._nodes - 1), 0] += amount
            received[node, 0] += amount


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
