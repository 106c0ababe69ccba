// Charts in the colours of the theme, and instants as Plotly wants them.

import { colour } from "./theme.js";

const OFFSET_MS = new Date().getTimezoneOffset() * 60000;

// Wall time in the viewer's zone without an offset: Plotly shows such text as it stands. One offset for the whole page,
// so that an axis never runs backwards when the clocks change.
export function stamp(tick) {
  return new Date(tick - OFFSET_MS).toISOString().slice(0, -1);
}

// And back: the instant of what Plotly gives as a range.
export function instant(text) {
  return Date.parse(text.replace(" ", "T") + "Z") + OFFSET_MS;
}

const lineColour = (trace) => colour(trace.meta?.colour ?? "accent");

// What the theme says of a layout with these names in it, by Plotly's dotted paths.
function lookOf(names) {
  // A finger that drags wants to scroll the page.
  const drag = matchMedia("(pointer: coarse)").matches ? false : "zoom";
  const look = { dragmode: drag, "font.color": colour("dim"), "hoverlabel.bgcolor": colour("panel"), "hoverlabel.font.color": colour("text"), "hoverlabel.bordercolor": colour("line") };
  for (const name of names) {
    if (/^[xy]axis\d*$/.test(name)) {
      look[name + ".gridcolor"] = colour("grid");
      look[name + ".linecolor"] = colour("line");
    }
  }
  return look;
}

// One Plotly.update: the colours named by the traces' meta, and the layout's.
export function paint(graph) {
  const lines = graph.data.map(lineColour);
  return window.Plotly.update(graph, { "line.color": lines, fillcolor: lines }, lookOf(Object.keys(graph._fullLayout)));
}

// The same written into a figure that nobody has drawn yet.
export function dress({ data, layout }) {
  for (const trace of data) trace.line.color = trace.fillcolor = lineColour(trace);
  for (const [path, value] of Object.entries(lookOf(Object.keys(layout)))) {
    const names = path.split("."), last = names.pop();
    names.reduce((part, name) => (part[name] ??= {}), layout)[last] = value;
  }
}
