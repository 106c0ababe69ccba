// The common time axis of several runs: milliseconds since the instant that they are aligned at. Pure.

const SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR;
const STEPS = [
  ...[1, 2, 5, 10, 15, 30].map((count) => count * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR),
  ...[1, 2, 5, 10, 30].map((count) => count * DAY),
];

// "−10 s", "5 min", "1 h 30 min": the two largest parts of an offset.
export function offsetText(ms) {
  const sign = ms < 0 ? "−" : "", size = Math.round(Math.abs(ms) / SECOND);
  const parts = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const first = parts.findIndex(([unit]) => size >= unit);
  if (first < 0) return "0";
  const [unit, word] = parts[first], whole = Math.floor(size / unit), next = parts[first + 1];
  const rest = next ? Math.floor((size - whole * unit) / next[0]) : 0;
  return `${sign}${whole} ${word}${rest ? ` ${rest} ${next[1]}` : ""}`;
}

// Offsets to mark between two others, with about `apart` pixels from one to the next.
export function offsets([from, to], wide, apart) {
  const least = ((to - from) / Math.max(wide, 1)) * apart;
  const step = STEPS.find((one) => one >= least) ?? STEPS.at(-1);
  const found = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) found.push(at);
  return found;
}

// [from, to] of all curves together; null where there is none. curves: [{from_ms, step_ms, v}].
export function extent(curves) {
  const ends = curves.filter((one) => one.v.length).map((one) => [one.from_ms, one.from_ms + one.step_ms * one.v.length]);
  if (!ends.length) return null;
  return [Math.min(...ends.map(([from]) => from)), Math.max(...ends.map(([, to]) => to))];
}

// A curve's bins that lie in a span, cut at its ends: [from, to, value].
export function binsIn({ from_ms: from, step_ms: step, v }, [start, end]) {
  const bins = v.map((value, at) => [Math.max(from + at * step, start), Math.min(from + (at + 1) * step, end), value]);
  return bins.filter(([left, right]) => left < right);
}

// Value of a curve at an offset: that of the bin it lies in; null outside, and where it is not known.
export function valueAt({ from_ms: from, step_ms: step, v }, offset) {
  const at = Math.floor((offset - from) / step);
  return at >= 0 && at < v.length ? v[at] : null;
}
