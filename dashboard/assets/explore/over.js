// What moves above a chart: the crosshair with a dot on every line, and the stretch that is being chosen.

import { paint } from "./colours.js";
import { drawLines, placer } from "./draw.js";
import { at } from "./lines.js";

function drawBrush(context, brush, place, height) {
  const [from, to] = brush.map(place.x);
  context.fillStyle = paint("accent");
  context.globalAlpha = 0.16;
  context.fillRect(Math.min(from, to), 0, Math.abs(to - from), height);
  context.globalAlpha = 1;
}

export function drawOver(context, chart) {
  const { cursor, brush, span } = chart.explorer, { size, bin, near } = chart, place = placer(size, span, chart.axis);
  context.clearRect(0, 0, size.width, size.height);
  if (brush) drawBrush(context, brush, place, size.height);
  if (cursor === null || cursor < span[0] || cursor > span[1]) return;
  if (near) drawLines(context, { lines: [{ ...near, low: null }], span, width: bin, place, paint, strong: () => true });
  context.fillStyle = paint("text");
  context.globalAlpha = 0.6;
  context.fillRect(Math.round(place.x(cursor)), 0, 1, size.height);
  context.globalAlpha = 1;
  for (const line of chart.shown()) {
    const index = at(line, cursor, bin);
    if (index < 0) continue;
    context.fillStyle = paint(line.colour);
    context.beginPath();
    context.arc(place.x(line.t[index] + bin / 2), place.y(line.mid[index]), line === near ? 4 : 2.5, 0, 7);
    context.fill();
  }
}
