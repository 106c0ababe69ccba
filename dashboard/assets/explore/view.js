// A view is what the address says: metrics, scopes, range, and how they are shown. Pure.

import { DAY, WEEK } from "./time.js";

const UNITS = [["d", DAY], ["h", 3600000], ["m", 60000], ["s", 1000], ["ms", 1]];
const FIT = "fit", TOTAL = "total", TABLE = "table", COUNTS = "counts";
export const LEAST_MS = 2000, MOST_METRICS = 12;
export const OVERLAYS = { day: DAY, week: WEEK };
export const QUANTILES = ["0.5", "0.95", "0.99"];

// "-15m" of 900000, and back; null of what is no length.
export function lengthWord(milliseconds) {
  const [word, size] = UNITS.find(([, one]) => milliseconds % one === 0);
  return `-${milliseconds / size}${word}`;
}

export function lengthOf(word) {
  const found = /^-(\d{1,10})(ms|s|m|h|d)$/.exec(word ?? "");
  return found && Number(found[1]) * UNITS.find(([unit]) => unit === found[2])[1];
}

function instantOf(word) {
  if (/^\d{1,15}$/.test(word ?? "")) return Number(word);
  const instant = /(Z|[+-]\d\d:\d\d)$/.test(word ?? "") ? Date.parse(word) : NaN;
  return Number.isNaN(instant) ? null : instant;
}

function instantWord(instant) {
  return new Date(instant).toISOString().replace(".000Z", "Z");
}

const list = (word) => [...new Set((word ?? "").split(",").filter(Boolean))];

// The view of an address's query; what cannot be read is as if it were not there. defaults: {metrics, length}.
export function parse(search, defaults) {
  const given = new URLSearchParams(search), start = instantOf(given.get("start")), end = instantOf(given.get("end"));
  const fixed = start !== null && end !== null && end - start >= LEAST_MS;
  const metrics = list(given.get("metric")).slice(0, MOST_METRICS);
  return {
    metrics: given.has("metric") ? metrics : defaults.metrics,
    nodes: list(given.get("node")),
    engines: list(given.get("engine")),
    deployments: list(given.get("deployment")),
    labels: Object.fromEntries(list(given.get("label")).map((pair) => pair.split(/:(.*)/s)).filter((pair) => pair[1])),
    total: given.get(TOTAL) === "1",
    counts: given.get(COUNTS) === "1",
    quantile: QUANTILES.includes(given.get("quantile")) ? given.get("quantile") : QUANTILES[0],
    unread: unread(given, start, end),
    range: fixed ? { start, end } : { length: Math.max(lengthOf(given.get("start")) ?? defaults.length, LEAST_MS) },
    over: given.get("over") in OVERLAYS ? given.get("over") : "",
    only: given.get("only") ?? "",
    hide: list(given.get("hide")),
    fit: given.get(FIT) === "1",
    table: given.get(TABLE) === "1",
  };
}

// What of an address's range cannot be read, as a sentence; "" of one that can.
function unread(given, start, end) {
  for (const [name, word, known] of [["start", given.get("start"), start !== null || lengthOf(given.get("start"))], ["end", given.get("end"), end !== null]])
    if (word !== null && !known) return `“${name}=${word.slice(0, 40)}” is no time that is understood here: an instant with its zone (2026-11-30T08:00:00Z)${name === "start" ? ", or a length that ends now (-15m, -24h, -30d)" : ""}.`;
  if (end !== null && start === null) return "“end” needs a “start” that is an instant.";
  if (start !== null && end === null) return "“start” as an instant needs an “end”.";
  return start !== null && end - start < LEAST_MS ? "The end must be after the start." : "";
}

export function rangeWords({ length, start, end }) {
  return length ? { start: lengthWord(length) } : { start: instantWord(start), end: instantWord(end) };
}

// The filters of a view as parameters of the API, by name.
export function scopeWords(view) {
  const labels = Object.entries(view.labels).map(([key, value]) => `${key}:${value}`);
  const words = { node: view.nodes.join(), engine: view.engines.join(), deployment: view.deployments.join(), label: labels.join() };
  return Object.fromEntries(Object.entries(words).filter(([, word]) => word));
}

// The query of an address: what is as usual is left out.
export function write(view) {
  const words = {
    metric: view.metrics.join(), ...scopeWords(view), ...rangeWords(view.range), total: view.total ? "1" : "",
    counts: view.counts ? "1" : "", quantile: view.quantile === QUANTILES[0] ? "" : view.quantile, over: view.over, only: view.only,
    hide: view.hide.join(), fit: view.fit ? "1" : "", table: view.table ? "1" : "",
  };
  const said = Object.entries(words).filter(([key, word]) => word || key === "metric");
  return "?" + said.map(([key, word]) => `${key}=${encodeURIComponent(word).replaceAll("%2C", ",").replaceAll("%3A", ":")}`).join("&");
}

// [start, end] in ms; a range that follows the time ends now.
export function spanOf({ length, start, end }, now) {
  return length ? [now - length, now] : [start, end];
}

// A range inside bounds: at least LEAST_MS long, not later than now.
export function rangeFrom(from, to, now) {
  let [start, end] = from < to ? [from, to] : [to, from];
  const middle = (start + end) / 2;
  if (end - start < LEAST_MS) [start, end] = [middle - LEAST_MS / 2, middle + LEAST_MS / 2];
  const late = Math.max(end - Math.max(now, start + LEAST_MS), 0);
  return { start: Math.max(Math.round(start - late), 0), end: Math.round(end - late) };
}

// Three times as long around the middle: the way out where no zoom led in.
export function wider(range, now) {
  const [start, end] = spanOf(range, now), span = end - start;
  if (range.length) return { length: Math.min(range.length * 3, 2 * 365 * DAY) };
  return rangeFrom(start - span, end + span, now);
}

export function moved(range, share, now) {
  const [start, end] = spanOf(range, now), by = (end - start) * share;
  return rangeFrom(start + by, end + by, now);
}
