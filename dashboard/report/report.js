const data = JSON.parse(document.getElementById("data").textContent);
const plots = [...document.querySelectorAll(".plot[data-plot]")].map((node) => ({
  node,
  needle: node.appendChild(Object.assign(document.createElement("div"), { className: "needle" })),
  read: node.closest("figure").querySelector("output"),
  about: data.plots[Number(node.dataset.plot)],
}));
let share = null;

function clock(ms) {
  const seconds = Math.floor(ms / 1000);
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return parts.map((part) => String(part).padStart(2, "0")).join(":");
}

function number(value, about) {
  if (value === null || value === undefined) return "–";
  const scaled = value * about.scale;
  const digits = Math.abs(scaled) < 99.95 && !about.whole ? 1 : 0;
  return `${scaled.toFixed(digits)}${about.unit && `\u00a0${about.unit}`}`;
}

function show(at, row) {
  share = at;
  for (const plot of plots) {
    plot.needle.style.display = at === null ? "none" : "block";
    if (at === null) {
      plot.read.textContent = "";
      continue;
    }
    plot.needle.style.left = `${at * 100}%`;
    const ms = at * data.span_ms;
    const place = Math.floor(ms / plot.about.step_ms);
    const chosen = plot.about.names ? (plot.node === row?.node ? row.place : null) : 0;
    const text = chosen === null ? "" : number(plot.about.rows[chosen]?.[place], plot.about);
    const name = plot.about.names && chosen !== null ? `${plot.about.names[chosen]} · ` : "";
    plot.read.textContent = text && `${clock(ms)} · ${name}${text}`;
  }
}

for (const { node, about } of plots) {
  node.addEventListener("pointermove", (event) => {
    const box = node.getBoundingClientRect();
    const rows = about.rows.length;
    const place = Math.min(Math.max(Math.floor(((event.clientY - box.top) / box.height) * rows), 0), rows - 1);
    show(Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1), { node, place });
  });
  node.addEventListener("pointerleave", () => show(null));
  node.addEventListener("blur", () => show(null));
  node.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const width = about.step_ms / data.span_ms;
    show(Math.min(Math.max((share ?? 0) + step * width, 0), 1), { node, place: 0 });
  });
}

document.querySelector("[data-theme-switch]").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});

let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open])")];
  for (const one of folded) one.open = true;
});
addEventListener("afterprint", () => {
  for (const one of folded) one.open = false;
});
