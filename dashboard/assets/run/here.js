// What can be done where one looks: trim the run to the stretch that is shown, split it or write a note at the moment
// that was chosen. Offered where the forms below are, which need samples.

import { clockText, instantText, spanText } from "../explore/time.js";
import { element, setText } from "../live/dom.js";
import { send } from "../runs/orders.js";
import { isPart } from "./view.js";

const form = (page, kind) => page.place.querySelector(`form[data-run-order="${kind}"]`);

export class Here {
  constructor(page) {
    this.page = page;
    this.trim = this.button("Trim to this stretch", () => this.trimmed());
    this.split = this.button("Split here", () => this.parted());
    this.note = this.button("Note here", () => this.noted());
    this.said = element("span", "note");
    this.said.setAttribute("role", "status");
    this.parts = [this.trim, this.split, this.note, this.said];
    page.parts.boxes["run-more"].addEventListener("filled", () => this.show());
    this.show();
  }

  button(label, act) {
    const made = element("button", "plain", label);
    made.type = "button";
    made.addEventListener("click", act);
    return made;
  }

  show() {
    const { view } = this.page;
    this.trim.hidden = !isPart(view) || !form(this.page, "trim");
    this.split.hidden = view.at === null || !form(this.page, "split");
    this.note.hidden = view.at === null || !form(this.page, "annotate");
    setText(this.said, "");
  }

  async ask(order, question) {
    if (!confirm(question)) return;
    const run = Number(form(this.page, order.kind).dataset.run);
    const { error, why } = await send({ ...order, run });
    if (error || why) return void setText(this.said, error ?? why);
    this.page.changed();
  }

  trimmed() {
    const { start, end } = this.page.view, span = spanText([start, end], this.page.now());
    this.ask({ kind: "trim", start_ms: start, end_ms: end }, `Trim the run to ${span}? Its numbers are worked out anew; the rest is kept.`);
  }

  parted() {
    const at = this.page.view.at;
    this.ask({ kind: "split", at_ms: at }, `Split the run at ${instantText(at, this.page.now())}? Merging both undoes it.`);
  }

  // The form below, with the moment filled in.
  noted() {
    const own = form(this.page, "annotate"), when = own.querySelector("[name=at_ms]");
    own.closest("details").open = true;
    when.value = clockText(this.page.view.at);
    own.querySelector("[name=text]").focus();
    own.scrollIntoView({ block: "center" });
  }
}
