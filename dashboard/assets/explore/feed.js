// The data of one chart: asks once per change of the view, and afterwards only for what is new.

import { ask } from "./ask.js";
import { extended, joined } from "./lines.js";

// A line is about two pixels wide: more points than that cannot be told apart, and least and most of each are drawn.
const LATE_MS = 10000, MOST_POINTS = 1200, LEAST_POINTS = 120, POINT_PX = 2, STATS_MS = 5000;

// A count over all has the last counts of members that are away, of which a part of the stretch knows nothing.
const remembers = ({ kind }, [{ total, rate }]) => kind === "counter" && Boolean(total) && !rate;

export class Feed {
  constructor(metric) {
    this.metric = metric;
    this.pending = 0;
    this.answer = this.earlier = this.stats = null;
  }

  stop() {
    this.control?.abort();
  }

  // What a file of the same is asked for: of bins their width, which stays while the range goes on; else the points. null
  // before the first answer.
  get drawn() {
    if (!this.answer) return null;
    return this.answer.fold ? { step: `${this.answer.step_ms}ms` } : { points: String(this.points) };
  }

  // Ask anew; true when there is something to draw. Errors carry the server's sentence.
  async ask(questions, span, width, shift) {
    this.stop();
    const control = (this.control = new AbortController());
    Object.assign(this, { questions, shift, points: Math.min(Math.max(Math.ceil(width / POINT_PX), LEAST_POINTS), MOST_POINTS) });
    this.pending += 1;
    try {
      const [answer, earlier] = await Promise.all([
        this.all(span, { points: this.points, stats: 1 }),
        shift ? this.all([span[0] - shift, span[1] - shift], { points: this.points }).catch(() => null) : null,
      ]);
      if (control !== this.control) return false;
      Object.assign(this, { answer, earlier, stats: statsOf(answer, span), asked: performance.now(), span });
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
    if (span[1] - from > (span[1] - span[0]) / 2 || remembers(this.metric, this.questions)) return this.anew(span, width);
    this.pending += 1;
    try {
      const fresh = await this.all([from, span[1]], { ...(step ? { step: `${step}ms` } : { points: 5000 }), stats: 1 });
      if (control !== this.control) return false;
      const more = extended(answer, fresh, from, span[0]);
      if (!more) return this.anew(span, width);
      Object.assign(this, { answer: more, span });
      renew(this.stats.of, fresh);
    } catch (error) {
      if (error.status === 400) return this.anew(span, width);
      throw error;
    } finally {
      this.pending -= 1;
    }
    return true;
  }

  anew(span, width) {
    return this.ask(this.questions, span, width, this.shift);
  }

  // Least, mean, most and last of the whole stretch, as the server told them with the answer; of a range that goes on
  // they are asked for every few seconds. {span, of: Map(identity → {min, mean, max, last, relation, last_relation})}
  async summarise(span) {
    const now = performance.now(), { stats, control } = this;
    if (stats.span[0] === span[0] && stats.span[1] === span[1]) return stats;
    if (now - this.asked < STATS_MS) return stats;
    this.asked = now;
    const whole = await this.all(span, { points: this.points, stats: "only" });
    if (control !== this.control) return null;
    return (this.stats = statsOf(whole, span));
  }
}

export function statsOf(answer, span) {
  return { span, of: new Map(answer.series.map((one) => [JSON.stringify(one.labels), one.stats])) };
}

// What newer answers add: their last is the last of all, and their least and most widen those of the stretch at once,
// so that no value stands beside a most that it exceeds. A mean waits for the server.
export function renew(of, fresh) {
  for (const { labels, stats } of fresh.series) {
    const key = JSON.stringify(labels), told = of.get(key);
    if (stats.last === null) continue;
    if (!told) of.set(key, { ...stats, mean: null });
    else Object.assign(told, { last: stats.last, last_relation: stats.last_relation, ...widened(told, stats) });
  }
}

function widened(told, { min, max, relation }) {
  const higher = known(max) && (!known(told.max) || max > told.max), lower = known(min) && (!known(told.min) || min < told.min);
  return { ...(lower && { min }), ...(higher && { max, relation }) };
}

const known = (value) => value !== null && value !== undefined;
