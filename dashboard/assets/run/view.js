// What a run's page shows is its address: the stretch, a node, a moment, the map's reading. Pure.

export const LEAST_MS = 4000;
const SECOND = 1000, WHOLE = /^\d{1,15}$/;

const instant = (word) => (WHOLE.test(word ?? "") ? Number(word) : null);

// {start, end, at, node, map}: null is the whole run, no moment, no node, the first reading.
export function parse(search) {
  const given = new URLSearchParams(search), start = instant(given.get("start")), end = instant(given.get("end"));
  const part = start !== null && end !== null && end > start;
  return { start: part ? start : null, end: part ? end : null, at: instant(given.get("at")), node: given.get("node") || null, map: given.get("map") || null };
}

export function write(view) {
  const told = Object.entries(view).filter(([, value]) => value !== null).map(([key, value]) => `${key}=${encodeURIComponent(value)}`);
  return told.length ? `?${told.join("&")}` : "";
}

export const isPart = (view) => view.start !== null;

const whole = (instant) => Math.round(instant / SECOND) * SECOND;

// A stretch between two instants: inside the run, at least LEAST_MS long where the run is, on whole seconds.
export function stretch(from, to, [first, last]) {
  let [start, end] = from < to ? [from, to] : [to, from];
  if (end - start < LEAST_MS) [start, end] = [(start + end - LEAST_MS) / 2, (start + end + LEAST_MS) / 2];
  if (start < first) [start, end] = [first, end + first - start];
  if (end > last) [start, end] = [start - end + last, last];
  return { start: Math.max(whole(start), first), end: Math.min(whole(end), last) };
}

// The same view of another stretch; the whole run where it is that.
export function within(view, part, [first, last]) {
  const whole = part.start === null || (part.start <= first && part.end >= last);
  const [start, end] = whole ? [null, null] : [part.start, part.end];
  const at = view.at !== null && !whole && (view.at < start || view.at > end) ? null : view.at;
  return { ...view, start, end, at };
}

// The query of a question about the stretch.
export function range(view) {
  return isPart(view) ? { start: view.start, end: view.end } : {};
}
