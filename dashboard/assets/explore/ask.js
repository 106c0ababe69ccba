// What a chart asks the API: which scopes mean something for its metric, how many points it can show, and what it says
// of its scope.

import { rangeWords, scopeWords } from "./view.js";

const ADDRESS = "/api/v1/series";
const APPLIES = {
  node: ["node", "target"],
  engine: ["engine", "target"],
  deployment: ["deployment", "engine"],
};
const EVERY = { node: "all nodes", engine: "all engines", deployment: "all deployments", cluster: "the whole cluster", target: "all nodes and engines" };
const CHOSEN = { node: "nodes", engine: "engines", deployment: "deployments" };

// {node: [...], engine: [...], deployment: [...]}: the filters of a view that mean something for this metric.
export function filters(view, metric) {
  const kept = Object.entries(APPLIES).filter(([kind, scopes]) => scopes.includes(metric.scope) && view[CHOSEN[kind]].length);
  return Object.fromEntries(kept.map(([kind]) => [kind, view[CHOSEN[kind]]]));
}

function labelsOf(view, metric) {
  return Object.entries(view.labels).filter(([key]) => metric.labels.includes(key)).map(([key, value]) => `${key}:${value}`).join();
}

// What a chart is of, in words: "spark-01, spark-02 · gpu 0", "all engines".
export function scopeText(view, metric) {
  const names = Object.values(filters(view, metric)).flat();
  const shown = names.length > 3 ? `${names.length} of ${EVERY[metric.scope].replace("all ", "")}` : names.join(", ");
  const labels = labelsOf(view, metric).replaceAll(":", " ").replaceAll(",", ", ");
  return [shown || EVERY[metric.scope], labels].filter(Boolean).join(" · ");
}

// The questions of a chart: one per scope that is named; each as parameters of the API without range and points.
export function questions(view, metric) {
  const common = { metric: metric.name };
  const labels = labelsOf(view, metric);
  if (labels) common.label = labels;
  if (view.total) common.total = "1";
  if (metric.kind === "histogram") common.quantile = view.quantile;
  const named = filters(view, metric);
  const { deployment, ...own } = named;
  const many = Object.entries(own).flatMap(([kind, names]) => names.map((name) => ({ [kind]: name })));
  if (deployment) many.push(...deployment.map((name) => ({ deployment: name })));
  return many.length ? many.map((one) => ({ ...common, ...one })) : [common];
}

// Address of a CSV of exactly this.
export function exportAddress(view, metrics) {
  const words = { metric: metrics.map((one) => one.name).join(), ...scopeWords(view), ...rangeWords(view.range) };
  if (view.total) words.total = "1";
  if (metrics.some((one) => one.kind === "histogram")) words.quantile = view.quantile;
  return "/api/v1/export.csv?" + new URLSearchParams(words);
}

// One answer; an Error with the server's sentence and its status where it refuses.
export async function ask(question, range, signal) {
  let answer;
  try {
    answer = await fetch(`${ADDRESS}?${new URLSearchParams({ ...question, ...range })}`, { cache: "no-store", signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server does not answer.");
  }
  const told = await answer.json().catch(() => ({}));
  if (!answer.ok) throw Object.assign(new Error(told.error ?? `The server answers ${answer.status}.`), { status: answer.status });
  return told;
}
