"""How a GB10 node is read. Importing this package registers every collector.

A round reads them in this order: what builds on the reading of another (processes and retained on nvml) comes after it.
"""

from collectors.node import (  # noqa: F401
    addresses,
    blocks,
    counters,
    cpu,
    disks,
    fabric,
    identity,
    kernel,
    management,
    memory,
    nvml,
    paging,
    power,
    pressure,
    processes,
    retained,
    sensors,
)
