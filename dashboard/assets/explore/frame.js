// The elements of one chart: head, canvases, the place of what is said, and that of the legend.

import { element } from "../live/dom.js";

function button(className, label, title, click) {
  const made = element("button", className, label);
  Object.assign(made, { type: "button", title, ariaLabel: title });
  made.addEventListener("click", () => click(made));
  return made;
}

// {box, of, how, csv, plot, canvas, over, word, said, place} of a chart.
export function frame({ explorer, metric }) {
  const box = element("section", "panel explore-chart"), head = element("div", "head"), row = element("div", "explore-row");
  box.dataset.metric = metric.name;
  box.setAttribute("aria-label", metric.label);
  const what = button("explore-what", "?", `What is ${metric.label}?`, (from) => explorer.drawer.open(metric.name, from));
  const gone = button("plain", "×", `Remove ${metric.label}`, () => explorer.removeMetric(metric.name));
  const of = element("span", "dimmed explore-of"), how = element("span", "dimmed explore-how"), csv = element("a", "plain", "CSV");
  csv.title = "Export what this chart shows";
  const word = element("span", "explore-unit");
  head.append(element("h2", "", metric.label), word, what, of, how, csv, gone);
  const plot = element("div", "explore-plot"), canvas = element("canvas"), over = element("canvas", "explore-over");
  const said = element("p", "nothing"), place = element("div", "explore-legend");
  said.hidden = true;
  plot.append(canvas, over, said);
  row.append(plot, place);
  box.append(head, row);
  return { box, of, how, csv, plot, canvas, over, word, said, place };
}
