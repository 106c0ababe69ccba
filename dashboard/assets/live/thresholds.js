// Values at which rules begin to hold, as lines of Plotly charts.

import { applying, firedOn } from "../explore/limits.js";
import { places } from "../explore/names.js";
import { Notes, noteShapes } from "./notes.js";
import { stamp } from "./paint.js";
import { colour } from "./theme.js";

const MOST = 200, PLOT_PX = 130;

const COLOURS = { critical: "critical", warning: "warning" };

// Shapes of a chart's limits on a value axis that shows range, height pixels high; scale: from the base unit to the axis.
// A name that would stand on another one is left out. Of a chart that is not drawn yet the usual height holds.
export function shapes(limits, [low, high], scale, ink, height = PLOT_PX) {
  const shown = limits.map((limit) => ({ ...limit, at: limit.value * scale })).filter(({ at }) => at >= low && at <= high);
  const stand = places(shown.map((limit) => ({ ...limit, y: ((high - limit.at) / (high - low)) * height })), height);
  return stand.map(({ at, title, severity, above, named, hue = COLOURS[severity] ?? "dim" }) => ({
    type: "line", xref: "paper", x0: 0, x1: 1, yref: "y", y0: at, y1: at, layer: "above",
    line: { color: ink(hue), width: 1, dash: "dash" },
    label: { text: named ? title : "", textposition: "end", yanchor: above ? "bottom" : "top", font: { size: 11, color: ink(hue) } },
  }));
}

// Limits of a chart's lines [{metric, labels, hue}]; one that is about a single line of several has its colour.
export function limitsOfLines(limits, lines) {
  return [...new Set(lines.map((line) => line.metric))].flatMap((metric) =>
    applying(limits[metric] ?? [], lines.filter((line) => line.metric === metric), lines)).map(({ own, ...limit }) =>
    own.length === 1 && lines.length > 1 ? { ...limit, hue: own[0].hue } : limit);
}

const FIRED = 0.07;

// Grounds of Plotly charts while alerts fired; end: of what is drawn, where one goes on.
export function grounds(alerts, end, ink) {
  return alerts.map(({ fired, ended, severity }) => ({
    type: "rect", xref: "x", x0: stamp(fired), x1: stamp(ended ?? end), yref: "paper", y0: 0, y1: 1, layer: "below",
    line: { width: 0 }, fillcolor: ink(COLOURS[severity] ?? "dim"), opacity: FIRED,
  }));
}

export class Thresholds {
  // node: whose charts they are; changed: called when limits or alerts have come.
  constructor(charts, node, changed) {
    Object.assign(this, { node, changed, limits: {}, alerts: [], charts, notes: new Notes() });
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

  // Alerts of the node that fired for some of a stretch.
  async look([start, end]) {
    this.notes.look().then((some) => some && this.changed());
    const query = new URLSearchParams({ node: this.node, start: Math.floor(start), end: Math.ceil(end), limit: MOST });
    try {
      const answer = await fetch("/api/v1/alerts?" + query, { cache: "no-store" });
      if (!answer.ok) return;
      const { alerts } = await answer.json(), before = JSON.stringify(this.alerts);
      this.alerts = alerts.filter((alert) => alert.state !== "inhibited").map(({ fired, ended, severity, values, key }) => ({ fired, ended, severity, values, key }));
      if (JSON.stringify(this.alerts) !== before) this.changed();
    } catch {
      // The server is away: the header says so, and what is drawn stays.
    }
  }

  // Limits of all its lines, when alerts fired that read one of them, and annotations, for the theme that holds.
  // lines: as of limitsOfLines; span: what is drawn.
  of(chart, lines, span) {
    const metrics = [...new Set(chart.lines.map((line) => line.metric))], range = chart.graph.layout.yaxis.range;
    const fired = new Set(metrics.flatMap((metric) => firedOn(this.alerts, metric, null)));
    const limits = range ? shapes(limitsOfLines(this.limits, lines), range, chart.scale, colour, chart.graph._fullLayout?._size?.h) : [];
    return [...grounds([...fired], span[1], colour), ...noteShapes(this.notes.all, span, colour, chart === this.charts[0]), ...limits];
  }
}
