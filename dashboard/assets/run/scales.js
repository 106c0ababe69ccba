// Where an instant and a value stand, and the lines of each lane. Pure but for the formatter's tables.

import { valueAxis } from "../explore/draw.js";
import { linesOf } from "../explore/lines.js";

// Place of instants on a plot between `left` and `right`.
export function across([start, end], left, wide) {
  const length = Math.max(end - start, 1);
  return { x: (t) => left + ((t - start) / length) * wide, instant: (x) => start + ((x - left) / wide) * length };
}

export function upright(axis, top, height) {
  return (value) => top + (1 - (value * axis.scale - axis.low) / (axis.high - axis.low || 1)) * height;
}

// The same axis in steps of whole numbers: there is no half of a request.
export function wholeSteps({ low, high, step: any }) {
  const step = Math.max(Math.ceil(any - 1e-9), 1), up = (value) => Math.ceil(value / step - 1e-9) * step;
  return { low: -up(-low), high: up(high), step };
}

// {lines, axis, bin, metrics} of a lane. answers: by the keys of its lines.
export function gather(lane, answers, span) {
  const lines = [], metrics = [];
  let bin = 0;
  for (const [key, name, colour] of lane.lines) {
    const answer = answers?.[key];
    if (!answer) continue;
    metrics.push(answer.metric);
    if (answer.fold) bin = Math.max(bin, answer.step_ms);
    lines.push(...linesOf(answer, name).slice(0, 1).map((line) => ({ ...line, name, colour, dash: 0, bin: answer.fold ? answer.step_ms : 0 })));
  }
  const axis = valueAxis(lines, span, bin, lane.unit, false);
  if (lane.whole) Object.assign(axis, wholeSteps(axis));
  if (lane.upTo !== undefined) Object.assign(axis, { low: 0, high: lane.upTo * axis.scale, step: lane.upTo * axis.scale / 2 });
  return { lines, axis, bin, metrics };
}

// Whether an answer has nothing that a timeline could show, in its stretch and beside it.
export function isEmpty({ overview, lines, phases, prefills, map }) {
  const silent = (answer) => linesOf(answer, "").length === 0;
  return overview === null && !phases.length && !prefills.length && !map.t.length && Object.values(lines).every(silent);
}

// [{from, to, tokens, seconds, speed}] of prefills whose length is known, and those of which it is not with speed null.
export function episodes(prefills) {
  return prefills.map(([from, to, tokens, seconds]) => ({ from, to, tokens, seconds, speed: tokens !== null && seconds ? tokens / seconds : null }));
}

// The axis of the prefills, from 0.
export function prefillAxis(found, span) {
  const inside = found.filter((one) => one.speed !== null && one.to >= span[0] && one.from <= span[1]);
  if (!inside.length) return null;
  const line = { t: inside.map((one) => one.from), mid: inside.map((one) => one.speed), low: null, high: null };
  return valueAxis([{ ...line, t: line.t.map(() => span[0]) }], span, 0, "tokens_per_second", false);
}

// Index of the column of a map at an instant, −1 where there is none.
export function column(map, instant) {
  const { t, step_ms: step } = map;
  let low = 0, high = t.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (t[middle] <= instant) low = middle + 1;
    else high = middle;
  }
  return low > 0 && instant < t[low - 1] + 2.5 * step ? low - 1 : -1;
}

// The span of [from, to, …] at an instant, null where there is none.
export function spanAt(spans, instant) {
  return spans.find(([from, to]) => instant >= from && instant < to) ?? null;
}
