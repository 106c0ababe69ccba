// Colours of the map: even steps over one hue from low to high, and nothing at all for "not known".

import { setText } from "./dom.js";

export const ROW_UNKNOWN = "not known";
const STEPS = 64;

function channels(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

// Domain in the unit of the values: the metric's own, else what was seen, never narrower than a tenth of the top.
function domain(metric, rows, newest) {
  let low = metric.low, high = metric.high, nothing = false;
  if (low === null || high === null) {
    let least = Infinity, most = -Infinity;
    for (const row of [...rows, newest])
      for (const value of row)
        if (value !== null) {
          least = Math.min(least, value);
          most = Math.max(most, value);
        }
    if (least > most) nothing = true;
    if (nothing) [least, most] = [0, 1 / (metric.scale ?? 1)];
    low ??= Math.min(least, most - Math.abs(most) / 10);
    high ??= most > low ? most : low + 1;
  }
  return [low, high, nothing];
}

// metric: of the bootstrap, or of a run with values in base units and the `scale` to the unit shown; rows: what was recorded of it, per node; newest: of the latest tick.
export function makeRamp(metric, rows, newest, colour) {
  const from = channels(colour("map-low")), to = channels(colour("map-high"));
  const table = Array.from({ length: STEPS }, (_, step) => {
    const part = step / (STEPS - 1);
    return `rgb(${from.map((value, at) => Math.round(value + (to[at] - value) * part)).join(",")})`;
  });
  const [low, high, nothing] = domain(metric, rows, newest), scale = metric.scale ?? 1;
  // As everywhere one decimal below 100, none of watts.
  const number = (value) => (value === 0 || metric.unit === "W" || Math.abs(value * scale) >= 99.95 ? Math.round(value * scale) : (value * scale).toFixed(1));
  const text = (value) => `${number(value)} ${metric.unit}`;
  const empty = colour("map-none");
  return {
    text,
    // Whether a scale that follows what was seen has to grow for this value.
    outside: (value) => (value > high && metric.high === null) || (value < low && metric.low === null),
    colour: (value) =>
      value === null ? empty : table[Math.max(0, Math.min(STEPS - 1, Math.round(((value - low) / (high - low)) * (STEPS - 1))))],
    // The two ends of the scale, around its colours; none where nothing was seen that would make them.
    legend(place) {
      place.hidden = nothing;
      setText(place.firstChild, String(number(low)));
      setText(place.lastChild, text(high));
    },
  };
}
