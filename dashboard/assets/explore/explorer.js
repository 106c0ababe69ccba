// The page Explore: one view, which is the address; its charts, and what they share (range, crosshair, colours).

import { element, setAttribute } from "../live/dom.js";
import { onThemeChange } from "../live/theme.js";
import { tellZoomed } from "../live/zoom.js";
import { Chart } from "./chart.js";
import { Drawer } from "./drawer.js";
import { useTables } from "./format.js";
import { ofName } from "./lines.js";
import { Notes } from "./notes.js";
import { closePops } from "./pop.js";
import { Readout } from "./readout.js";
import { Rules } from "./rules.js";
import { Strip } from "./strip.js";
import { TableView } from "./table.js";
import { Toolbar } from "./toolbar.js";
import { Steps } from "./steps.js";
import { parse, spanOf } from "./view.js";

const LENGTH_MS = 900000, FASTEST_MS = 2000, SLOWEST_MS = 30000;

export class Explorer extends Steps {
  constructor(config, hubNow) {
    super();
    useTables(config);
    Object.assign(this, { config, hubNow, charts: [], cursor: null, brush: null, catalogue: new Map(), closed: false });
    this.place = element("div", "explore-body");
    this.drawer = new Drawer(this);
    this.notes = new Notes(this);
    this.rules = new Rules();
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
    closePops();
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
    await Promise.all([...this.charts.map((chart) => chart.show(this.view, this.span)), this.told(true)]);
    if (asked !== this.asked) return;
    setAttribute(this.place, "data-state", "ready");
    this.table.write();
    this.toolbar.write();
    this.later();
  }

  // What happened, and what rules say of it.
  async told(anew) {
    const [, changed] = await Promise.all([this.notes.load(this.span), this.rules.load(this.charts.map((chart) => chart.metric.name), this.span, anew)]);
    if (changed) this.draw();
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
    await Promise.all([...this.charts.map((chart) => chart.follow(this.span)), this.told(false)]);
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

  // A name in one legend lights up what it means in every chart.
  highlight(name) {
    if (this.lit === name) return;
    this.lit = name;
    for (const chart of this.charts) {
      const strong = name ? ofName(chart.shown(), name) : null;
      if (strong === chart.strong) continue;
      chart.strong = strong;
      chart.draw();
    }
  }
}
