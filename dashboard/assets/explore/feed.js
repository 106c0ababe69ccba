// The data of one chart: asks once per change of the view, and afterwards only for what is new.

import { ask } from "./ask.js";
import { extended, joined } from "./lines.js";

const LATE_MS = 10000, MOST_POINTS = 1200, LEAST_POINTS = 120, STATS_MS = 5000;

export class Feed {
  constructor(metric) {
    this.metric = metric;
    this.pending = 0;
    this.answer = this.earlier = this.stats = null;
  }

  stop() {
    this.control?.abort();
  }

  // Ask anew; true when there is something to draw. Errors carry the server's sentence.
  async ask(questions, span, width, shift) {
    this.stop();
    const control = (this.control = new AbortController());
    Object.assign(this, { questions, shift, points: Math.min(Math.max(width, LEAST_POINTS), MOST_POINTS) });
    this.pending += 1;
    try {
      const [answer, earlier] = await Promise.all([
        this.all(span, { points: this.points }),
        shift ? this.all([span[0] - shift, span[1] - shift], { points: this.points }).catch(() => null) : null,
      ]);
      if (control !== this.control) return false;
      Object.assign(this, { answer, earlier, stats: null, span });
    } finally {
      this.pending -= 1;
    }
    return true;
  }

  async all([start, end], range) {
    const asked = { start: Math.floor(start), end: Math.ceil(end), ...range };
    return joined(await Promise.all(this.questions.map((one) => ask(one, asked, this.control.signal))));
  }

  // The part since the last answer; all of it where the old answer cannot go on.
  async follow(span, width) {
    if (!this.answer || this.pending) return false;
    const { answer } = this, control = this.control, step = answer.fold ? answer.step_ms : 0;
    const from = step ? Math.floor((this.span[1] - LATE_MS) / step) * step : Math.floor(this.span[1] - LATE_MS);
    if (span[1] - from > (span[1] - span[0]) / 2) return this.ask(this.questions, span, width, this.shift);
    this.pending += 1;
    try {
      const fresh = await this.all([from, span[1]], step ? { step: `${step}ms` } : { points: 5000 });
      if (control !== this.control) return false;
      const more = extended(answer, fresh, from, span[0]);
      if (!more) return this.renew(span, width);
      Object.assign(this, { answer: more, span });
    } catch (error) {
      if (error.status === 400) return this.renew(span, width);
      throw error;
    } finally {
      this.pending -= 1;
    }
    return true;
  }

  renew(span, width) {
    return this.ask(this.questions, span, width, this.shift);
  }

  // Least, mean and most of the whole stretch, worked out by the server from every sample (one bin), and what stands at
  // its end. {of: Map(identity → {min, mean, max, last, relation})}
  async summarise(span) {
    const now = performance.now();
    if (this.stats && this.stats.span[0] === span[0] && this.stats.span[1] === span[1]) return this.stats;
    if (this.stats && now - this.asked < STATS_MS) return this.stats;
    this.asked = now;
    const control = this.control;
    const [whole, end] = await Promise.all([
      // What was answered from hours would take too many samples to be worked out anew.
      this.answer.resolution === "hours" ? extremes(this.answer) : this.all(span, { points: 1 }).catch((error) => (error.status === 400 ? extremes(this.answer) : Promise.reject(error))),
      this.all([Math.max(span[0], span[1] - LATE_MS), span[1]], { points: 5000 }),
    ]);
    if (control !== this.control) return null;
    this.stats = { span, of: new Map() };
    for (const one of whole.series) this.stats.of.set(JSON.stringify(one.labels), numbers(one));
    for (const one of end.series) Object.assign(this.stats.of.get(JSON.stringify(one.labels)) ?? {}, newest(one));
    return this.stats;
  }
}

// Least and most of each line from an answer in bins, which have both exactly; a mean does not follow from theirs.
export function extremes(answer) {
  const over = (values, choose) => {
    const told = (values ?? []).filter((value) => value !== null);
    return [told.length ? told.reduce((a, b) => choose(a, b)) : null];
  };
  return { series: answer.series.map((one) => ({ labels: one.labels, min: over(one.min ?? one.v, Math.min), max: over(one.max ?? one.v, Math.max), mean: [null] })) };
}

function numbers(one) {
  const pick = (name) => (one[name] ?? one.v)?.[0] ?? null;
  return { min: pick("min"), mean: pick("mean"), max: pick("max"), relation: one.relation?.[0] ?? null, last: null };
}

function newest(one) {
  const values = one.v ?? one.last ?? one.mean;
  let index = values.length - 1;
  while (index >= 0 && values[index] === null) index -= 1;
  return index < 0 ? {} : { last: values[index], lastRelation: one.relation?.[index] ?? null };
}
