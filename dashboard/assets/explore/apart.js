// Which lines stand out from the others: what an operator looks for among sixteen that are alike. Pure.

import { median } from "./bands.js";

// From so many lines on; so many times as far from the middle as the middle one of them, and by this share of the largest.
const LEAST_LINES = 5, TIMES = 5, SHARE = 0.03;

// means: [[name, mean or null]]. Names of those that stand out, the farthest first.
export function apart(means) {
  const known = means.filter(([, mean]) => mean !== null && mean !== undefined);
  if (known.length < LEAST_LINES) return [];
  const middle = median(known.map(([, mean]) => mean)), far = known.map(([name, mean]) => [name, Math.abs(mean - middle)]);
  const least = Math.max(TIMES * median(far.map(([, by]) => by)), SHARE * Math.max(...known.map(([, mean]) => Math.abs(mean))));
  return far.filter(([, by]) => by > least).sort((one, other) => other[1] - one[1]).map(([name]) => name);
}
