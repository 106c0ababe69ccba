// When a rule would have fired, on the course of what it reads: a chart for each metric, and how often in each week.

import { Closer } from "../explore/closer.js";
import { paint, paintLines } from "../explore/colours.js";
import { drawChart, valueAxis } from "../explore/draw.js";
import { text, useTables } from "../explore/format.js";
import { at, linesOf } from "../explore/lines.js";
import { dayText, instantText, ticks, WEEK } from "../explore/time.js";
import { element, setText } from "../live/dom.js";
import { onThemeChange } from "../live/theme.js";
import { Plot } from "./plot.js";

const MOST_CHARTS = 3, MOST_LINES = 16, POINTS = 600, LABEL_PX = 72;
const BARS = "bars above a chart are when it would have fired";
// Of less than a week the sentence above has said how often.
const RESTING = { true: `How often in each week, as far as something was recorded; below, ${BARS}`, false: `B${BARS.slice(1)}` };

// [[from, to, count]] of whole weeks back from the end of what was recorded; the first may be shorter. Oldest first.
export function weeks(fired, [start, end]) {
  const found = [];
  for (let to = end; to > start; to -= WEEK) {
    const from = Math.max(to - WEEK, start);
    found.unshift([from, to, fired.filter((one) => (one.fired > from || from === start) && one.fired <= to).length]);
  }
  return found;
}

// Lines of a metric that a rule would have looked at: of those whose owner it would have fired for, else of all.
export function looked(lines, { labels }, owners) {
  const asked = lines.filter((line) => Object.entries(labels).every(([name, texts]) => texts.includes(line.labels[name])));
  const hit = asked.filter((line) => owners.has(line.labels.target?.replace(/^deployment\//, "")));
  return (hit.length ? hit : asked).slice(0, MOST_LINES);
}

export class Replayed {
  constructor(found) {
    const config = JSON.parse(document.querySelector("[data-tables]").dataset.tables);
    useTables(config);
    const [first, last] = found.recorded;
    Object.assign(this, { colours: config.colours, found, whole: [Math.max(first, found.start), last], cursor: null, steps: new Closer(this) });
    this.place = element("div", "evidence-charts replay-charts");
    if (!first || last <= first) return;
    this.said = element("p", "note");
    this.many = last - this.whole[0] > WEEK;
    if (this.many) this.place.append(this.weeks());
    this.place.append(this.said);
    this.charts = found.metrics.slice(0, MOST_CHARTS).map((metric) => new ReplayChart(this, metric));
    this.charts.forEach((chart) => this.place.append(chart.box));
    const forget = onThemeChange(() => (this.place.isConnected ? this.charts.forEach((chart) => chart.draw()) : forget()));
    this.point(null);
  }

  get span() {
    return this.steps.span;
  }

  closer() {
    this.charts.forEach((chart) => chart.load());
  }

  weeks() {
    const list = element("ul", "replay-weeks");
    list.append(...weeks(this.found.fired, this.whole).map(([from, to, count]) => {
      const made = element("li");
      made.title = `${instantText(from, to)} – ${instantText(to, to)}`;
      made.append(element("b", "", String(count)), element("span", "note", `to ${dayText(to)}`));
      return made;
    }));
    return list;
  }

  point(instant) {
    this.cursor = instant;
    setText(this.said, instant === null ? RESTING[this.many] : instantText(Math.round(instant / 1000) * 1000, this.span[1]));
    this.charts.forEach((chart) => (chart.drawOver(), chart.tell(instant)));
  }
}

class ReplayChart extends Plot {
  constructor(replayed, metric) {
    super(replayed, false);
    this.metric = metric;
    this.load();
  }

  async load() {
    const { found, span, colours } = this.evidence, { metric, rate } = this.metric;
    const query = new URLSearchParams({ metric, start: Math.floor(span[0]), end: Math.ceil(span[1]), points: POINTS, ...(rate ? { rate: 1 } : {}) });
    const answer = await fetch(`/api/v1/series?${query}`, { cache: "no-store" }).then((one) => (one.ok ? one.json() : null), () => null);
    if (!answer) return void this.box.remove(); // too much for one answer, or the server is away: the list stands without it
    const owners = new Set(found.fired.map((one) => one.key[0]));
    this.lines = paintLines(looked(linesOf(answer, this.metric.label), this.metric, owners), colours);
    this.bin = answer.fold ? answer.step_ms : 0;
    this.bands = found.fired.map((one) => ({ ...one, severity: found.severity }));
    const limits = this.metric.limits.filter((one) => !one.over).map(({ value }) => ({ t: [span[0]], mid: [value], low: null, high: null }));
    this.scale = valueAxis([...this.lines, ...limits], span, this.bin, this.metric.unit, false);
    this.name(this.metric, this.scale.unit);
    this.draw();
  }

  draw() {
    const context = this.scale && this.begin(this.canvas);
    if (!context) return;
    const { size, lines, span, bin } = this;
    drawChart(context, {
      size, lines, span, width: bin, axis: this.scale, ticks: ticks(span, this.width, LABEL_PX), paint, earlier: [], shift: 0, strong: null,
      notes: [], holes: [], limits: this.metric.limits, fired: this.bands, now: span[1], font: context.font,
    });
    this.labels();
    this.drawOver();
  }

  tell(instant) {
    if (!this.lines) return;
    const known = instant === null ? [] : this.lines.map((line) => line.mid[at(line, instant, this.bin)] ?? null).filter((value) => value !== null);
    const [least, most] = [Math.min(...known), Math.max(...known)].map((value) => text(value, this.metric.unit));
    setText(this.value, !known.length ? "" : least === most ? least : `${least} – ${most}`);
  }
}
