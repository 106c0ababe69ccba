// What the page knows: the latest message, merged from differences, and what was recorded before it.

// How much time charts and map show: as little as holds all that was recorded, so that a young page is not mostly empty.
const SPANS_MS = [180000, 360000, 900000];

export class State {
  constructor() {
    this.message = null;
    this.history = null;
    this.arrived = 0;
  }

  get nodeCells() {
    return this.history?.node_cells ?? [];
  }

  // A whole message with `history`. Everything shown before is forgotten. Before the first tick it is only a sentence.
  bootstrap(message, now) {
    message = { tick: null, age_ms: 0, cells: {}, nodes: [], why: [], points: {}, map: {}, ...message };
    this.history = message.history ?? { t: [], points: {}, map: {}, node_cells: [], map_metrics: [] };
    // Who the busiest was is not recorded: it is known from here on.
    this.history.points.net_worst_name ??= this.history.t.map(() => null);
    this.message = { ...message, history: undefined };
    this.arrived = now;
  }

  // A message of the stream, whole or a difference. Returns what changed, "shape" where the nodes are others.
  merge(message, now) {
    const before = this.message;
    this.arrived = now;
    const whole = message.nodes.every((node) => node.name !== undefined) && message.nodes.length > 0;
    const cells = Object.keys(message.cells);
    if (!before || (whole && !sameNames(before.nodes, message.nodes))) {
      this.message = message;
      return { shape: true };
    }
    const nodes = whole ? message.nodes.map((node, index) => ({ index, ...node })) : message.nodes;
    const next = before.nodes.slice();
    for (const { index, ...fields } of nodes) next[index] = { ...next[index], ...fields, cells: patched(next[index].cells, fields.cells) };
    const rows = new Map(message.why.map((row) => [row.key, row]));
    const why = before.why.map((row) => rows.get(row.key) ?? row);
    const sameRows = message.why.every((row) => before.why.some((old) => old.key === row.key));
    this.message = { ...message, cells: { ...before.cells, ...message.cells }, nodes: next, why: sameRows ? why : message.why };
    return { shape: false, cells, nodes: nodes.map((node) => node.index), why: message.why.length > 0 };
  }

  // Milliseconds that charts and map show; thirds of it are whole minutes.
  get span() {
    const first = this.history?.t[0] ?? this.message?.tick ?? 0;
    const recorded = (this.message?.tick ?? first) - first;
    return SPANS_MS.find((span) => span >= recorded) ?? SPANS_MS.at(-1);
  }

  // Milliseconds since the newest commit, by the page's own clock.
  age(now) {
    return this.message?.tick ? this.message.age_ms + (now - this.arrived) : null;
  }

  // Milliseconds between ticks: the median of the last ones.
  get interval() {
    const times = this.history?.t.slice(-21) ?? [];
    const steps = times.slice(1).map((t, index) => t - times[index]).sort((a, b) => a - b);
    return steps[steps.length >> 1] || 1000;
  }

  get gapMs() {
    return 2.5 * this.interval;
  }

  // Keep the tick's points and map with the history, so that a switch or a page change can draw them again.
  record(keepMs) {
    const { tick, points, map } = this.message, history = this.history;
    if (!history || tick <= (history.t.at(-1) ?? 0)) return;
    history.t.push(tick);
    for (const [key, values] of Object.entries(history.points)) values.push(points[key] ?? null);
    for (const key of Object.keys(history.map)) history.map[key].forEach((row, node) => row.push(map[key]?.[node] ?? null));
    for (const [start, end, rate] of points.prefills ?? []) this.recordPrefill(start, end, rate);
    const drop = history.t.findIndex((t) => t >= tick - keepMs);
    if (drop < 60) return;
    history.t.splice(0, drop);
    for (const values of Object.values(history.points)) values.splice(0, drop);
    for (const rows of Object.values(history.map)) rows.forEach((row) => row.splice(0, drop));
  }

  // A prefill is known once it has ended: its throughput is written where it ran.
  recordPrefill(start, end, rate) {
    const { t, points } = this.history, line = points.prefill;
    for (let at = t.length - 1; line && at >= 0 && t[at] >= start; at--) if (t[at] <= end) line[at] ??= rate;
  }
}

// Cells of a node: whole, or those that changed by their position.
function patched(cells, changed) {
  return Array.isArray(changed) ? changed : Object.assign(cells.slice(), changed);
}

function sameNames(before, after) {
  return before.length === after.length && before.every((node, index) => node.name === after[index].name);
}
