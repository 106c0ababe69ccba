"""Pages of `docs/` that are written by the tables: `python -m cli.docs` rewrites them, `--check` only compares."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from itertools import groupby

from cli.supervisor import ROOT
from settings import FILE, TABLE, Setting
from telemetry.catalog import METRICS
from telemetry.model import Kind, Limits, Metric, Ratio

ROW = tuple[str, ...]
METRICS_PREFACE = """# Metrics

Written by `make docs` from `telemetry/catalog`. Names end in their base unit, counters in `_total`. A ratio is never
stored: it is Σ numerator ∕ Σ denominator over its window, and unknown where the denominator is 0 or either side is
unknown; a gauge in it counts value × seconds. A histogram is stored as counters: `NAME_bucket` (by `le`), `NAME_sum`
and `NAME_count`. “Over time” folds a gauge inside one point of a chart, “across” folds devices, engines and nodes.
What is not known has no value; it is never 0.

"""


def _table(head: ROW, rows: Iterable[ROW]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "∣") for cell in line) + " |" for line in lines)


def settings_page() -> str:
    """docs/settings.md, from the settings table."""
    head = ("setting", "default", "what it is", "may be", "flag", "environment")
    return f"""# Settings

Written by `make docs` from `settings/table.py`. Sources, each stronger than those before: defaults, `{FILE}` (in
the working directory, or the file named by `--config` or `TACHOGRAPH_CONFIG`), environment, flags. A stronger source
replaces a value as a whole, tables included. In the environment, entries of a table stand between spaces; an empty
variable means the default. Wrong values and unknown keys of the file are refused, all at once, before
anything starts, and so are addresses of channels and rules of alerts that are none. In the place of an
address a bare host will do: it is asked by `http` on the usual port.

{_table(head, (_setting_row(row) for row in TABLE))}

```toml
# {FILE}
store = "/srv/tachograph/tachograph.db"
host = "0.0.0.0"

[nodes]
spark-01 = "http://10.0.0.1:9810"
spark-02 = "http://10.0.0.2:9810"

[engines]
head = "http://10.0.0.1:8000"

[deployments]
kimi = ["head"]
```
"""


def _setting_row(row: Setting) -> ROW:
    default = row.shown_default or (f"`{row.default_text}`" if row.default_text else "")
    commands = f"`{row.flag}` of {', '.join(row.commands)}" if row.flag else ""
    name = f"`{row.name}`" if row.in_file else f"`{row.name}` (not in the file)"
    former = f" Formerly `{row.formerly.name}`, which is still read: {row.formerly.form.shown}." if row.formerly else ""
    return name, default, row.help + former, row.form.shown, commands, f"`{row.environment}`"


def metrics_page() -> str:
    """docs/metrics.md, from the catalogue."""
    groups = groupby(sorted(METRICS, key=lambda metric: metric.group), key=lambda metric: metric.group)
    parts = [_group(name, tuple(metrics)) for name, metrics in groups]
    return METRICS_PREFACE + "\n".join(parts)


def _group(name: str, metrics: tuple[Metric | Ratio, ...]) -> str:
    stored = [_metric_row(metric) for metric in metrics if isinstance(metric, Metric)]
    ratios = [_ratio_row(metric) for metric in metrics if isinstance(metric, Ratio)]
    text = f"## {name}\n\n"
    if stored:
        text += _table(("metric", "kind", "of a", "by", "over time, across", "attention", "what it is"), stored) + "\n"
    if ratios:
        text += (
            "\n" * bool(stored)
            + _table(("ratio", "of a", "by", "is", "window", "attention", "what it is"), ratios)
            + "\n"
        )
    return text


def _metric_row(metric: Metric) -> ROW:
    folds = f"{metric.over_time.value}, {metric.across.value}" if metric.kind in (Kind.GAUGE, Kind.STATE) else ""
    states = (
        f" States: {', '.join(f'{code} {name}' for code, name in enumerate(metric.states))}." if metric.states else ""
    )
    wraps = f" Wraps at {metric.bits} bits." if metric.bits != 64 else ""
    return (
        f"`{metric.name}`",
        metric.kind.value,
        metric.scope.value,
        ", ".join(metric.by),
        folds,
        _limits(metric.limits),
        metric.help + states + wraps + _formerly(metric),
    )


def _ratio_row(ratio: Ratio) -> ROW:
    below = " + ".join(f"`{term.name}`" for term in ratio.denominator) or "seconds"
    formula = f"{' + '.join(f'`{term.name}`' for term in ratio.numerator)} ∕ {below}"
    formula += f" × {ratio.scale:g}" * (ratio.scale != 1) + f" + {ratio.offset:g}" * (ratio.offset != 0)
    window = f"{ratio.window_s:g} s" if ratio.window_s else "instant"
    labels = ", ".join(ratio.by)
    text = ratio.help + _formerly(ratio)
    return f"`{ratio.name}`", ratio.scope.value, labels, formula, window, _limits(ratio.limits), text


def _limits(limits: Limits | None) -> str:
    if limits is None:
        return ""
    sign = "below" if limits.low else "from"
    return f"{sign} {limits.warning:g}" + (f", critical {limits.critical:g}" if limits.critical is not None else "")


def _formerly(metric: Metric | Ratio) -> str:
    return f" Formerly {', '.join(f'`{name}`' for name in metric.formerly)}." if metric.formerly else ""


PAGES: Mapping[str, Callable[[], str]] = {"docs/settings.md": settings_page, "docs/metrics.md": metrics_page}


def stale() -> list[str]:
    """Pages whose text in the tree is not what the tables say."""
    return [name for name, page in PAGES.items() if not (ROOT / name).exists() or (ROOT / name).read_text() != page()]


def main(arguments: list[str]) -> int:
    outdated = stale()
    for name in outdated:
        if "--check" in arguments:
            print(f"{name} is not what the tables say; run `make docs`", file=sys.stderr)
        else:
            (ROOT / name).write_text(PAGES[name]())
            print(f"wrote {name}")
    return int(bool(outdated) and "--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
