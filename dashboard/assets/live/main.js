// The live path: one state, fed by one stream, shown by the views of whatever page is there; one batch of writes a tick.

import { startFilters } from "../alert/filters.js";
import { startLinks } from "../explore/link.js";
import { showAge } from "./age.js";
import { showBadge } from "./badge.js";
import { Cards } from "./cards.js";
import { Faults } from "./faults.js";
import { drop } from "./figure.js";
import { startOrders } from "../runs/orders.js";
import { startReplays } from "../runs/replay.js";
import { lookForFragments, refresh, startFragments } from "./fragments.js";
import { go, plain, startGoing } from "./go.js";
import { Charts } from "./history.js";
import { FleetMap } from "./map.js";
import { Plots } from "./plots.js";
import { State } from "./state.js";
import { Stream } from "./stream.js";
import { startTheme } from "./theme.js";
import { Tiles } from "./tiles.js";
import { showTitle, titleOf } from "./title.js";

const MINUTES = 15, KEEP_MS = MINUTES * 60000, AGE_MS = 1000;
// Plots first: what they measure must not wait for a layout of the text written after them.
const VIEWS = [Plots, FleetMap, Cards, Tiles];
const state = new State();
const waiting = [];
let charts = null, faults = null, explore = null, runs = null, run = null, compare = null, alert = null, views = [], root = null, linked = true, drawn = 0, cost = 0, asked = false, fresh = null;

function mount(next) {
  if (next === root) return;
  views.forEach((view) => view.close());
  root = next;
  views = root ? VIEWS.map((View) => new View(root, state)) : [];
  drop();
  if (root && state.message) views.forEach((view) => view.update({ shape: true }));
}

// Charts of one node; like the views they come and go with their page.
function mountCharts(place) {
  if (place === (charts?.root ?? null)) return;
  charts?.close();
  charts = place ? new Charts(place, () => state.message?.tick ?? null) : null;
}

// Explore's scripts are loaded with its page.
function mountExplore(place) {
  if (place) explore ??= import("../explore/main.js");
  explore?.then(({ mount }) => mount(place, () => state.message?.tick ?? null));
}

// So are those of the list of runs, which is shown once its grid is there.
function mountRuns(place) {
  if (place) runs ??= import("../runs/list.js");
  runs?.then(({ mount }) => mount(place));
}

// And those of a run's page.
function mountRun(place) {
  if (place) run ??= import("../run/main.js");
  run?.then(({ mount }) => mount(place, () => state.message?.tick ?? null));
}

// And the chart of a comparison.
function mountCompare(place) {
  if (place) compare ??= import("../compare/overlay.js");
  compare?.then(({ mount }) => mount(place));
}

// And the charts of an alert.
function mountAlert(place) {
  if (place) alert ??= import("../alert/main.js");
  alert?.then(({ mount }) => mount(place, () => state.message?.tick ?? null));
}

function draw() {
  asked = false;
  const started = performance.now();
  if (fresh) {
    state.bootstrap(fresh, started);
    fresh = null;
    views.forEach((view) => view.update({ shape: true }));
  }
  for (const message of waiting.splice(0)) {
    const changed = state.merge(message, started);
    state.record(KEEP_MS);
    views.forEach((view) => view.update(changed));
  }
  const said = showAge(state, linked, started);
  showTitle(titleOf(state.message?.title, said, linked));
  showBadge(state.message?.alerts);
  drawn = performance.now();
  cost = drawn - started;
}

// Ask for one drawing; the next not sooner after the last than the last one took.
function ask() {
  if (asked || document.hidden) return;
  asked = true;
  const pause = drawn + cost - performance.now();
  if (pause > 0) setTimeout(() => requestAnimationFrame(draw), pause);
  else requestAnimationFrame(draw);
}

const stream = new Stream(
  {
    bootstrap: (message) => ((fresh = message), (waiting.length = 0), ask()),
    message: (message) => (waiting.push(message), ask()),
    link: (ok) => ((linked = ok), ok || ask()),
  },
  MINUTES,
);

// The page that Dash has drawn takes over from the one in the HTML; a page change takes the views along.
function watch() {
  const entry = document.getElementById("react-entry-point");
  let first = document.getElementById("first");
  const look = () => {
    const live = entry.querySelector("[data-live-root]");
    if (entry.querySelector(".bar") && (live || entry.querySelector(".page"))) {
      first?.remove();
      first = null;
    }
    mount(live ?? first?.querySelector("[data-live-root]") ?? null);
    mountCharts(entry.querySelector("[data-series-node]"));
    mountExplore(entry.querySelector("[data-explore]") ?? first?.querySelector("[data-explore]") ?? null);
    mountRuns(entry.querySelector("[data-runs]"));
    mountRun(entry.querySelector("[data-run-page]") ?? first?.querySelector("[data-run-page]") ?? null);
    mountCompare(entry.querySelector("[data-overlay]"));
    mountAlert(entry.querySelector("[data-alert-evidence]") ?? first?.querySelector("[data-alert-evidence]") ?? null);
    lookForFragments();
    const panel = entry.querySelector("[data-faults]");
    if (panel) faults ??= new Faults(panel, () => state.message?.nodes.map((node) => node.name) ?? []);
    for (const link of document.querySelectorAll(".menu-link[href]")) {
      if (link.getAttribute("href") === location.pathname) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    showBadge(state.message?.alerts);
  };
  look();
  let queued = false;
  new MutationObserver(() => {
    if (queued) return;
    queued = true;
    requestAnimationFrame(() => ((queued = false), look()));
  }).observe(entry, { childList: true, subtree: true });
}

// Links made here behave like Dash's own: a page change without a reload.
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a.tile, a.inside, .fragment a[href^='/']:not([href^='/api/'])");
  if (!link || !plain(event)) return;
  event.preventDefault();
  go(link.href);
  scrollTo(0, 0);
});

// What other pages will want, once this one has what it needs.
function fetchAhead() {
  for (const link of document.querySelectorAll("link[rel=later]")) link.rel = "prefetch";
}

// The snapshot in the HTML has the numbers; what was recorded comes with the stream's bootstrap.
function begin() {
  startTheme();
  startFragments();
  startOrders(() => document.querySelectorAll("[data-fragment]").forEach(refresh));
  startReplays();
  startFilters(refresh);
  startLinks();
  startGoing();
  fresh = JSON.parse(document.getElementById("snapshot").textContent);
  watch();
  ask();
  stream.start();
  addEventListener("load", () => (globalThis.requestIdleCallback ?? setTimeout)(fetchAhead));
  setInterval(() => performance.now() - drawn > AGE_MS && ask(), AGE_MS);
}

if (document.getElementById("react-entry-point")) begin();
else document.addEventListener("DOMContentLoaded", begin);
