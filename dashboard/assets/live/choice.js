// Which reading the map shows: a switch, kept in the address.

import { element } from "./dom.js";

const LABELS = { power: "Power", utilization: "Util", clock: "Clock", temperature: "Temp", memory: "Memory", interconnect: "Fabric" };
// The reading that the address names survives a reload; there is no default in it.
const FIRST = "power";
let chosen = FIRST;

// The address with this choice, everything else in it kept.
export function addressWith(address, key) {
  const next = new URL(address);
  if (key === FIRST) next.searchParams.delete("map");
  else next.searchParams.set("map", key);
  return next.href;
}

export class Choice {
  // changed: called when another reading was chosen.
  constructor(place, state, changed) {
    Object.assign(this, { place, state, changed });
    chosen = new URLSearchParams(location.search).get("map") ?? chosen;
    this.keep();
  }

  close() {
    this.place.replaceChildren();
  }

  get metrics() {
    return this.state.history?.map_metrics ?? [];
  }

  get metric() {
    return this.metrics.find((metric) => metric.key === chosen) ?? this.metrics[0];
  }

  build() {
    this.place.replaceChildren(
      ...this.metrics.map((metric) => {
        const button = element("button", "", LABELS[metric.key] ?? metric.label);
        button.title = metric.label;
        button.type = "button";
        button.setAttribute("role", "radio");
        button.addEventListener("click", () => this.choose(metric.key));
        button.addEventListener("keydown", (event) => this.step(event));
        return button;
      }),
    );
    this.mark();
  }

  mark() {
    [...this.place.children].forEach((button, index) => {
      const on = this.metrics[index] === this.metric;
      button.setAttribute("aria-checked", String(on));
      button.tabIndex = on ? 0 : -1;
    });
  }

  keep() {
    const next = addressWith(location.href, chosen);
    if (next !== location.href) history.replaceState(history.state, "", next);
  }

  choose(key) {
    chosen = key;
    this.keep();
    this.mark();
    this.changed();
  }

  step(event) {
    const { metrics } = this, move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!move) return;
    event.preventDefault();
    const at = (metrics.indexOf(this.metric) + move + metrics.length) % metrics.length;
    this.choose(metrics[at].key);
    this.place.children[at].focus();
  }
}
