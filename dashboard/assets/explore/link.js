// A link beside a chart of another page, to Explore or to a file, takes along the stretch that the chart shows.

import { instant } from "../live/paint.js";

const LENGTHS_S = [300, 900, 3600, 21600, 86400];

// [start, end] as Explore's address and the API have them: what was zoomed to; else a length that ends now and holds what is shown.
export function rangeOf(range, zoomed) {
  const [from, to] = range.map(instant);
  if (zoomed) return { start: new Date(from).toISOString(), end: new Date(to).toISOString() };
  return { start: `-${LENGTHS_S.find((length) => length * 1000 >= to - from - 1000) ?? LENGTHS_S.at(-1)}s` };
}

function point(link) {
  const graph = link.closest("[data-plots], [data-chart]")?.querySelector(".js-plotly-plot");
  const range = graph?._fullLayout?.xaxis?.range, address = new URL(link.href);
  if (!range) return;
  address.searchParams.delete("end");
  const words = rangeOf(range, "zoomed" in document.documentElement.dataset);
  for (const [name, word] of Object.entries(words)) address.searchParams.set(name, word);
  link.href = address.pathname + address.search.replaceAll("%2C", ",").replaceAll("%3A", ":");
}

// Before anybody else sees the click, so that a new tab has the same address.
export function startLinks() {
  for (const kind of ["click", "auxclick"]) {
    document.addEventListener(kind, (event) => {
      const link = event.target.closest?.("a[data-stretch-link]");
      if (link) point(link);
    }, true);
  }
}
