// What is said of a chart in words: how its lines were asked for, how they are drawn, and why there are none.

import { isRate } from "./ask.js";
import { lengthText } from "./time.js";

const FOLDS = { mean: "mean", max: "largest", min: "smallest", last: "newest" };
const OVER_WORDS = { day: "a day earlier", week: "a week earlier" };

export function mannerWords(view, metric) {
  const words = [];
  if (view.total && metric.across) words.push(metric.across);
  if (metric.kind === "histogram") words.push(`p${view.quantile * 100}`);
  if (metric.kind === "counter") words.push(isRate(view, metric) ? "per second" : "count since the series began");
  return words;
}

// chart: {feed: {answer}, explorer: {view}, lines, earlier, left}.
export function howWords({ feed: { answer }, explorer: { view }, lines, earlier, left }) {
  const words = [];
  if (answer.fold) words.push(`${FOLDS[answer.fold]} of each ${lengthText(answer.step_ms)}${lines.some((line) => line.low) ? ", band from least to most" : ""}`);
  if (answer.resolution === "hours") words.push("from whole hours");
  if (answer.window_ms && answer.window_ms !== answer.step_ms) words.push(`trailing ${lengthText(answer.window_ms)}`);
  if (view.over) words.push(earlier.length ? `dashed: ${OVER_WORDS[view.over]}` : `nothing was recorded ${OVER_WORDS[view.over]}`);
  const lost = answer.damaged ?? [];
  if (lost.length) words.push(`hatched: ${lost[0].reason}${lost.length > 1 ? `, and ${lost.length - 1} more` : ""}`);
  if (left) words.push(`${left} more lines are not drawn: choose a node or a label, or Total`);
  return words;
}

export function nothingText(metric, answer) {
  if (metric.kind === "histogram" && answer.series.length) return "Too few requests in this stretch for a percentile.";
  return answer.series.length ? "It was read, but had no value in this stretch." : "Nothing was recorded of this in this stretch.";
}
