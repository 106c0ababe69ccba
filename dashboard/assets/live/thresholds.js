// Values at which rules begin to hold, as lines of Plotly charts.

import { colour } from "./theme.js";

const COLOURS = { critical: "critical", warning: "warning" };

// Shapes of a chart's limits on a value axis that shows range; scale: from the base unit to the axis.
export function shapes(limits, [low, high], scale, ink) {
  const shown = limits.map((limit) => ({ ...limit, at: limit.value * scale })).filter(({ at }) => at >= low && at <= high);
  return shown.map(({ at, title, severity, side }) => ({
    type: "line", xref: "paper", x0: 0, x1: 1, yref: "y", y0: at, y1: at, layer: "above",
    line: { color: ink(COLOURS[severity] ?? "dim"), width: 1, dash: "dash" },
    label: { text: title, textposition: "end", yanchor: side === "below" ? "top" : "bottom", font: { size: 11, color: ink(COLOURS[severity] ?? "dim") } },
  }));
}

export class Thresholds {
  // changed: called when limits have come.
  constructor(charts, changed) {
    this.limits = {};
    this.load([...new Set(charts.flatMap((chart) => chart.lines.map((line) => line.metric)))]).then((some) => some && changed());
  }

  async load(metrics) {
    try {
      const answer = await fetch("/api/v1/rules/limits?" + new URLSearchParams({ metric: metrics.join() }), { cache: "no-store" });
      if (answer.ok) this.limits = (await answer.json()).limits;
    } catch {
      return false; // the server is away: the header says so
    }
    return Object.keys(this.limits).length > 0;
  }

  // Those of all its lines, for the theme that holds.
  of(chart) {
    const metrics = new Set(chart.lines.map((line) => line.metric)), range = chart.graph.layout.yaxis.range;
    return range ? shapes([...metrics].flatMap((metric) => this.limits[metric] ?? []), range, chart.scale, colour) : [];
  }
}
