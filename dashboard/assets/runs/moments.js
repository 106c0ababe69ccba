// Moments of a run as people write them: seconds from one of its ends, or a time of the viewer's clock. Pure.

import { fromInput } from "../explore/time.js";

const DAY = /^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}/; // browsers read days out of nearly everything
const SECONDS = /^\d+(\.\d+)?$/, CLOCK = /^(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?$/;

// text as epoch milliseconds; null of nothing, the text itself where it is no moment, so that its receiver says so.
// base: the end that it counts from; way: 1 after it, -1 before it. A clock time is the first one that way.
export function moment(text, base, way) {
  const told = text.trim(), clock = CLOCK.exec(told);
  if (!told) return null;
  if (SECONDS.test(told)) return base + way * Math.round(Number(told) * 1000);
  if (!clock) return (DAY.test(told) ? fromInput(told) : null) ?? told;
  const [hour, minute, second] = clock.slice(1).map((part) => Number(part ?? 0)), at = new Date(base);
  const on = (day) => new Date(at.getFullYear(), at.getMonth(), at.getDate() + day, hour, minute).getTime() + Math.round(second * 1000);
  return way * (on(0) - base) >= 0 ? on(0) : on(way);
}
