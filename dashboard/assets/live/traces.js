// Answers of /api/v1/series as Plotly's traces, drawn by the same rules as in Explore: bins stand as steps, what lies
// between least and most as a ground behind them, and nothing is drawn across a gap.

import { path, runs } from "../explore/draw.js";
import { stamp } from "./paint.js";
import { colour } from "./theme.js";

const COLOURS = ["decode", "prefill", "util", "text", "series-5", "series-6", "series-7", "dim"];
const PATTERNS = ["solid", "dot"], DASHED = "6px,6px";
const GROUND = 0.18;

// {x, y}: the points of several parts, nulls between them.
export function parted(parts) {
  const points = parts.flatMap((part, at) => (at ? [[part[0][0], null], ...part] : part));
  return { x: points.map(([t]) => stamp(t)), y: points.map(([, value]) => value) };
}

// The outline of what lies between least and most over a run: along the most, and back along the least.
export function outline(line, run, width) {
  const most = path({ ...line, mid: line.high }, run, width), least = path({ ...line, mid: line.low }, run, width);
  return [...most, ...least.reverse(), most[0]];
}

// Colour of the line at a place among those of its chart.
export const hueAt = (at) => COLOURS[at % COLOURS.length];

const scaled = ({ x, y }, scale) => ({ x, y: y.map((value) => value && value * scale) });

// Traces of one line (as `linesOf` has it): the ground of its bins, where they span something, and the line itself.
// at: its place among the lines of the chart; dashed: another line may lie below it; width: of bins, 0 of samples.
export function traces(line, { name, at, dashed = false, width, scale, unit }) {
  const all = runs(line, [-Infinity, Infinity], width), hue = hueAt(at);
  const common = { type: "scatter", mode: "lines", connectgaps: false, meta: { colour: hue } };
  const ground = line.low && {
    ...common, ...scaled(parted(all.map((run) => outline(line, run, width))), scale), fill: "toself", opacity: GROUND,
    fillcolor: colour(hue), line: { width: 0, color: colour(hue) }, hoverinfo: "skip", meta: { colour: hue, ground: true },
  };
  const own = {
    ...common, ...scaled(parted(all.map((run) => path(line, run, width))), scale), name,
    line: { width: 1.3, dash: dashed ? DASHED : PATTERNS[Math.floor(at / COLOURS.length) % PATTERNS.length], color: colour(hue) },
    hovertemplate: `%{y:.4~g} ${unit}`,
  };
  return ground ? [ground, own] : [own];
}
