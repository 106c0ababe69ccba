// What rules say of a chart: the values at which they begin to hold, as lines, and when they fired, as pale grounds.

import { BOTTOM, LEFT, RIGHT, TOP } from "./margins.js";
import { places } from "./names.js";

const MARK_PX = 3;
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

// Limits are of the metric's own values, not of a sum of them, a rate or a percentile.
export function limitsOf({ explorer, metric }) {
  const own = !explorer.view.total && metric.kind !== "counter" && metric.kind !== "histogram";
  return (own && explorer.rules.limits[metric.name]) || [];
}

export function firedOf(chart) {
  const targets = chart.shown().map((line) => line.labels.target), { alerts } = chart.explorer.rules;
  return firedOn(alerts, chart.metric.name, targets.every(Boolean) ? new Set(targets) : null);
}

export function drawFired(context, { fired, size, now, paint }, place) {
  for (const alert of fired) {
    const from = place.x(alert.fired), to = Math.max(place.x(alert.ended ?? now), from + 1);
    context.fillStyle = paint(COLOURS[alert.severity] ?? "dim");
    context.globalAlpha = 0.05;
    context.fillRect(from, TOP, to - from, size.height - TOP - BOTTOM);
    context.globalAlpha = 0.8;
    context.fillRect(from, TOP - MARK_PX, to - from, MARK_PX);
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
