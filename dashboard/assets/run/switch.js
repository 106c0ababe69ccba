// Which reading the map of the nodes shows: one click each, and the ends of its colours beside.

import { element } from "../live/dom.js";

const LABELS = { power: "Power", utilization: "Util", clock: "Clock", temperature: "Temp", memory: "Memory", interconnect: "Fabric" };

export class Switch {
  constructor(choose) {
    this.choose = choose;
    this.box = element("div", "switch");
    this.box.setAttribute("role", "radiogroup");
    this.box.ariaLabel = "Reading of the nodes";
    this.scale = element("div", "scale");
    this.scale.append(element("span"), element("i"), element("span"));
  }

  write(readings, reading, ramp) {
    const key = readings.map((one) => one.key).join();
    if (this.key !== key) {
      this.key = key;
      this.box.replaceChildren(...readings.map((one, at) => this.button(one, at, readings)));
    }
    [...this.box.children].forEach((button, at) => {
      const on = readings[at].key === reading.key;
      button.setAttribute("aria-checked", String(on));
      button.tabIndex = on ? 0 : -1;
    });
    ramp.legend(this.scale);
  }

  button({ key, label }, at, readings) {
    const made = element("button", "", LABELS[key] ?? label);
    Object.assign(made, { type: "button", title: label });
    made.setAttribute("role", "radio");
    made.addEventListener("click", () => this.choose(key));
    made.addEventListener("keydown", (event) => {
      const move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!move) return;
      event.preventDefault();
      const next = (at + move + readings.length) % readings.length;
      this.choose(readings[next].key);
      this.box.children[next].focus();
    });
    return made;
  }
}
