// What happened, on the time axis: marks of the run, events, annotations. Text on hover and for screen readers; a click
// leads to the moment.

import { marks as grouped } from "../explore/strip.js";
import { instantText } from "../explore/time.js";
import { element } from "../live/dom.js";

const MOST = 6;

export function told(event, now) {
  return [instantText(event.t, now), event.kind.replaceAll("_", " "), event.target, event.text].filter(Boolean).join(" · ");
}

// The gravest of the alerts among events, undefined where there is none.
export function gravest(events) {
  return ["critical", "warning", "info"].find((severity) => events.some((one) => one.severity === severity));
}

export class Marks {
  constructor(pick) {
    this.box = element("div", "run-marks");
    this.pick = pick;
  }

  write(events, { span, left, wide }, now) {
    const inside = events.filter((event) => event.t >= span[0] && event.t <= span[1]);
    const groups = grouped(inside, span, wide), text = JSON.stringify(groups);
    if (text === this.written) return;
    this.written = text;
    this.box.replaceChildren(...groups.map(([x, some]) => {
      const made = element("button", some.some((one) => one.kind === "annotation" || one.kind === "note") ? "mine" : "");
      made.type = "button";
      const severity = gravest(some);
      if (severity) made.dataset.severity = severity;
      made.style.left = `${left + x}px`;
      made.title = made.ariaLabel = some.slice(0, MOST).map((one) => told(one, now)).join("\n") + (some.length > MOST ? `\nand ${some.length - MOST} more` : "");
      made.addEventListener("click", () => this.pick(some[0].t));
      return made;
    }));
  }
}
