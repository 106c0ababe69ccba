// What rules say and people wrote on the live plots: dashed lines where rules begin to hold, grounds while an alert fired
// that read what a plot shows, a bar on the time axis while any of the cluster, its nodes or engines fired, and
// annotations. On a canvas above the plots, because a shape of Plotly's would cost a layout on every redraw.

import { firedOn } from "../explore/limits.js";
import { Rules } from "../explore/rules.js";
import { element, fitCanvas } from "./dom.js";
import { drawNotes, Notes } from "./notes.js";
import { instant } from "./paint.js";
import { colour } from "./theme.js";

const AGAIN_MS = 120000, BAR_PX = 3, FONT = "11px system-ui, sans-serif", LABEL_PX = 12;
const COLOURS = { critical: "critical", warning: "warning" };
const paint = (severity) => colour(COLOURS[severity] ?? "dim");

// [from, to] in pixels of an alert between the ends of an axis, null where it lies outside.
export function reachOf({ fired, ended }, [start, end], left, wide) {
  const x = (at) => left + ((at - start) / (end - start)) * wide, until = ended ?? end;
  if (until < start || fired > end) return null;
  const from = Math.max(x(fired), left);
  return [from, Math.max(Math.min(x(until), left + wide), from + 1)];
}

// What the monitor says of itself alone: no plot has to do with it.
const OWN = new Set(["channel_failing", "store_fill_ratio"]);

// Whether an alert is about the cluster, its nodes or its engines.
export function concerns({ values }) {
  return !values.length || values.some(({ metric }) => !OWN.has(metric));
}

export class Fired {
  // box: the place of the plots.
  constructor(box) {
    this.rules = new Rules();
    this.notes = new Notes();
    this.canvas = element("canvas", "fired");
    this.canvas.setAttribute("aria-hidden", "true");
    box.append(this.canvas);
    this.told = "";
    this.at = -Infinity;
    this.bare = true;
  }

  close() {
    this.closed = true;
    this.canvas.remove();
  }

  // Ask again when what fires has changed, and now and then. graph: of the plots, as it is then.
  async look(message, span, graph) {
    const told = JSON.stringify(message.alerts ?? null), due = performance.now() - this.at > AGAIN_MS;
    if (message.tick !== null) this.notes.look().then((some) => some && !this.closed && graph() && this.draw(graph()));
    if (message.tick === null || (told === this.told && !due)) return;
    Object.assign(this, { told, at: performance.now() });
    const watched = graph()?.layout.meta.watched ?? [];
    if (!watched.length) return void (this.at = -Infinity);
    const changed = await this.rules.load(watched.flatMap((plot) => plot.metrics), [message.tick - span, message.tick], true);
    if (changed && !this.closed && graph()) this.draw(graph());
  }

  draw(graph) {
    const { alerts, limits } = this.rules, drawn = graph._fullLayout, none = !alerts.length && !Object.keys(limits).length && !this.notes.all.length;
    if (!drawn?._size || (none && this.bare)) return;
    const context = fitCanvas(this.canvas, drawn);
    if (!context) return;
    this.bare = none;
    context.clearRect(0, 0, drawn.width, drawn.height);
    const { l, w } = drawn._size, span = drawn.xaxis.range.map(instant);
    for (const plot of graph.layout.meta.watched) this.plot(context, plot, drawn[plot.axis], { span, l, w });
    const base = drawn.yaxis4._offset + drawn.yaxis4._length;
    this.fill(context, alerts.filter(concerns), { span, l, w, top: base, tall: BAR_PX, strength: 0.9 });
    const plots = graph.layout.meta.watched.map(({ axis }) => [drawn[axis]._offset, drawn[axis]._length]).sort(([a], [b]) => a - b);
    drawNotes(context, this.notes.all, { span, l, w, plots }, colour);
    context.globalAlpha = 1;
  }

  // Alerts of one severity as one area, so that two at once are no darker; the gravest on top.
  fill(context, alerts, { span, l, w, top, tall, strength }) {
    for (const severity of ["info", "warning", "critical"]) {
      const found = alerts.filter((alert) => alert.severity === severity).map((alert) => reachOf(alert, span, l, w)).filter(Boolean);
      context.fillStyle = paint(severity);
      context.globalAlpha = strength;
      context.beginPath();
      for (const [from, to] of found) context.rect(from, top, to - from, tall);
      context.fill();
    }
  }

  plot(context, { metrics, scale }, axis, { span, l, w }) {
    const fired = metrics.flatMap((metric) => firedOn(this.rules.alerts, metric, null));
    this.fill(context, fired, { span, l, w, top: axis._offset, tall: axis._length, strength: 0.07 });
    this.lines(context, metrics.flatMap((metric) => this.rules.limits[metric] ?? []), axis, { scale, l, w });
  }

  lines(context, limits, axis, { scale, l, w }) {
    const [low, high] = axis.range;
    context.font = FONT;
    context.textAlign = "right";
    context.setLineDash([5, 3]);
    context.lineWidth = 1;
    for (const { value, title, severity, side } of limits) {
      const share = (value * scale - low) / (high - low), y = Math.round(axis._offset + (1 - share) * axis._length) + 0.5;
      if (share < 0 || share > 1) continue;
      context.globalAlpha = 0.8;
      context.strokeStyle = context.fillStyle = paint(severity);
      context.beginPath();
      context.moveTo(l, y);
      context.lineTo(l + w, y);
      context.stroke();
      context.fillText(title, l + w - 4, side === "below" ? y + LABEL_PX : y - 4);
    }
    context.setLineDash([]);
  }
}
