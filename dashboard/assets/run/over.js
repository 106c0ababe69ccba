// What moves above a timeline: the cursor, the stretch that is being chosen, the moment that was picked.

import { at } from "../explore/lines.js";
import { AXIS } from "./lanes.js";
import { upright } from "./scales.js";

export function drawMoving(scene, { cursor, brush, moment, row, picked }) {
  const { context, size, layout, left, wide, place, paint, span } = scene;
  context.clearRect(0, 0, size.width, size.height);
  const high = layout.bottom - AXIS;
  if (brush) {
    const area = brush.overview ? scene.layout.lanes[0] : { top: AXIS, height: high }, x = (brush.overview ? scene.overview.place : place).x;
    const [from, to] = [brush.from, brush.to].map(x);
    context.fillStyle = paint("accent");
    context.globalAlpha = 0.18;
    context.fillRect(Math.min(from, to), area.top, Math.abs(to - from), area.height);
    context.globalAlpha = 1;
  }
  [picked, row].forEach((node, hovered) => node >= 0 && outline(context, layout.map, node, left, wide, paint(hovered ? "dim" : "accent")));
  if (moment !== null && moment >= span[0] && moment <= span[1]) line(context, place.x(moment), high, paint("accent"), [4, 3]);
  if (cursor === null || cursor < span[0] || cursor > span[1]) return;
  line(context, place.x(cursor), high, paint("text"), []);
  for (const lane of layout.lanes) {
    const data = scene.data.get(lane.key);
    if (data) dots(context, data, upright(data.axis, lane.top, lane.height), place, cursor, paint);
  }
}

function outline(context, { top, row }, node, left, wide, colour) {
  context.strokeStyle = colour;
  context.lineWidth = 1.5;
  context.strokeRect(left + 0.5, top + node * row - 0.5, wide - 1, row);
}

function line(context, x, high, colour, dash) {
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.setLineDash(dash);
  context.beginPath();
  context.moveTo(Math.round(x) + 0.5, AXIS);
  context.lineTo(Math.round(x) + 0.5, AXIS + high);
  context.stroke();
  context.setLineDash([]);
}

function dots(context, { lines }, y, place, cursor, paint) {
  for (const one of lines) {
    const index = at(one, cursor, one.bin);
    if (index < 0) continue;
    context.fillStyle = paint(one.colour);
    context.beginPath();
    context.arc(place.x(one.t[index] + one.bin / 2), y(one.mid[index]), 2.5, 0, 7);
    context.fill();
  }
}
