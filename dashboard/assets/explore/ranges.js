// When: lengths that end now, a typed or picked stretch in the viewer's zone, and the steps between views.

import { zoneName } from "../live/age.js";
import { element, setAttribute, setText } from "../live/dom.js";
import { Pop } from "./pop.js";
import { DAY, fromInput, inputText, lengthText, spanText } from "./time.js";
import { LEAST_MS, rangeFrom } from "./view.js";

const PRESETS = [
  ["5 m", 300000], ["15 m", 900000], ["1 h", 3600000], ["6 h", 21600000], ["24 h", DAY],
  ["7 d", 7 * DAY], ["30 d", 30 * DAY], ["1 y", 365 * DAY],
];
const NO_TIME = "Give both instants.", BACKWARDS = "The end must be after the start.", LATER = "That time has not come yet.";

function step(label, title, click) {
  const made = element("button", "plain", label);
  made.type = "button";
  made.title = made.ariaLabel = title;
  made.addEventListener("click", click);
  return made;
}

export class Ranges {
  constructor(explorer) {
    this.explorer = explorer;
    this.box = element("div", "explore-ranges");
    this.presets = element("div", "switch");
    this.presets.setAttribute("role", "radiogroup");
    this.presets.setAttribute("aria-label", "Range that ends now");
    for (const [label, length] of PRESETS) {
      const one = element("button", "", label);
      Object.assign(one, { type: "button", title: `The last ${lengthText(length)}` });
      one.dataset.length = length;
      one.setAttribute("role", "radio");
      one.addEventListener("click", () => explorer.setRange({ length }));
      this.presets.append(one);
    }
    this.pop = new Pop("", "explore-fromto", (box) => this.open(box));
    this.back = step("←", "Previous view", () => history.back());
    this.forth = step("→", "Next view", () => history.forward());
    this.out = step("Zoom out", "One step out (double click)", () => explorer.out());
    this.live = step("Now", "Follow the time again", () => explorer.setRange({ length: this.length() }));
    this.box.append(this.back, this.forth, this.presets, this.pop.place, this.out, this.live);
  }

  // A length for the way back to now: the nearest preset that holds the range.
  length() {
    const [start, end] = this.explorer.span;
    return PRESETS.find(([, length]) => length >= end - start)?.[1] ?? PRESETS.at(-1)[1];
  }

  write() {
    const { view, span } = this.explorer;
    for (const one of this.presets.children) setAttribute(one, "aria-checked", String(view.range.length === Number(one.dataset.length)));
    setText(this.pop.button, `${spanText(span.map((t) => Math.round(t / 1000) * 1000), this.explorer.now())} · ${zoneName()}`);
    this.pop.button.title = `${lengthText(span[1] - span[0])}; type or pick another stretch`;
    this.live.hidden = Boolean(view.range.length);
  }

  open(box) {
    const form = element("form"), [start, end] = this.explorer.span;
    const [from, to] = [["From", start], ["To", end]].map(([word, instant]) => {
      const label = element("label", "", word + " "), input = Object.assign(element("input"), { type: "datetime-local", step: "1", value: inputText(instant) });
      label.append(input);
      form.append(label);
      return input;
    });
    const go = element("button", "plain", "Show"), said = element("p", "note");
    go.type = "submit";
    form.append(element("p", "note", `Times are of ${zoneName()}.`), go, said);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const chosen = [fromInput(from.value), fromInput(to.value)];
      const wrong = chosen.includes(null) ? NO_TIME : chosen[1] - chosen[0] < LEAST_MS ? BACKWARDS : chosen[0] >= this.explorer.now() ? LATER : "";
      setText(said, wrong);
      if (wrong) return;
      this.pop.close();
      this.explorer.setRange(rangeFrom(...chosen, this.explorer.now()));
    });
    box.replaceChildren(form);
  }
}
