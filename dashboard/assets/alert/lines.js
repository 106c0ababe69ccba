// A reading around an alert as lines: the alert's own before the others, the numbers that its rule compares it with, and
// since when it was wrong.

import { paint, paintLines } from "../explore/colours.js";
import { drawChart, placer, valueAxis } from "../explore/draw.js";
import { text } from "../explore/format.js";
import { at, linesOf } from "../explore/lines.js";
import { ticks } from "../explore/time.js";
import { setText } from "../live/dom.js";
import { Plot } from "./plot.js";

const STEP_MS = 1000, NAMED = 3, LABEL_PX = 72;

// Lines of a chart, the alert's own marked. t: instants of all of them.
export function linesOfChart({ label, lines }, t) {
  const own = new Set(lines.filter((one) => one.own).map((one) => one.labels));
  const series = lines.map(({ labels, v }) => ({ labels, t, v }));
  return linesOf({ series, step_ms: STEP_MS }, label).map((line) => ({ ...line, own: own.has(line.labels) }));
}

// From when on it was wrong, pale; from when on it fired. end: of what is drawn, where it goes on.
export function bandsOf({ began, fired, ended, severity }, end) {
  const band = { fired, ended: ended ?? end, severity };
  return began < fired ? [{ fired: began, ended: fired, severity: "" }, band] : [band];
}

// What a chart says of an instant: the alert's own value, else each of a few, else how far they reach.
export function valueText(lines, instant, unit) {
  const own = lines.filter((line) => line.own), told = own.length ? own : lines;
  const known = told.map((line) => [line, at(line, instant)]).filter(([, index]) => index >= 0).map(([line, index]) => [line.name, line.mid[index]]);
  if (!known.length) return "–";
  if (known.length === 1) return text(known[0][1], unit);
  if (known.length <= NAMED) return known.map(([name, value]) => `${name} ${text(value, unit)}`).join(" · ");
  const values = known.map(([, value]) => value);
  return `${text(Math.min(...values), unit)} – ${text(Math.max(...values), unit)}`;
}

export class LineChart extends Plot {
  show(chart, found) {
    this.chart = chart;
    this.lines = paintLines(linesOfChart(chart, found.t), this.evidence.colours);
    this.bands = bandsOf(found.alert, this.span[1]);
    const limits = chart.limits.filter((one) => !one.over).map(({ value }) => ({ t: [this.span[0]], mid: [value], low: null, high: null }));
    this.scale = valueAxis([...this.lines, ...limits], this.span, 0, chart.unit, false);
    this.name(chart, this.scale.unit);
    this.draw();
  }

  draw() {
    const context = this.chart && this.begin(this.canvas);
    if (!context) return;
    const { lines, chart, span, size } = this, several = lines.length > 1 && lines.some((line) => line.own);
    drawChart(context, {
      size, lines, span, width: 0, axis: this.scale, ticks: ticks(span, this.width, LABEL_PX), paint, earlier: [], shift: 0,
      strong: several ? (line) => line.own : null, notes: [], holes: [], limits: chart.limits, fired: this.bands, now: span[1], font: context.font,
    });
    this.labels();
    this.drawOver();
  }

  drawOver() {
    const context = super.drawOver();
    if (!context || !this.scale) return;
    const place = placer(this.size, this.span, this.scale);
    for (const line of this.lines) {
      const index = at(line, this.evidence.cursor);
      if (index < 0) continue;
      context.fillStyle = paint(line.colour);
      context.beginPath();
      context.arc(place.x(line.t[index]), place.y(line.mid[index]), line.own ? 3.5 : 2, 0, 7);
      context.fill();
    }
  }

  tell(instant) {
    setText(this.value, valueText(this.lines, instant, this.chart.unit));
  }
}
