// Everything of a timeline that stands still: axes, lines, prefills, phases, and the map of the nodes.

import { drawLines, tickText } from "../explore/draw.js";
import { drawLimitLines } from "../explore/limits.js";
import { gapOf } from "../explore/lines.js";
import { ticks } from "../explore/time.js";
import { AXIS } from "./lanes.js";
import { drawPrefills, drawRight } from "./prefills.js";
import { upright } from "./scales.js";

export const PHASES = { decoding: "decode", prefilling: "prefill", stalled: "critical", loading: "series-4", asleep: "series-5", idle: "line", stopped: "dim", unknown: "sunken" };
const ALERTS = { critical: "critical", warning: "warning" };
const FONT = "12px ";

// scene: {context, layout, left, right, wide, place, span, answer, data, paint, font, size, view}.
export function drawStill(scene) {
  const { context, size, layout } = scene;
  context.clearRect(0, 0, size.width, size.height);
  context.font = FONT + scene.font;
  context.textBaseline = "middle";
  drawTime(scene);
  drawAlerts(scene);
  for (const lane of layout.lanes) {
    drawTitle(scene, lane);
    if (lane.key === "overview") drawOverview(scene, lane);
    else if (lane.key === "phases") drawPhases(scene, lane);
    else drawLane(scene, lane, scene.data.get(lane.key));
  }
  drawMap(scene);
}

function drawTime({ context, layout, left, wide, place, span, paint, size }) {
  const found = ticks(span, wide, 96);
  context.lineWidth = 1;
  context.strokeStyle = paint("grid");
  context.beginPath();
  for (const { t } of found) {
    const x = Math.round(place.x(t)) + 0.5;
    context.moveTo(x, AXIS - 2);
    context.lineTo(x, layout.bottom);
  }
  context.stroke();
  context.fillStyle = paint("dim");
  context.textAlign = "left";
  for (const { t, label } of found) {
    const half = context.measureText(label).width / 2, x = Math.min(Math.max(place.x(t) - half, left), size.width - 2 * half);
    context.fillText(label, x, layout.bottom + AXIS / 2);
  }
}

// When alerts fired: a pale ground behind all lanes, once however many there were, and a bar below the marks; the gravest
// on top.
function drawAlerts({ context, layout, left, wide, place, span, answer, paint }) {
  for (const severity of ["info", "warning", "critical"]) {
    const found = answer.marks.filter((one) => one.kind === "alert" && one.severity === severity);
    const reach = found.map((one) => [Math.max(place.x(one.t), left), Math.min(place.x(one.end ?? span[1]), left + wide)]);
    const shown = reach.filter(([from, to]) => to >= left && from <= left + wide);
    context.fillStyle = paint(ALERTS[severity] ?? "dim");
    for (const [top, tall, strength] of [[AXIS, layout.bottom - AXIS, 0.06], [AXIS - 3, 3, 0.9]]) {
      context.globalAlpha = strength;
      context.beginPath();
      for (const [from, to] of shown) context.rect(from, top, Math.max(to - from, 1), tall);
      context.fill();
    }
  }
  context.globalAlpha = 1;
}

function drawTitle({ context, paint }, lane) {
  context.textAlign = "left";
  context.fillStyle = paint("text");
  const narrow = lane.height < 20;
  context.fillText(lane.title, 0, narrow ? lane.top + lane.height / 2 : lane.top + 7);
}

function clipped(context, [x, y, width, height], draw) {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  draw();
  context.restore();
}

function drawLane(scene, lane, { lines, axis, bin, prefill, limits }) {
  const { context, left, wide, place, span, paint } = scene, y = upright(axis, lane.top, lane.height);
  drawGrid(scene, lane, axis, y);
  if (lines.length === 0 && !prefill) return drawNothing(scene, lane);
  clipped(context, [left, lane.top - 2, wide, lane.height + 4], () => {
    if (prefill) drawPrefills(scene, lane, prefill);
    for (const line of lines) drawLines(context, { lines: [line], span, width: line.bin ?? bin, place: { x: place.x, y }, paint });
    drawLimitLines(context, { limits, axis, paint, left, right: left + wide }, y);
    context.textBaseline = "middle";
  });
  if (prefill) drawRight(scene, lane, prefill);
  drawNames(scene, lane, lines);
}

function drawNothing({ context, left, wide, paint }, lane) {
  context.fillStyle = paint("dim");
  context.textAlign = "center";
  context.fillText("not known in this stretch", left + wide / 2, lane.top + lane.height / 2);
}

function drawGrid({ context, left, wide, paint }, lane, axis, y) {
  context.strokeStyle = paint("grid");
  context.fillStyle = paint("dim");
  context.textAlign = "right";
  context.beginPath();
  const few = lane.height < 90, values = [];
  for (let value = axis.low; value <= axis.high + axis.step / 2; value += axis.step) values.push(value);
  values.forEach((value, at) => {
    const line = Math.round(y(value / axis.scale)) + 0.5;
    context.moveTo(left, line);
    context.lineTo(left + wide, line);
    if (!few || at === 0 || at === values.length - 1) context.fillText(tickText(value, axis.step), left - 6, line);
  });
  context.stroke();
  context.textAlign = "left";
  if (axis.unit) context.fillText(axis.unit, 0, lane.top + 22);
}

// Of a lane with several lines, their names in their colours.
function drawNames({ context, paint }, lane, lines) {
  if (lines.length < 2) return;
  context.textAlign = "left";
  lines.forEach((line, at) => {
    context.fillStyle = paint(line.colour);
    context.fillText(line.name, 0, lane.top + 24 + at * 15);
  });
}

function drawPhases({ context, left, wide, place, answer, paint }, lane) {
  clipped(context, [left, lane.top, wide, lane.height], () => {
    context.fillStyle = paint("sunken");
    context.fillRect(left, lane.top, wide, lane.height);
    for (const [from, to, phase] of answer.phases) {
      context.fillStyle = paint(PHASES[phase] ?? "sunken");
      context.fillRect(place.x(from), lane.top, Math.max(place.x(to) - place.x(from), 1), lane.height);
    }
  });
}

function drawOverview({ context, left, wide, answer, paint, overview, span }, lane) {
  const { lines, axis, place, run } = overview, y = upright(axis, lane.top, lane.height);
  context.fillStyle = paint("sunken");
  context.fillRect(left, lane.top, wide, lane.height);
  const [from, to] = span.map(place.x);
  context.fillStyle = paint("accent");
  context.globalAlpha = 0.22;
  context.fillRect(from, lane.top, Math.max(to - from, 2), lane.height);
  context.globalAlpha = 1;
  const bare = lines.map((line) => ({ ...line, low: null }));
  clipped(context, [left, lane.top, wide, lane.height], () => drawLines(context, { lines: bare, span: run, width: answer.overview.step_ms, place: { x: place.x, y }, paint }));
  context.strokeStyle = paint("accent");
  context.strokeRect(Math.round(from) + 0.5, lane.top + 0.5, Math.max(Math.round(to - from), 2), lane.height - 1);
}

function drawMap(scene) {
  const { context, layout, left, wide, place, answer, paint, ramp, pixels } = scene, { map } = answer, { top, row, height } = layout.map;
  if (!map.t.length) return void drawNothing(scene, layout.map);
  const first = map.t[0], columns = Math.round((map.t.at(-1) - first) / map.step_ms) + 1;
  pixels.width = columns;
  pixels.height = map.nodes.length;
  const ink = pixels.getContext("2d"), at = map.t.map((t) => Math.round((t - first) / map.step_ms));
  map.v.forEach((values, node) => paintRow(ink, values, node, at, ramp, gapOf(map.t, values, map.step_ms) / map.step_ms));
  context.imageSmoothingEnabled = false;
  clipped(context, [left, top, wide, height], () => {
    const x = place.x(first);
    context.drawImage(pixels, x, top, place.x(first + columns * map.step_ms) - x, height);
  });
  context.fillStyle = paint("panel");
  if (row >= 8) for (let node = 1; node < map.nodes.length; node++) context.fillRect(left, top + node * row - 1, wide, 1);
}

// One node's values, each as wide as its time: up to the next one where no gap lies between.
function paintRow(ink, values, node, at, ramp, gap) {
  let last = -1;
  const put = (index, wide) => {
    ink.fillStyle = ramp.colour(values[index]);
    ink.fillRect(at[index], node, wide, 1);
  };
  values.forEach((value, index) => {
    if (value === null) return;
    if (last >= 0) put(last, at[index] - at[last] <= gap ? at[index] - at[last] : 1);
    last = index;
  });
  if (last >= 0) put(last, 1);
}
