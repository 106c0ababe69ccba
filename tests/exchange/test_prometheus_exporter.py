"""A real node_exporter on a small tree: what its page means to us, against the files it reads."""

from __future__ import annotations

import shutil
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families

from exchange.prometheus.client import Samples
from exchange.prometheus.names import NODE_EXPORTER
from exchange.prometheus.pages import Pages
from exchange.prometheus.scrapes import find, name_of
from telemetry.model import Series
from tests.exchange.servers import free_port, running

WORDS = 1_000_003
PORT = "sys/class/infiniband/rocep1s0f1/ports/1"
FILES = {
    f"{PORT}/state": "4: ACTIVE",
    f"{PORT}/phys_state": "5: LinkUp",
    f"{PORT}/rate": "200 Gb/sec (4X HDR)",
    f"{PORT}/counters/port_xmit_data": str(WORDS),
    f"{PORT}/counters/port_rcv_data": "17",
    f"{PORT}/counters/link_downed": "3",
    "sys/class/infiniband/rocep1s0f1/board_id": "NVD0000000087",
    "sys/class/infiniband/rocep1s0f1/fw_ver": "28.45.4028",
    "sys/class/infiniband/rocep1s0f1/hca_type": "MT4129",
    "proc/meminfo": "MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 300 kB\nBuffers: 10 kB\nCached: 150 kB\n"
    "Shmem: 50 kB\nSReclaimable: 20 kB\nSUnreclaim: 30 kB\nKernelStack: 5 kB\n",
    "proc/loadavg": "1.25 1 1 1/100 1\n",
    "proc/stat": "cpu  1 2 3 4 5 6 7 8 0 0\ncpu0 100 200 300 400 500 600 700 800 0 0\nintr 1\nctxt 1\n"
    "btime 1796000000\nprocesses 1\nprocs_running 1\nprocs_blocked 0\nsoftirq 10 1 1 1 1 1 1 1 1 1 1\n",
    "proc/vmstat": "oom_kill 4\n",
    "proc/pressure/cpu": "some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\n",
    "proc/pressure/memory": "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000000\n"
    "full avg10=0.00 avg60=0.00 avg300=0.00 total=500000\n",
    "proc/pressure/io": "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
    "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
    "sys/class/hwmon/hwmon0/name": "acpitz",
    "sys/class/hwmon/hwmon0/temp1_input": "45500",
    "sys/class/hwmon/hwmon0/temp2_input": "61000",
}
COLLECTORS = ("infiniband", "meminfo", "loadavg", "cpu", "stat", "vmstat", "pressure", "hwmon")


def page(tree: Path) -> list[Samples]:
    exporter = shutil.which("prometheus-node-exporter")
    if exporter is None:
        pytest.skip("prometheus-node-exporter is not installed")
    for name, content in FILES.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(f"{content.strip()}\n")
    command = [
        exporter,
        f"--path.procfs={tree / 'proc'}",
        f"--path.sysfs={tree / 'sys'}",
        "--collector.disable-defaults",
        *(f"--collector.{name}" for name in COLLECTORS),
        f"--web.listen-address=127.0.0.1:{free_port()}",
    ]
    url = f"http://{command[-1].partition('=')[2]}"
    with running(command, url, "/"), urllib.request.urlopen(f"{url}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    where = {"job": "node", "instance": "a:9100"}
    return [
        Samples({"__name__": sample.name, **where, **sample.labels}, np.array([0]), np.array([float(sample.value)]))
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    ]


def test_what_a_real_page_means(tmp_path: Path) -> None:
    samples = page(tmp_path)
    found = find((one.labels for one in samples), lambda instance, kind: name_of(instance, kind, {}))
    (scrape,) = found.scrapes
    ((_, read),) = Pages("a", NODE_EXPORTER, scrape.families, scrape.chips).of(samples)
    values = dict(zip(read.layout.series, read.values().tolist(), strict=True))
    function = (("cage", "p1"), ("function", "rocep1s0f1"))
    errors = (("cage", "p1"), ("counter", "link_downed"), ("function", "rocep1s0f1"))
    kib = 1024.0
    assert values == {
        Series("a", "rdma_transmit_bytes_total", function): 4.0 * WORDS,
        Series("a", "rdma_receive_bytes_total", function): 4.0 * 17,
        Series("a", "link_up", function): 1.0,
        Series("a", "fabric_errors_total", errors): 3.0,
        Series("a", "memory_total_bytes"): 1000 * kib,
        Series("a", "memory_free_bytes"): 100 * kib,
        Series("a", "memory_available_bytes"): 300 * kib,
        Series("a", "memory_used_bytes"): 700 * kib,
        Series("a", "memory_shmem_bytes"): 50 * kib,
        Series("a", "memory_cached_bytes"): 130 * kib,
        Series("a", "memory_kernel_bytes"): 35 * kib,
        Series("a", "load_average"): 1.25,
        Series("a", "cpu_busy_seconds_total"): pytest.approx(27.0),
        Series("a", "oom_kills_total"): 4.0,
        Series("a", "pressure_waiting_seconds_total", (("resource", "cpu"),)): 2.5,
        Series("a", "pressure_waiting_seconds_total", (("resource", "memory"),)): 1.0,
        Series("a", "pressure_waiting_seconds_total", (("resource", "io"),)): 0.0,
        Series("a", "pressure_stalled_seconds_total", (("resource", "memory"),)): 0.5,
        Series("a", "pressure_stalled_seconds_total", (("resource", "io"),)): 0.0,
        Series("a", "temperature_celsius", (("sensor", "acpitz"),)): 61.0,
    }
