// Charts in the colours of the theme, and instants as Plotly wants them.

import { colour } from "./theme.js";

const OFFSET_MS = new Date().getTimezoneOffset() * 60000;

// Wall time in the viewer's zone without an offset: Plotly shows such text as it stands. One offset for the whole page,
// so that an axis never runs backwards when the clocks change.
export function stamp(tick) {
  return new Date(tick - OFFSET_MS).toISOString().slice(0, -1);
}

// One Plotly.update: the colours named by the traces' meta, the layout's, and whatever else is to change.
export function paint(graph, data = {}, layout = {}) {
  const lines = graph.data.map((trace) => colour(trace.meta?.colour ?? "accent"));
  // A finger that drags wants to scroll the page.
  const drag = matchMedia("(pointer: coarse)").matches ? false : "zoom";
  const look = { dragmode: drag, "font.color": colour("dim"), "hoverlabel.bgcolor": colour("panel"), "hoverlabel.font.color": colour("text"), "hoverlabel.bordercolor": colour("line") };
  for (const name of Object.keys(graph._fullLayout)) {
    if (/^[xy]axis\d*$/.test(name)) {
      look[name + ".gridcolor"] = colour("grid");
      look[name + ".linecolor"] = colour("line");
    }
  }
  return window.Plotly.update(graph, { ...data, "line.color": lines, fillcolor: lines }, { ...look, ...layout });
}
