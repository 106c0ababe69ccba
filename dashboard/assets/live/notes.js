// What people wrote down of an instant or a stretch, on the live plots and on the Node page's charts, as in Explore.

import { stamp } from "./paint.js";

const AGAIN_MS = 30000, LONGEST = 28, FONT = "11px system-ui, sans-serif", APART_PX = 8, LATE = 0.75;

export function short(text) {
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1).trimEnd()}…` : text;
}

// Those that touch a stretch, oldest first.
export function within(notes, [start, end]) {
  return notes.filter((note) => note.t <= end && (note.end ?? note.t) >= start);
}

export class Notes {
  constructor() {
    Object.assign(this, { all: [], at: -Infinity });
  }

  // Ask now and then; resolves to whether something is otherwise than before.
  async look() {
    if (performance.now() - this.at < AGAIN_MS) return false;
    this.at = performance.now();
    try {
      const answer = await fetch("/api/v1/annotations", { cache: "no-store" });
      if (!answer.ok) return false;
      const { annotations } = await answer.json(), before = JSON.stringify(this.all);
      this.all = annotations;
      return JSON.stringify(annotations) !== before;
    } catch {
      return false; // the server is away: the header says so, and what is drawn stays
    }
  }
}

// Shapes of a Plotly chart that shows a stretch: a line where one begins, a ground as long as it lasts, and, where told,
// its words on top: one of several charts on the same time axis is enough.
export function noteShapes(notes, span, ink, told) {
  return within(notes, span).flatMap(({ t, end, text }) => {
    const at = { xref: "x", yref: "paper", y0: 0, y1: 1 }, late = (t - span[0]) / (span[1] - span[0]) > LATE;
    const font = { size: 11, color: ink("accent") };
    const label = { text: told ? plain(short(text)) : "", textangle: 0, textposition: "end", xanchor: late ? "right" : "left", yanchor: "top", font };
    const ground = { ...at, type: "rect", x0: stamp(t), x1: stamp(end ?? t), layer: "below", line: { width: 0 }, fillcolor: ink("accent"), opacity: 0.12 };
    const line = { ...at, type: "line", x0: stamp(t), x1: stamp(t), layer: "above", line: { color: ink("accent"), width: 1 }, opacity: 0.8, label };
    return [...(end ? [ground] : []), ...(t >= span[0] ? [line] : [])];
  });
}

// Plotly takes text for HTML of its own kind.
const plain = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

// The same on a canvas, between l and l + w, over plots [[top, height]]; the words stand in the first one, each where it
// is on no others.
export function drawNotes(context, notes, { span, l, w, plots }, paint) {
  const x = (at) => l + Math.min(Math.max((at - span[0]) / (span[1] - span[0]), 0), 1) * w;
  let taken = -Infinity;
  context.font = FONT;
  context.textBaseline = "top";
  context.lineWidth = 3;
  for (const { t, end, text } of within(notes, span)) {
    const from = x(t), told = short(text), long = context.measureText(told).width, before = from + 4 + long > l + w;
    context.fillStyle = paint("accent");
    for (const [top, tall] of plots) {
      context.globalAlpha = 0.12;
      if (end) context.fillRect(from, top, Math.max(x(end) - from, 1), tall);
      context.globalAlpha = 0.8;
      if (t >= span[0]) context.fillRect(Math.round(from), top, 1, tall);
    }
    const place = before ? from - 4 - long : from + 4;
    context.globalAlpha = 1;
    if (place < taken) continue;
    context.strokeStyle = paint("panel");
    context.strokeText(told, place, plots[0][0] + 1);
    context.fillText(told, place, plots[0][0] + 1);
    taken = place + long + APART_PX;
  }
  context.textBaseline = "alphabetic";
}
