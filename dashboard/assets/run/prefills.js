// Finished prefills on their lane, as long and as high as they were, and the axis that they have of their own.

import { tickText } from "../explore/draw.js";

export function drawPrefills({ context, place, paint }, lane, { found, y }) {
  for (const one of found) {
    const x = place.x(one.from), wide = Math.max(place.x(one.to) - x, 1.5), top = one.speed === null ? lane.top : y(one.speed);
    context.fillStyle = paint("prefill");
    context.globalAlpha = one.speed === null ? 0.12 : 0.3;
    context.fillRect(x, top, wide, lane.top + lane.height - top);
    context.globalAlpha = 1;
    if (one.speed !== null) context.fillRect(x, top - 1, wide, 2);
  }
}

export function drawRight({ context, left, wide, right, paint }, lane, { axis, y }) {
  if (right < 40 || !axis) return;
  context.fillStyle = paint("prefill");
  context.textAlign = "left";
  for (let value = axis.low; value <= axis.high + axis.step / 2; value += axis.step)
    context.fillText(tickText(value, axis.step), left + wide + 6, Math.round(y(value / axis.scale)));
  context.fillText("Prefill", 0, lane.top + 42);
  context.fillText(axis.unit, 0, lane.top + 57);
}
