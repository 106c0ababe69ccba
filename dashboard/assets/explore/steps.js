// What leads from one view to the next: every step is an address, and most are an entry in the browser's history.

import { moved, rangeFrom, wider, write } from "./view.js";

const DEEPEST = 30;

export class Steps {
  // Change the view: a new entry in the browser's history, or the same one where nothing of the data changes.
  go(changes, { trail = this.trail, replace = false } = {}) {
    this.view = { ...this.view, ...changes };
    this.trail = trail;
    history[replace ? "replaceState" : "pushState"]({ trail }, "", location.pathname + write(this.view));
    return this.show();
  }

  zoom([from, to]) {
    const range = rangeFrom(from, to, this.now());
    this.go({ range }, { trail: [...this.trail, this.view.range].slice(-DEEPEST) });
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
}
