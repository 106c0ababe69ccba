// Lines of the Node page's charts: which of an answer they are, what they are called, where they begin. Pure.

// Instant of a line's first value, Infinity where it has none.
export function firstKnown(series) {
  const values = series.v ?? series.max ?? series.mean, at = values.findIndex((value) => value !== null);
  return at < 0 ? Infinity : series.t[at];
}

// Whether a trace has a point, or a line between two, within a range of Plotly's.
export function reaches({ x, y }, range) {
  const [from, to] = range.map((instant) => instant.replace(" ", "T"));
  return x.some((instant, at) => {
    const next = y[at + 1] === null || y[at + 1] === undefined ? instant : x[at + 1];
    return y[at] !== null && instant <= to && next >= from;
  });
}

// Whether a line is one of those that a chart chose.
export function wanted(series, line) {
  return Object.entries(line.only).every(([label, values]) => values.includes(series.labels[label]));
}

// The short name and the labels that tell its lines apart; a label that the chart chose says nothing new.
export function nameOf(line, labels) {
  const told = Object.entries(labels).filter(([key, value]) => key !== "target" && !(key in line.only) && !(key === "gpu" && value === "0"));
  return [line.label, ...told.map(([, value]) => value.replaceAll("_", " "))].filter(Boolean).join(" ");
}
