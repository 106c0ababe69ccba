// What stands above what on the one time axis: a table of lanes, and where each of them lies. Pure.

export const AXIS = 22, GAP = 16;
const ROW = [10, 18], MAP_HEAD = 32, NODE_HEAD = 32;
// Lanes of lines: title, height, the lines (key of the answer → name and colour), and what they are asked of.
export const LINES = [
  { key: "tokens", title: "Decode", height: 112, lines: [["decode", "Decode", "decode"]], unit: "tokens_per_second", prefills: true },
  { key: "phases", title: "Phase", height: 12 },
  { key: "requests", title: "Requests", height: 64, lines: [["running", "Running", "series-1"], ["waiting", "Waiting", "series-4"]], unit: "requests", whole: true },
  { key: "kv", title: "KV cache", height: 48, lines: [["kv", "KV cache", "series-3"]], unit: "ratio", upTo: 1 },
];
const NODE_LANE = 52;
export const SHORT = { power: "Power", utilization: "Utilisation", clock: "Clock", temperature: "Temperature", memory: "Memory", interconnect: "Fabric" };

// {left, right}: room beside the plot for names, and for the axis of the prefills.
export function sides(width) {
  return width < 560 ? { left: 100, right: 8 } : { left: 112, right: 56 };
}

// {lanes: [{…, top, height}], map: {top, row, height}, nodes: {top, lanes}, height}: overview: whether the whole run
// stands above; count: nodes of the map; readings: of the chosen node, [] where none is.
export function layOut({ overview, count, readings }) {
  let top = AXIS;
  const lanes = [];
  const put = (lane) => {
    lanes.push({ ...lane, top });
    top += lane.height + GAP;
  };
  if (overview) put({ key: "overview", title: "Whole run", height: 36 });
  LINES.forEach(put);
  const row = Math.min(ROW[1], Math.max(ROW[0], Math.floor(256 / Math.max(count, 1))));
  const head = top - GAP / 2, map = { head, top: head + MAP_HEAD, row, height: row * count };
  top = map.top + map.height + GAP;
  const node = { head: top, top: top + NODE_HEAD };
  if (readings.length) {
    top = node.top;
    readings.forEach((reading) => put({ key: `node:${reading.key}`, title: SHORT[reading.key] ?? reading.label, height: NODE_LANE, unit: reading.base, reading, lines: [[reading.key, reading.label, "accent"]], upTo: reading.base === "ratio" ? 1 : undefined }));
  }
  return { lanes, map, node, bottom: top, height: top + AXIS };
}

// The row of the map at a height, −1 outside.
export function rowAt(map, y) {
  const row = Math.floor((y - map.top) / map.row);
  return y >= map.top && y < map.top + map.height ? row : -1;
}
