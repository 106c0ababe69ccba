// What a chart asks the API: which scopes mean something for its metric, how many points it can show, and what it says
// of its scope.

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

// What is asked beside scopes: the sum, the speed of a counter, which percentile.
export function manner(view, metrics) {
  const kinds = metrics.map((metric) => metric.kind), words = {};
  if (view.total) words.total = "1";
  if (isRate(view, metrics[0])) words.rate = "1";
  if (kinds.includes("histogram")) words.quantile = view.quantile;
  return words;
}

// Counters are shown as what they grow by per second, unless their counts are wanted.
export function isRate(view, metric) {
  return metric?.kind === "counter" && !view.counts;
}

// The questions of a chart, as parameters of the API without range and points: one, but two for a metric of nodes and
// engines alike that is limited to some of both, because to the API filters together mean what all of them let through.
export function questions(view, metric) {
  const common = { metric: metric.name, ...manner(view, [metric]) };
  const labels = labelsOf(view, metric);
  if (labels) common.label = labels;
  const named = Object.entries(filters(view, metric)).map(([kind, names]) => [kind, names.join()]);
  if (metric.scope === "target" && named.length > 1) return named.map((one) => ({ ...common, ...Object.fromEntries([one]) }));
  return [{ ...common, ...Object.fromEntries(named) }];
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
