// Value axes that hold their lines: round limits, every tick a round number, no prefixes.

const ROUND = [1, 2, 2.5, 5, 10], STEPS = 4;

// The smallest round step of which at most so many reach over this span.
export function roundStep(span, steps = STEPS) {
  const size = 10 ** Math.floor(Math.log10(span / steps));
  return ROUND.map((step) => step * size).find((step) => step * steps >= span * (1 - 1e-9));
}

// [low, high, step] of an axis for these values (nulls left out), from 0 where `zero`; at least `least` long, so that
// noise of a line that stands still fills no plot. steps: a tall axis has room for more.
export function limits(values, zero, least, steps = STEPS) {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (value === null) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (high === -Infinity) [low, high] = [0, least];
  if (zero) [low, high] = [Math.min(0, low), Math.max(least, high)];
  else if (high - low < least) [low, high] = [(low + high - least) / 2, (low + high + least) / 2];
  const step = roundStep(high - low, steps);
  return [Math.floor(low / step + 1e-9) * step, Math.ceil(high / step - 1e-9) * step, step];
}

// Write the limits into an axis of Plotly's; one whose range stands in the figure is left alone.
export function fit(axis, lines, least) {
  if (!axis.rangemode) return;
  const [low, high, step] = limits(lines.flat(), axis.rangemode === "tozero", least);
  Object.assign(axis, { range: [low, high + step * 0.04], autorange: false, tickmode: "linear", tick0: 0, dtick: step });
  axis.showticklabels = lines.some((line) => line.some((value) => value !== null));
}
