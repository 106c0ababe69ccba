// The page Explore: one view, which is the address; its charts, and what they share (range, crosshair, colours).

import { element, setAttribute } from "../live/dom.js";
import { onThemeChange } from "../live/theme.js";
import { tellZoomed } from "../live/zoom.js";
import { Chart } from "./chart.js";
import { Drawer } from "./drawer.js";
import { useTables } from "./format.js";
import { Notes } from "./notes.js";
import { Readout } from "./readout.js";
import { Strip } from "./strip.js";
import { TableView } from "./table.js";
import { Toolbar } from "./toolbar.js";
import { moved, parse, rangeFrom, spanOf, wider, write } from "./view.js";

const LENGTH_MS = 900000, FASTEST_MS = 2000, SLOWEST_MS = 30000;

export class Explorer {
  constructor(config, hubNow) {
    useTables(config);
    Object.assign(this, { config, hubNow, charts: [], cursor: null, brush: null, catalogue: new Map(), closed: false });
    this.place = element("div", "explore-body");
    this.drawer = new Drawer(this);
    this.notes = new Notes(this);
    this.toolbar = new Toolbar(this);
    this.strip = new Strip(this);
    this.list = element("div", "explore-charts");
    this.table = new TableView(this);
    this.place.append(this.toolbar.box, this.strip.box, this.list, this.table.box, this.notes.box, this.drawer.box);
    this.readout = new Readout(this.place);
    this.forget = onThemeChange(() => this.draw());
    this.read();
    this.popped = () => this.closed || location.pathname !== this.path || (this.read(), this.show());
    this.path = location.pathname;
    addEventListener("popstate", this.popped);
    this.seen = () => document.hidden || this.tick();
    document.addEventListener("visibilitychange", this.seen);
    this.begin();
  }

  attach(root) {
    if (this.place.parentNode === root) return;
    root.append(this.place);
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    removeEventListener("popstate", this.popped);
    document.removeEventListener("visibilitychange", this.seen);
    this.forget();
    this.charts.forEach((chart) => chart.close());
    this.place.remove();
    tellZoomed(false);
  }

  async begin() {
    try {
      const answer = await fetch("/api/v1/metrics", { cache: "no-store" });
      const { metrics } = await answer.json();
      this.catalogue = new Map(metrics.map((metric) => [metric.name, metric]));
    } catch {
      this.toolbar.say("The server does not answer.");
      if (!this.closed) setTimeout(() => this.begin(), FASTEST_MS);
      return;
    }
    if (this.closed) return;
    await this.show();
  }

  now() {
    return this.hubNow() ?? Date.now();
  }

  read() {
    this.view = parse(location.search, { metrics: this.config.metrics, length: LENGTH_MS });
    this.trail = history.state?.trail ?? [];
  }

  // Change the view: a new entry in the browser's history, or the same one where nothing of the data changes.
  go(changes, { trail = this.trail, replace = false } = {}) {
    this.view = { ...this.view, ...changes };
    this.trail = trail;
    history[replace ? "replaceState" : "pushState"]({ trail }, "", location.pathname + write(this.view));
    return this.show();
  }

  // Draw what is known of the view, and ask for the rest.
  async show() {
    clearTimeout(this.timer);
    this.span = spanOf(this.view.range, this.now());
    tellZoomed(!this.view.range.length);
    this.arrange();
    this.toolbar.write();
    this.strip.write();
    setAttribute(this.place, "data-state", "loading");
    const asked = (this.asked = {});
    await Promise.all([...this.charts.map((chart) => chart.show(this.view, this.span)), this.notes.load(this.span)]);
    if (asked !== this.asked) return;
    setAttribute(this.place, "data-state", "ready");
    this.table.write();
    this.toolbar.write();
    this.later();
  }

  // One chart per metric, in the view's order; those that stay keep what they have.
  arrange() {
    const have = new Map(this.charts.map((chart) => [chart.metric.name, chart]));
    const wanted = this.view.metrics.filter((name) => this.catalogue.has(name));
    this.unknown = this.catalogue.size ? this.view.metrics.filter((name) => !this.catalogue.has(name)) : [];
    this.charts = wanted.map((name) => have.get(name) ?? new Chart(this, this.catalogue.get(name)));
    for (const [name, chart] of have) if (!wanted.includes(name)) chart.close();
    this.charts.forEach((chart, at) => {
      if (this.list.children[at] !== chart.box) this.list.insertBefore(chart.box, this.list.children[at] ?? null);
    });
    this.list.style.setProperty("--charts", Math.max(this.charts.length, 1));
    setAttribute(this.place, "data-empty", this.catalogue.size && !this.charts.length ? "true" : "");
  }

  // A range that ends now goes on: as often as it moves by a pixel, within reason, and not while nobody looks.
  later() {
    clearTimeout(this.timer);
    if (this.closed || !this.view.range.length) return;
    const pixel = this.view.range.length / (this.charts[0]?.width ?? 800);
    this.timer = setTimeout(() => this.tick(), Math.min(Math.max(pixel, FASTEST_MS), SLOWEST_MS));
  }

  async tick() {
    if (this.closed || document.hidden || !this.view.range.length || this.place.dataset.state !== "ready") return;
    clearTimeout(this.timer);
    const asked = this.asked;
    this.span = spanOf(this.view.range, this.now());
    await Promise.all([...this.charts.map((chart) => chart.follow(this.span)), this.notes.load(this.span)]);
    if (asked !== this.asked) return;
    this.strip.write();
    this.table.write();
    this.toolbar.write();
    this.later();
  }

  draw() {
    this.charts.forEach((chart) => chart.draw());
    this.strip.write();
  }

  // The crosshair of all charts; null takes it away.
  point(instant, by = null) {
    if (this.cursor === null && instant === null && !this.brush) return;
    this.cursor = instant;
    if (by || instant === null) this.charts.forEach((chart) => chart !== by && (chart.near = null));
    if (this.drawing) return;
    this.drawing = requestAnimationFrame(() => {
      this.drawing = 0;
      this.charts.forEach((chart) => chart.drawOver());
      if (this.cursor === null || this.brush) this.readout.hide();
      else this.readout.show(this.cursor, this.charts, by, this.now());
      this.strip.point(this.cursor, this.brush);
    });
  }

  zoom([from, to]) {
    const range = rangeFrom(from, to, this.now());
    this.go({ range }, { trail: [...this.trail, this.view.range].slice(-30) });
  }

  // One step out: to where the last zoom came from, else three times as wide.
  out() {
    this.brush = null;
    const range = this.trail.at(-1) ?? wider(this.view.range, this.now());
    this.go({ range }, { trail: this.trail.slice(0, -1) });
  }

  shift(share) {
    this.go({ range: moved(this.view.range, share, this.now()) });
  }

  setRange(range) {
    this.go({ range }, { trail: [] });
  }

  addMetric(name) {
    if (!this.view.metrics.includes(name)) this.go({ metrics: [...this.view.metrics, name] });
  }

  removeMetric(name) {
    this.go({ metrics: this.view.metrics.filter((one) => one !== name) });
  }

  isolate(name) {
    this.look({ only: this.view.only === name ? "" : name });
  }

  hide(name) {
    const { hide, only } = this.view;
    this.look({ only: only === name ? "" : only, hide: hide.includes(name) ? hide.filter((one) => one !== name) : [...hide, name] });
  }

  // What changes only which lines are drawn needs no new data, and is no step of its own in the history.
  look(changes) {
    this.view = { ...this.view, ...changes };
    history.replaceState({ trail: this.trail }, "", location.pathname + write(this.view));
    this.draw();
    this.charts.forEach((chart) => chart.legend.mark());
    this.table.write();
    this.toolbar.write();
  }

  highlight(name) {
    for (const chart of this.charts) {
      const strong = name && chart.shown().some((line) => line.name === name) ? name : null;
      if (chart.strong === strong) continue;
      chart.strong = strong;
      chart.draw();
    }
  }
}
