// What lies between least and most of each bin, as bars on whole pixels: far cheaper than the area between two lines, and
// a spike of one bin keeps its place.

// More lines than these share one ground: that of each would be mud.
export const MANY = 8;
// How far, in usual spans (the median) and in pixels, a bin must reach beyond the line around it to stand out as a spike.
const SPIKE = 2, SPIKE_PX = 6, SPIKE_STRENGTH = 0.5;
const SHARED_STRENGTH = 0.12;

// The middle of a list of numbers, 0 of none.
export function median(numbers) {
  return numbers.length ? numbers.sort((a, b) => a - b)[numbers.length >> 1] : 0;
}

// How far a bin reaches beyond the line from the bin before it to the one after, in units of the axis.
export function beyond({ mid, low, high }, index) {
  let least = Infinity, most = -Infinity;
  for (let at = Math.max(index - 1, 0); at <= index + 1 && at < mid.length; at++) {
    if (mid[at] === null) continue;
    if (mid[at] < least) least = mid[at];
    if (mid[at] > most) most = mid[at];
  }
  return Math.max(high[index] - most, least - low[index]);
}

// Bars of a line: [[x, top, wide, tall, pixels that it reaches beyond the line]] in whole pixels.
function bars(line, parts, { place, shift, width }) {
  const found = [], pixel = place.y(0) - place.y(1);
  for (const [from, to] of parts) {
    for (let index = from; index <= to; index++) {
      if (line.low[index] === null || line.low[index] === line.high[index]) continue;
      const x = Math.round(place.x(line.t[index] + shift)), top = Math.round(place.y(line.high[index]));
      const wide = Math.round(place.x(line.t[index] + shift + width)) - x, tall = Math.round(place.y(line.low[index])) - top;
      found.push([x, top, Math.max(wide, 1), Math.max(tall, 1), beyond(line, index) * pixel]);
    }
  }
  return found;
}

// [usual bars, those that stand out].
export function told(found) {
  const usual = median(found.map((bar) => bar[3])), isSpike = (bar) => bar[4] > SPIKE_PX && bar[4] > usual * SPIKE;
  return [found.filter((bar) => !isSpike(bar)), found.filter(isSpike)];
}

// One bar per column of pixels over all lines, neighbours of one height as one.
export function envelope(all) {
  const [first, end] = all.reduce(([from, to], [x, , wide]) => [Math.min(from, x), Math.max(to, x + wide)], [Infinity, -Infinity]);
  const tops = new Float64Array(Math.max(end - first, 0)).fill(Infinity), bottoms = new Float64Array(tops.length).fill(-Infinity);
  for (const [x, top, wide, tall] of all) {
    for (let at = x - first; at < x - first + wide; at++) {
      if (top < tops[at]) tops[at] = top;
      if (top + tall > bottoms[at]) bottoms[at] = top + tall;
    }
  }
  const joined = [];
  for (let at = 0; at < tops.length; at++) {
    const last = joined.at(-1), tall = bottoms[at] - tops[at];
    if (tall < 0) continue;
    if (last && last[0] + last[2] === at + first && last[1] === tops[at] && last[3] === tall) last[2] += 1;
    else joined.push([at + first, tops[at], 1, tall]);
  }
  return joined;
}

function fill(context, found, colour, strength) {
  context.fillStyle = colour;
  context.globalAlpha = strength;
  for (const [x, top, wide, tall] of found) context.fillRect(x, top, wide, tall);
  context.globalAlpha = 1;
}

// Grounds below lines; strong(line): which are the only ones that have one.
export function grounds(context, lines, parts, { paint, strong, ...how }) {
  const spanned = lines.map((line, at) => [line, at]).filter(([line]) => line.low && line.high && (strong?.(line) ?? true));
  const each = spanned.map(([line, at]) => [line, bars(line, parts[at], how)]), many = each.length > MANY;
  if (many) fill(context, envelope(each.flatMap(([, found]) => found)), paint("dim"), SHARED_STRENGTH);
  for (const [line, found] of each) {
    const [usual, spikes] = told(found);
    if (!many) fill(context, usual, paint(line.colour), strong ? 0.25 : each.length > 2 ? 0.12 : 0.2);
    fill(context, spikes, paint(line.colour), SPIKE_STRENGTH);
  }
}
