// Limits and alerts of the charts, asked for when the view changes, and alerts again now and then.

import { instantText } from "./time.js";

const AGAIN_MS = 10000, MOST = 500;

async function get(address) {
  const answer = await fetch(address, { cache: "no-store" });
  return answer.ok ? answer.json() : null;
}

// An alert stands where it fired; since when it was wrong is said.
export function firedText({ title, began, fired }) {
  return began < fired ? `${title} fired; it was wrong since ${instantText(began, fired)}` : `${title} fired`;
}

export class Rules {
  constructor() {
    Object.assign(this, { limits: {}, alerts: [], at: -Infinity, metrics: "" });
  }

  // anew: the view has changed. Resolves to whether something is otherwise than before.
  async load(metrics, [start, end], anew) {
    const wanted = metrics.join(), span = new URLSearchParams({ start: Math.floor(start), end: Math.ceil(end), limit: MOST });
    if (!wanted || (!anew && performance.now() - this.at < AGAIN_MS)) return false;
    this.at = performance.now();
    try {
      const [limits, found] = await Promise.all([
        wanted === this.metrics && !anew ? null : get(`/api/v1/rules/limits?${new URLSearchParams({ metric: wanted })}`),
        get(`/api/v1/alerts?${span}`),
      ]);
      const before = JSON.stringify([this.limits, this.alerts]);
      if (limits) Object.assign(this, { limits: limits.limits, metrics: wanted });
      if (found) this.alerts = found.alerts.filter((alert) => alert.state !== "inhibited");
      return JSON.stringify([this.limits, this.alerts]) !== before;
    } catch {
      return false; // the header says that the server is away; what is drawn stays
    }
  }

  // As entries among the events.
  events() {
    return this.alerts.map((alert) => ({ t: alert.fired, end: alert.ended, kind: "alert", target: alert.key[0] ?? null, text: firedText(alert) }));
  }
}
