// What rules say of a chart: the values at which they begin to hold, as lines, and when they fired, as pale grounds.

import { BOTTOM, LEFT, RIGHT, TOP } from "./margins.js";
import { places } from "./names.js";

const MARK_PX = 3;
// "" is from when on it was wrong, before it fired.
const SEVERITIES = ["", "info", "warning", "critical"];
const COLOURS = { critical: "critical", warning: "warning" };

// Limits that stand on this axis, each with where its line is, and its name where there is room for it.
export function placed(limits, axis, y) {
  const shown = limits.filter(({ value }) => value * axis.scale >= axis.low && value * axis.scale <= axis.high);
  return places(shown.map((limit) => ({ ...limit, y: Math.round(y(limit.value)) + 0.5 })), y(axis.low / axis.scale));
}

// Alerts that read a metric and are about what the chart shows; targets: whom its lines are of, null for all.
export function firedOn(alerts, metric, targets) {
  return alerts.filter((alert) => alert.values.some((value) => value.metric === metric) && (!targets || !alert.key.length || targets.has(alert.key[0])));
}

// Limits that are about some of these lines, with those as `own`; whose they are is said where others stand beside them.
export function applying(limits, lines, beside = lines) {
  return limits.flatMap((limit) => {
    const labels = Object.entries(limit.labels ?? {}), own = lines.filter((line) => labels.every(([name, texts]) => texts.includes(line.labels[name])));
    const whose = own.length < beside.length ? [...new Set(own.flatMap((line) => labels.map(([name]) => line.labels[name])))] : [];
    return own.length ? [{ ...limit, own, title: limit.title + (whose.length ? ` (${whose.join(", ").replaceAll("_", " ")})` : "") }] : [];
  });
}

// Limits are of the metric's own values, not of a sum of them, a rate or a percentile.
export function limitsOf(chart) {
  const { explorer, metric } = chart, own = !explorer.view.total && metric.kind !== "counter" && metric.kind !== "histogram";
  return own ? applying(explorer.rules.limits[metric.name] ?? [], chart.shown()) : [];
}

export function firedOf(chart) {
  const targets = chart.shown().map((line) => line.labels.target), { alerts } = chart.explorer.rules;
  return firedOn(alerts, chart.metric.name, targets.every(Boolean) ? new Set(targets) : null);
}

// Alerts of one severity as one area, so that many at once are no darker; the gravest on top.
export function drawFired(context, { fired, size, now, paint }, place) {
  for (const severity of SEVERITIES) {
    const spans = fired.filter((alert) => alert.severity === severity).map(({ fired: since, ended }) => [place.x(since), place.x(ended ?? now)]);
    if (!spans.length) continue;
    context.fillStyle = paint(COLOURS[severity] ?? "dim");
    for (const [top, tall, strength] of [[TOP, size.height - TOP - BOTTOM, 0.05], [TOP - MARK_PX, MARK_PX, 0.8]]) {
      context.globalAlpha = strength;
      context.beginPath();
      for (const [from, to] of spans) context.rect(from, top, Math.max(to - from, 1), tall);
      context.fill();
    }
  }
  context.globalAlpha = 1;
}

export function drawLimits(context, { limits, size, axis, paint }, place) {
  drawLimitLines(context, { limits, axis, paint, left: LEFT, right: size.width - RIGHT }, place.y);
}

// Between left and right; y: place of a value.
export function drawLimitLines(context, { limits, axis, paint, left, right }, y) {
  context.lineWidth = 1;
  context.textAlign = "right";
  for (const { y: at, title, above, severity, named } of placed(limits, axis, y)) {
    context.strokeStyle = context.fillStyle = paint(COLOURS[severity] ?? "dim");
    context.globalAlpha = 0.7;
    context.setLineDash([6, 3]);
    context.beginPath();
    context.moveTo(left, at);
    context.lineTo(right, at);
    context.stroke();
    context.globalAlpha = 1;
    if (!named) continue;
    context.textBaseline = above ? "bottom" : "top";
    context.fillText(title, right - 4, above ? at - 1 : at + 1);
  }
  context.setLineDash([]);
}
