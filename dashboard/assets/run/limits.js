// Values at which rules begin to hold, of what a run's lanes show; asked for once for each metric.

export class Limits {
  // changed: called when there are new ones.
  constructor(changed) {
    Object.assign(this, { changed, known: {} });
  }

  of(metrics) {
    return metrics.flatMap((metric) => this.known[metric] ?? []);
  }

  // answers: by the keys of their lines.
  async ask(...answers) {
    const metrics = answers.flatMap((one) => Object.values(one ?? {})).map((one) => one.metric);
    const missing = [...new Set(metrics)].filter((metric) => !(metric in this.known));
    if (!missing.length) return;
    for (const metric of missing) this.known[metric] = [];
    try {
      const answer = await fetch(`/api/v1/rules/limits?${new URLSearchParams({ metric: missing.join() })}`, { cache: "no-store" });
      if (answer.ok) Object.assign(this.known, (await answer.json()).limits);
    } catch {
      for (const metric of missing) delete this.known[metric]; // the server is away: the header says so
    }
    if (this.of(missing).length) this.changed();
  }
}
