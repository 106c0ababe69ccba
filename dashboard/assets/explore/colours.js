// Which line has which colour. It follows from the lines of the chart alone: the same nodes have the same colours in
// every chart of a view.

import { colour } from "../live/theme.js";

const STROKES = 4;

// Give every line its `colour` (one of these names of the theme's colours) and `dash` (which stroke): the colour by its
// target, the stroke by its place among the lines of that target, and where the colours have run out.
export function paintLines(lines, names) {
  const single = new Set(lines.map((line) => line.labels.target)).size < 2;
  const keys = [...new Set(lines.map((line) => (single ? line.name : line.labels.target)))].sort();
  const seen = new Map();
  for (const line of lines) {
    const key = single ? line.name : line.labels.target, place = keys.indexOf(key), among = seen.get(key) ?? 0;
    seen.set(key, among + 1);
    line.colour = names[place % names.length];
    line.dash = (Math.floor(place / names.length) + among) % STROKES;
  }
  return lines;
}

export const paint = (name) => colour(name);
