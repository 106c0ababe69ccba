// One chart on a canvas: grid, limits, bands from least to most, lines, and the same stretch earlier as dashes.
//
// Plotly's SVG takes about 2 ms per line of 300 points; four charts of 16 lines of 700 points take a few milliseconds
// each here.

import { limits } from "../live/scale.js";
import { grounds, MANY } from "./bands.js";
import { axisUnit } from "./format.js";
import { drawFired, drawLimits } from "./limits.js";
import { reach } from "./lines.js";
import { BOTTOM, LEFT, RIGHT, TOP } from "./margins.js";

// A value axis has so many steps or fewer; more where they are as far apart as this.
const LEAST_STEPS = 4, STEP_PX = 64;
const FROM_ANY = { celsius: 10, hertz: 4e8 };
const COUNTED = new Set(["count", "requests", "state", "tokens"]);
const DASHES = [[], [5, 3], [1.5, 2.5], [8, 3, 1.5, 3]];

// {low, high, step, scale, unit}: the value axis of these lines in the unit that suits them, on a plot of this height.
export function valueAxis(lines, span, width, unit, fit, height = 0) {
  const found = reach(lines, span, width) ?? [0, 0], any = fit ? 0 : FROM_ANY[unit];
  const { unit: word, scale } = axisUnit(Math.max(Math.abs(found[0]), Math.abs(found[1])), unit);
  const largest = Math.max(Math.abs(found[0]), Math.abs(found[1])) * scale;
  const free = any !== undefined, least = fit ? largest * 1e-6 || 1 : any ? any * scale : largest > 0 ? 0 : 1;
  const [low, high, step] = limits(found.map((value) => value * scale), !free, least, Math.max(LEAST_STEPS, Math.floor(height / STEP_PX)));
  if (step < 1 && COUNTED.has(unit) && lines.every(whole)) return { low: Math.floor(low), high: Math.max(Math.ceil(high), Math.floor(low) + 1), step: 1, scale, unit: word };
  return { low, high, step, scale, unit: word };
}

// What is counted in ones has no quarters on its axis.
function whole({ mid, low, high }) {
  return [mid, low, high].every((values) => !values || values.every((value) => value === null || Number.isInteger(value)));
}

export function tickText(value, step) {
  let decimals = 0;
  while (decimals < 6 && Math.abs(step * 10 ** decimals - Math.round(step * 10 ** decimals)) > 1e-6) decimals += 1;
  return value.toFixed(decimals).replace("-", "−");
}

// Place of a value and an instant on a canvas of this size.
export function placer({ width, height }, [start, end], axis) {
  const wide = width - LEFT - RIGHT, tall = height - TOP - BOTTOM;
  return {
    x: (instant) => LEFT + ((instant - start) / (end - start)) * wide,
    y: (value) => TOP + (1 - (value * axis.scale - axis.low) / (axis.high - axis.low)) * tall,
    instant: (x) => start + ((x - LEFT) / wide) * (end - start),
  };
}

function grid(context, size, axis, ticks, place, paint, labelled) {
  context.lineWidth = 1;
  context.strokeStyle = paint("grid");
  context.fillStyle = paint("dim");
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.beginPath();
  for (let value = axis.low; value <= axis.high + axis.step / 2; value += axis.step) {
    const y = Math.round(place.y(value / axis.scale)) + 0.5;
    context.moveTo(LEFT, y);
    context.lineTo(size.width - RIGHT, y);
    if (labelled) context.fillText(tickText(value, axis.step), LEFT - 6, Math.max(y, 7));
  }
  for (const { t } of ticks) {
    const x = Math.round(place.x(t)) + 0.5;
    context.moveTo(x, TOP);
    context.lineTo(x, size.height - BOTTOM);
  }
  context.stroke();
}

// Runs of samples that no gap divides: [[from, to], …], from and to included; only what touches the span.
export function runs(line, [start, end], width) {
  const found = [];
  let from = -1, last = -1;
  const close = () => from >= 0 && (found.push([from, last]), (from = -1));
  for (let index = 0; index < line.t.length; index++) {
    if (line.mid[index] === null) continue;
    const t = line.t[index];
    if (t < start - line.gap - width) continue;
    if (from >= 0 && t - line.t[last] > line.gap) close();
    if (from < 0) from = index;
    last = index;
    if (t > end) break;
  }
  close();
  return found;
}

// The points of a line over a run. Bins stand as steps, each as long as it lasts: a slope between two would say what
// nobody measured. Samples are joined.
export function path(line, [from, to], width) {
  const found = [];
  for (let index = from; index <= to; index++) {
    const value = line.mid[index], t = line.t[index];
    if (value === null) continue;
    if (width && found.length) found.push([t, found.at(-1)[1]]);
    found.push([t, value]);
    if (width && index === to) found.push([t + width, value]);
  }
  return found;
}

function stroke(context, line, parts, { place, shift, width }) {
  context.beginPath();
  for (const run of parts) {
    const [[t, value], ...others] = path(line, run, width), x = place.x(t + shift), y = place.y(value);
    context.moveTo(x, y);
    if (!others.length) context.rect(x - 0.75, y - 0.75, 1.5, 1.5);
    for (const [at, next] of others) context.lineTo(place.x(at + shift), place.y(next));
  }
  context.stroke();
}

// Draw lines whose samples stand `shift` later than they were; strong(line): which are the only ones that are not pale.
export function drawLines(context, { lines, span, width, place, paint, shift = 0, earlier = false, strong = null, far = null }) {
  const moved = [span[0] - shift, span[1] - shift], many = lines.length > MANY;
  const how = { place, shift, width };
  const parts = lines.map((line) => runs(line, moved, width));
  if (!earlier) grounds(context, lines, parts, { ...how, paint, strong });
  context.lineJoin = "round";
  const order = [...lines.keys()].sort((one, other) => Number(far?.has(lines[one].name) ?? 0) - Number(far?.has(lines[other].name) ?? 0));
  order.forEach((at) => {
    const line = lines[at];
    const bold = strong?.(line), pale = strong && !bold;
    context.globalAlpha = (earlier ? 0.55 : 1) * (pale ? 0.18 : 1);
    context.lineWidth = bold ? 2.2 : far?.has(line.name) ? 1.9 : many ? 1.1 : 1.5;
    context.setLineDash(earlier ? [3, 3] : DASHES[line.dash]);
    context.strokeStyle = context.fillStyle = paint(line.colour);
    stroke(context, line, parts[at], how);
  });
  context.setLineDash([]);
  context.globalAlpha = 1;
}

// Hatched, where samples are damaged in the store: no line means something else there than that nothing was read.
function drawHoles(context, { holes, size, paint }, place) {
  context.strokeStyle = paint("critical");
  context.globalAlpha = 0.35;
  context.lineWidth = 1;
  for (const { from, to } of holes) {
    const left = place.x(from), right = place.x(to), tall = size.height - BOTTOM;
    context.save();
    context.beginPath();
    context.rect(left, TOP, right - left, tall - TOP);
    context.clip();
    context.beginPath();
    for (let x = left - tall; x < right; x += 8) {
      context.moveTo(x, tall);
      context.lineTo(x + tall, 0);
    }
    context.stroke();
    context.restore();
  }
  context.globalAlpha = 1;
}

// Everything of one chart. scene: {size, lines, far, earlier, shift, span, width, axis, ticks, paint, strong, notes, holes,
// limits, fired, now, font}.
export function drawChart(context, scene) {
  const { size, span, axis, paint } = scene, place = placer(size, span, axis);
  context.clearRect(0, 0, size.width, size.height);
  context.font = scene.font;
  grid(context, size, axis, scene.ticks, place, paint, scene.lines.length > 0);
  context.save();
  context.beginPath();
  context.rect(LEFT, 0, size.width - LEFT - RIGHT, size.height);
  context.clip();
  drawFired(context, scene, place);
  drawNotes(context, scene, place);
  drawHoles(context, scene, place);
  const common = { span, width: scene.width, place, paint };
  if (scene.earlier.length) drawLines(context, { ...common, lines: scene.earlier, shift: scene.shift, earlier: true, strong: scene.strong });
  drawLines(context, { ...common, lines: scene.lines, strong: scene.strong, far: scene.far });
  if (scene.lines.length) drawLimits(context, scene, place);
  context.restore();
}

// Annotations as lines and grounds behind the data; what the store tells is on the strip above.
function drawNotes(context, { size, notes, paint }, place) {
  for (const note of notes) {
    const from = place.x(note.t), to = note.end ? place.x(note.end) : from;
    context.globalAlpha = 0.12;
    context.fillStyle = paint("accent");
    if (note.end) context.fillRect(from, TOP, Math.max(to - from, 1), size.height - TOP - BOTTOM);
    context.globalAlpha = 0.8;
    context.fillRect(Math.round(from), TOP, 1, size.height - TOP - BOTTOM);
    context.globalAlpha = 1;
  }
}
