// Plotly, and the graph of the live figure: drawn without waiting for Dash, and taken along when the page that Dash has
// drawn takes the place of the one in the HTML.

let loading = null, kept = null;

// Plotly, as soon as it is there. The head of the page names it: as a script on the way, or as where it lies.
export function plotly() {
  loading ??= new Promise((resolve) => {
    if (window.Plotly) return resolve(window.Plotly);
    let script = document.getElementById("plotly");
    if (script.tagName !== "SCRIPT") {
      const place = script.href;
      script = document.createElement("script");
      script.src = place;
      document.head.append(script);
    }
    script.addEventListener("load", () => resolve(window.Plotly));
  });
  return loading;
}

// A page that is left leaves its graph to the next one, which takes it or drops it.
export function leave(graph, zoomed) {
  kept = { graph, zoomed };
}

export function take() {
  const found = kept;
  kept = null;
  return found;
}

export function drop() {
  if (kept) window.Plotly.purge(kept.graph);
  kept = null;
}
