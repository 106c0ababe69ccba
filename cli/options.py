"""Flags of single commands that are no settings: what is asked for once, on a command line."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Option:
    """One flag. many: it may be repeated. switch: no value. short: its other name."""

    flag: str
    help: str
    metavar: str = ""
    many: bool = False
    switch: bool = False
    short: str = ""

    @property
    def name(self) -> str:
        """Key of its value: the flag without dashes."""
        return self.flag.removeprefix("--").replace("-", "_")

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        """Let a parser know it."""
        if not self.flag.startswith("-"):
            many: dict[str, Any] = {"nargs": "*"} if self.many else {}
            parser.add_argument(self.flag, metavar=self.metavar, help=self.help, **many)
            return
        shape: dict[str, Any] = {"action": "append" if self.many else "store", "metavar": self.metavar}
        if self.switch:
            shape = {"action": "store_true"}
        text = self.help.replace("%", "%%")
        flags = (self.short, self.flag) if self.short else (self.flag,)
        parser.add_argument(*flags, dest=self.name, default=argparse.SUPPRESS, help=text, **shape)


EXPORT = (
    Option("--metric", "Metric, or several, or “all” for every stored one.", "NAME", many=True),
    Option("--node", "Only this node.", "NAME"),
    Option("--engine", "Only this engine.", "NAME"),
    Option("--deployment", "Only this deployment.", "NAME"),
    Option("--label", "Only series with these labels, such as gpu:0.", "LABEL:VALUE", many=True),
    Option("--start", "From: epoch milliseconds, ISO 8601 with its offset, or a length before now like -2h.", "TIME"),
    Option("--end", "To: the same, or “now”.", "TIME"),
    Option("--raw", "Every sample; what is done where neither --step nor --points is given.", switch=True),
    Option("--step", "Bins of this width, such as 10s: least, mean, greatest and last value.", "LENGTH"),
    Option("--points", "At most so many points, as a chart has them.", "N"),
    Option("--rate", "Counters as their increase per second.", switch=True),
    Option("--total", "One line over all series.", switch=True),
    Option("--quantile", "Of histograms, which one; 0.5 where not given.", "Q"),
    Option("--layout", "wide: a column per metric; long: a row per value.", "wide|long"),
    Option("--format", "csv, parquet or sqlite; else by the ending of the file.", "FORM"),
    Option(
        "--output", "File to write, “-” for standard output; else a name that says what is in it.", "FILE", short="-o"
    ),
    Option("--force", "Write over a file that is there.", switch=True),
)
IMPORT_PROMETHEUS = (
    Option("url", "Address of the server, with the path below which its API stands, if any.", "URL"),
    Option("--start", "From: epoch milliseconds, ISO 8601 with its offset, or a length before now like -30d.", "TIME"),
    Option("--end", "To: the same, or “now”. Only whole hours in between are imported.", "TIME"),
    Option("--map", "Name of a target here, by the label instance there, or by its host.", "INSTANCE=NAME", many=True),
    Option("--token-file", "File with the bearer token that the server wants.", "PATH"),
    Option("--dry-run", "Only say what there is; write nothing.", switch=True),
)
IMPORT = (
    Option("files", "Result files.", "FILE", many=True),
    Option("--run", "Number of the run that they belong to, where that is not clear by itself.", "ID"),
    Option("--apart", "Keep each as a run of its own, without telemetry.", switch=True),
    Option("--json", "JSON, as the API gives it.", switch=True),
)
BENCH = (
    Option("words", "After “--”: the command, as it would be typed.", "COMMAND", many=True),
    Option("--deployment", "The deployment that is measured, where there are several.", "NAME"),
    Option("--name", "Name of the run.", "NAME"),
    Option("--result", "The command's result file, where it is not found by itself.", "FILE", many=True),
)
BACKUP = (
    Option("file", "File to write: a store by itself, readable by its owner alone.", "FILE"),
    Option("--force", "Write over a file that is there.", switch=True),
)
RESTORE = (Option("file", "A backup, of this version or an older one.", "FILE"),)
VERIFY = (Option("--json", "Say it as JSON.", switch=True),)
RUNS = (
    Option(
        "action",
        "list, show, compare, start, stop, rename, label, tag, note, annotate, trim, merge, split, pin, baseline, "
        "nodes, measured, move, delete, report, export or import.",
        "ACTION",
    ),
    Option("words", "The number of the run (for start: the deployment), and what is said of it.", "WORD", many=True),
    Option("--json", "JSON, as the API gives it, in place of a table.", switch=True),
    Option("--off", "For label, tag, pin, baseline, nodes and measured: take it off.", switch=True),
    Option(
        "--fail-below",
        "For compare: status 1 where the second run has surely less than this percentage of the first one's speed.",
        "PERCENT",
    ),
    Option("--apart", "For move: keep the benchmark's result as a run of its own.", switch=True),
    Option("--key", "For move: which result, where the run has several; “benchmarks” of the API has its key.", "KEY"),
    Option("--at", "When: for annotate (now where not given) and split; times as for export.", "TIME"),
    Option("--deployment", "List only runs of this deployment.", "NAME"),
    Option("--tag", "List only runs with this tag.", "TAG"),
    Option("--label", "List only runs with this label.", "KEY:VALUE"),
    Option("--text", "List only runs that have this in name, model, note or tags.", "TEXT"),
    Option("--state", "List only runs that go on, or those that ended.", "live|ended"),
    Option("--limit", "List at most so many.", "N"),
    Option("--start", "From: for list, show and trim; times as for export.", "TIME"),
    Option("--end", "To: the same.", "TIME"),
    Option(
        "--out", "For report and export: the file, “-” for standard output; else a name that says what it is.", "FILE"
    ),
    Option("--format", "For report: html or md; else by the ending of the file.", "FORM"),
    Option("--anonymous", "For report and export: numbers in place of machines' names and addresses.", switch=True),
    Option("--force", "For report and export: write over a file that is there.", switch=True),
)
ALERTS = (
    Option(
        "action",
        "list, show, ack, silence, unsilence, silences, rules, set, enable, disable, reset, check, replay, "
        "prometheus, channels or test-channel.",
        "ACTION",
    ),
    Option(
        "words", "The number of the alert or silence, the name of the rule, and what is said of it.", "WORD", many=True
    ),
    Option("--json", "JSON, as the API gives it, in place of a table.", switch=True),
    Option("--by", "Who does it, for the record.", "NAME"),
    Option("--rule", "Only alerts of this rule: for list and silence.", "NAME"),
    Option("--node", "Only alerts of this node or target: for list and silence.", "NAME"),
    Option("--deployment", "Only alerts of this deployment: for list and silence.", "NAME"),
    Option("--severity", "Only alerts of this severity: for list and silence.", "info|warning|critical"),
    Option("--weekly", "Silence in this window of every week, such as “mon,tue 22:00-06:00 Europe/Berlin”.", "WINDOW"),
    Option("--state", "List only alerts that fire, or those that are over.", "firing|resolved"),
    Option("--limit", "List at most so many.", "N"),
    Option(
        "--start",
        "From: for list, replay, silence; times as for export, for silence also +1h from now.",
        "TIME",
    ),
    Option("--end", "To: the same.", "TIME"),
)
OPTIONS: Mapping[str, tuple[Option, ...]] = {
    "alerts": ALERTS,
    "export": EXPORT,
    "import-prometheus": IMPORT_PROMETHEUS,
    "import": IMPORT,
    "bench": BENCH,
    "runs": RUNS,
    "backup": BACKUP,
    "restore": RESTORE,
    "verify": VERIFY,
}
"""Command → its flags."""
