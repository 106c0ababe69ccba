// Answers of /api/v1/series as lines to draw. Pure.

const PER_GAP = 2.5;

// Name of what a label says, beside others: a bare number says nothing without its label.
function part(key, value) {
  const word = /^\d+$/.test(value) && key !== "target" ? `${key} ${value}` : value;
  return key === "target" ? word.replace(/^deployment\//, "") : word.replaceAll("_", " ");
}

// The labels whose values differ between these label sets, `target` first.
export function telling(labelSets) {
  const keys = [...new Set(labelSets.flatMap((labels) => Object.keys(labels)))];
  const differ = keys.filter((key) => new Set(labelSets.map((labels) => labels[key])).size > 1);
  return differ.sort((a, b) => (b === "target") - (a === "target"));
}

function nameOf(labels, keys, total) {
  if (!Object.keys(labels).length) return total;
  const words = (keys.length ? keys : ["target"]).filter((key) => labels[key] !== undefined).map((key) => part(key, labels[key]));
  return words.join(" ") || total;
}

// Two samples further apart than this have a gap between them: by the series' own pace, which may be slower than the
// answer's step, because ticks of faster targets stand between as nulls.
export function gapOf(t, values, step) {
  const apart = [];
  let before = null;
  for (let at = 0; at < t.length; at++) {
    if (values[at] === null) continue;
    if (before !== null) apart.push(t[at] - before);
    before = t[at];
  }
  apart.sort((a, b) => a - b);
  return PER_GAP * Math.max(step, apart[Math.floor(apart.length / 4)] ?? 0);
}

// Whether the newest value of a line is too old to be of now: a gap lies behind it.
export function isPast({ t, mid, gap }, now) {
  let at = t.length - 1;
  while (at >= 0 && mid[at] === null) at -= 1;
  return at >= 0 && now - t[at] > gap;
}

const known = (values) => values?.some((value) => value !== null) ?? false;

// One line: {name, labels, t, mid, low, high, relation, gap}; low and high are null where nothing was reduced.
function line(series, answer, name) {
  const mid = series.v ?? series[answer.fold] ?? series.mean ?? series.max, spans = !series.v && known(series.min) && known(series.max);
  return {
    name, labels: series.labels, t: series.t, mid, low: spans ? series.min : null, high: spans ? series.max : null,
    relation: series.relation ?? null, count: series.count ?? null, gap: gapOf(series.t, mid, answer.step_ms),
  };
}

const BY_NAME = new Intl.Collator("en", { numeric: true });

// All lines of an answer that have a value, by name. total: what a sum over all lines is called.
export function linesOf(answer, total) {
  const told = answer.series.filter((one) => [one.v, one.max, one.mean].some(known));
  const keys = telling(told.map((one) => one.labels));
  return told.map((one) => line(one, answer, nameOf(one.labels, keys, total))).sort((a, b) => BY_NAME.compare(a.name, b.name));
}

// Which lines an isolated name means in a chart: the line of that name; where there is none, those of its node or engine,
// as a node's cages are where the node was isolated, and the node where one of its cages was. null where it means nothing.
export function ofName(lines, name) {
  const meant = [(line) => line.name === name, ({ labels }) => labels.target === name, ({ labels }) => labels.target && name.startsWith(`${labels.target} `)];
  return meant.find((means) => lines.some(means)) ?? null;
}

// Several answers to one question (one per scope) as one.
export function joined(answers) {
  if (answers.length === 1) return answers[0];
  const first = answers.find((one) => one.series.length) ?? answers[0];
  const found = { ...first, step_ms: Math.max(...answers.map((one) => one.step_ms)), series: answers.flatMap((one) => one.series) };
  return { ...found, ...holes(answers) };
}

// {damaged} of several answers, each hole once, as far as it reaches beyond `start`; {} without any.
function holes(answers, start = -Infinity) {
  const all = answers.flatMap((one) => one.damaged ?? []).filter((hole) => hole.to > start);
  const damaged = [...new Map(all.map((hole) => [JSON.stringify(hole), hole])).values()];
  return damaged.length ? { damaged } : {};
}

const LISTS = ["v", "min", "max", "mean", "last", "relation", "count"];
const identity = (series) => JSON.stringify(Object.entries(series.labels).sort());

// An answer that goes on: the old one up to `from`, then the new one; nothing older than `start`. null where the two do
// not fit (one is reduced and the other not, or by another step).
export function extended(old, fresh, from, start) {
  if (!old || old.step_ms !== fresh.step_ms || old.fold !== fresh.fold) return null;
  const news = new Map(fresh.series.map((one) => [identity(one), one]));
  const series = old.series.map((one) => {
    const more = news.get(identity(one));
    news.delete(identity(one));
    return cut(one, more, from, start);
  });
  return { ...fresh, ...holes([old, fresh], start), series: [...series, ...[...news.values()].map((one) => one)] };
}

function cut(one, more, from, start) {
  const keep = one.t.map((tick, at) => at).filter((at) => one.t[at] >= start && one.t[at] < from);
  const made = { labels: one.labels, t: [...keep.map((at) => one.t[at]), ...(more?.t ?? [])] };
  for (const name of LISTS)
    if (one[name]) made[name] = [...keep.map((at) => one[name][at]), ...(more?.[name] ?? [])];
  return made;
}

// Index of the sample that holds at an instant: the nearest within half a gap; -1 where there is none. Of bins the one
// the instant lies in.
export function at(line, instant, width = 0) {
  const { t } = line;
  let low = 0, high = t.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (t[middle] <= instant) low = middle + 1;
    else high = middle;
  }
  const before = low - 1;
  if (width) return before >= 0 && instant < t[before] + width && line.mid[before] !== null ? before : -1;
  return nearest(line, before, instant);
}

function nearest(line, before, instant) {
  let [left, right] = [before, before + 1];
  while (left >= 0 && line.mid[left] === null) left -= 1;
  while (right < line.t.length && line.mid[right] === null) right += 1;
  const far = (index) => (index < 0 || index >= line.t.length ? Infinity : Math.abs(line.t[index] - instant));
  const best = far(left) <= far(right) ? left : right;
  return far(best) <= line.gap / 2 ? best : -1;
}

// [least, most] of what lies inside a span, over these lines; null where there is nothing.
export function reach(lines, [start, end], width = 0) {
  let least = Infinity, most = -Infinity;
  for (const one of lines) {
    const low = one.low ?? one.mid, high = one.high ?? one.mid;
    for (let index = 0; index < one.t.length; index++) {
      if (one.t[index] + width < start || one.t[index] > end) continue;
      if (low[index] !== null && low[index] < least) least = low[index];
      if (high[index] !== null && high[index] > most) most = high[index];
    }
  }
  return most === -Infinity ? null : [least, most];
}
