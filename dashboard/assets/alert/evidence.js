// The minutes around an alert: what its rule read, and what else is kept, under one crosshair. What is kept stands here
// when the machine is dead and the samples are given up; until it is kept, what was read so far.

import { Closer } from "../explore/closer.js";
import { useTables } from "../explore/format.js";
import { clockText, instantText } from "../explore/time.js";
import { element, setText } from "../live/dom.js";
import { onThemeChange } from "../live/theme.js";
import { LineChart } from "./lines.js";
import { SpanChart } from "./spans.js";

// A young store is drawn from where it begins, but no shorter than this before the alert.
const EVERY_MS = 15000, LEAST_MS = 60000;
const NOTHING = "Nothing is kept of these minutes: no samples were there when it could have been.";
const CUT = "there was more than is kept", OUT = "a double click goes one step out";

export class Evidence {
  // place: where it stands, with the alert's number; hubNow(): instant of the newest tick.
  constructor(place, hubNow) {
    const config = JSON.parse(place.dataset.tables);
    useTables(config);
    Object.assign(this, { place, hubNow, colours: config.colours, charts: [], cursor: null, closed: false });
    this.steps = new Closer(this);
    this.parts = { rule: this.part("What the rule read"), beside: this.part("Beside it") };
    this.forget = onThemeChange(() => this.draw());
    this.seen = () => document.hidden || this.found?.kept || this.load();
    document.addEventListener("visibilitychange", this.seen);
    this.load();
  }

  part(title) {
    const box = element("section", "panel evidence"), head = element("div", "head"), said = element("span", "note aside"), list = element("div", "evidence-charts");
    box.hidden = true;
    head.append(element("h2", "", title), said);
    box.append(head, list);
    this.place.append(box);
    return { box, said, list };
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    this.forget();
    document.removeEventListener("visibilitychange", this.seen);
    this.charts.forEach((chart) => chart.close());
    this.steps.close();
    this.place.replaceChildren();
  }

  // What is shown: all of it, or what somebody chose.
  get span() {
    return this.steps.span;
  }

  now() {
    return this.hubNow() ?? Date.now();
  }

  async load() {
    clearTimeout(this.timer);
    try {
      const answer = await fetch(`/api/v1/alerts/${encodeURIComponent(this.place.dataset.alertEvidence)}/charts`, { cache: "no-store" });
      if (this.closed) return;
      if (answer.ok) this.show(await answer.json());
      else if (answer.status < 500) return; // there is no such alert: the part above says so
    } catch {
      // The server is away: the header says so, and the charts keep what they have.
    }
    if (!this.closed && !this.found?.kept && !document.hidden) this.timer = setTimeout(() => this.load(), EVERY_MS);
  }

  show(found) {
    this.found = found;
    this.whole = [Math.min(Math.max(found.start, found.t[0] ?? found.start), found.alert.fired - LEAST_MS), found.kept ? found.end : Math.min(found.end, Math.max(this.now(), found.alert.fired + 1000))];
    const names = found.charts.map((one) => `${one.of} ${one.spans} ${one.label}`).join("|");
    if (names !== this.names) this.build(names);
    this.closer();
    for (const [of, part] of Object.entries(this.parts)) part.box.hidden = !found.charts.some((one) => one.of === of);
    this.empty();
  }

  // Every chart over the span that holds now.
  closer() {
    this.found.charts.forEach((one, at) => this.charts[at].show(one, this.found));
    this.write();
  }

  build(names) {
    this.names = names;
    this.charts.forEach((chart) => chart.close());
    this.charts = this.found.charts.map((one) => new (one.spans ? SpanChart : LineChart)(this, one.of === "rule"));
    this.found.charts.forEach((one, at) => this.parts[one.of].list.append(this.charts[at].box));
  }

  // How far what stands here is to be trusted, and of which instant the numbers beside the names are.
  write() {
    const { kept, due, cut, alert } = this.found, at = this.cursor ?? alert.fired;
    const state = kept ? "kept for good" : `so far; kept for good at ${clockText(due)}`;
    setText(this.parts.rule.said, [cut ? CUT : "", state, this.steps.zoomed ? OUT : ""].filter(Boolean).join(" · "));
    setText(this.parts.beside.said, this.cursor === null ? "values when it fired" : `values at ${instantText(Math.round(at / 1000) * 1000, this.now())}`);
    this.charts.forEach((chart) => chart.tell(at));
  }

  empty() {
    this.none ??= element("p", "note");
    setText(this.none, this.found.charts.length ? "" : NOTHING);
    this.none.hidden = this.found.charts.length > 0;
    if (!this.none.isConnected) this.place.append(this.none);
  }

  draw() {
    this.charts.forEach((chart) => chart.draw());
  }

  // The crosshair of all charts; null takes it away.
  point(instant) {
    this.cursor = instant;
    if (this.drawing) return;
    this.drawing = requestAnimationFrame(() => {
      this.drawing = 0;
      if (this.closed) return;
      this.charts.forEach((chart) => chart.drawOver());
      this.write();
    });
  }
}
