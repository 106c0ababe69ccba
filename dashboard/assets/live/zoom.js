// What all charts do once somebody has chosen a stretch of time.

import { setAttribute } from "./dom.js";
import { paint } from "./paint.js";

// The header's "live" would not be true of the charts then; `age.js` reads this mark.
export function tellZoomed(zoomed) {
  setAttribute(document.documentElement, "data-zoomed", zoomed ? "true" : "");
}

// After a zoom Plotly shows the hover box of where the drag began.
export function unhover(graph) {
  graph._fullLayout._rehover = null;
  window.Plotly.Fx.unhover(graph);
}

// After a zoom Dash draws its own figure again, without the theme's colours: they come back.
export function onDrawnByDash(graph) {
  graph.on("plotly_react", () => {
    unhover(graph);
    paint(graph);
  });
}
