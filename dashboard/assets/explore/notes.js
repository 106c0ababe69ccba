// What happened: the store's events and people's annotations, on the charts and as a list; and the form for a new one.

import { element, setText } from "../live/dom.js";
import { fromInput, inputText, instantText, spanText } from "./time.js";

const LONGEST = 200, SHOWN = 200;

async function send(path, method, body) {
  const answer = await fetch("/api/v1/annotations" + path, {
    method, headers: body ? { "Content-Type": "application/json" } : {}, body: body && JSON.stringify(body),
  });
  const told = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(told.error ?? `The server answers ${answer.status}.`);
}

export class Notes {
  constructor(explorer) {
    Object.assign(this, { explorer, events: [], cut: false });
    this.box = element("section", "panel explore-notes");
    this.box.hidden = true;
    this.box.setAttribute("aria-label", "Events and annotations");
    this.form = element("form");
    this.text = Object.assign(element("input"), { type: "text", maxLength: LONGEST, required: true, placeholder: "What happened?" });
    this.from = Object.assign(element("input"), { type: "datetime-local", step: "1", required: true });
    this.to = Object.assign(element("input"), { type: "datetime-local", step: "1" });
    const go = element("button", "plain", "Add"), shut = element("button", "plain", "Close");
    go.type = "submit";
    shut.type = "button";
    shut.addEventListener("click", () => this.shut());
    this.said = element("p", "note");
    const fields = [["Annotation", this.text], ["At", this.from], ["Until (for a stretch)", this.to]].map(([word, input]) => {
      const label = element("label");
      label.append(element("span", "", word), input);
      return label;
    });
    this.form.append(...fields, go, shut, this.said);
    this.form.addEventListener("submit", (event) => (event.preventDefault(), this.add()));
    this.list = element("table");
    this.box.append(this.form, this.list);
    this.box.addEventListener("keydown", (event) => event.key === "Escape" && this.shut());
  }

  // Annotations, which the charts draw; what the store tells stands on the strip only.
  made() {
    return this.events.filter((event) => event.id);
  }

  // With alerts, oldest first.
  all() {
    return [...this.events, ...this.explorer.rules.events()].sort((one, other) => one.t - other.t);
  }

  async load([start, end]) {
    const asked = (this.asked = {});
    try {
      const answer = await fetch(`/api/v1/events?${new URLSearchParams({ start: Math.floor(start), end: Math.ceil(end) })}`, { cache: "no-store" });
      if (!answer.ok || asked !== this.asked) return;
      const before = JSON.stringify(this.made());
      Object.assign(this, await answer.json());
      if (JSON.stringify(this.made()) !== before) this.explorer.draw();
    } catch {
      return; // the header says that the server is away; the marks stay
    }
    this.explorer.strip.write();
    if (!this.box.hidden) this.write();
  }

  // The stretch is where the crosshair was, or the middle of what is shown.
  open(from) {
    const [start, end] = this.explorer.span;
    this.opener = from;
    this.box.hidden = false;
    if (!this.text.value) this.from.value = inputText(this.explorer.cursor ?? (this.explorer.view.range.length ? end : (start + end) / 2));
    this.write();
    this.box.scrollIntoView({ block: "nearest" });
    this.text.focus({ preventScroll: true });
  }

  shut() {
    this.box.hidden = true;
    this.opener?.focus();
  }

  async add() {
    const start = fromInput(this.from.value), end = this.to.value ? fromInput(this.to.value) : null;
    await this.change(async () => {
      await send("", "POST", { start, end, text: this.text.value });
      this.text.value = this.to.value = "";
    });
  }

  async change(act) {
    try {
      await act();
      setText(this.said, "");
      await this.load(this.explorer.span);
      this.write();
    } catch (error) {
      setText(this.said, error.message);
    }
  }

  write() {
    const now = this.explorer.now(), newest = this.all().slice(-SHOWN).reverse();
    const rows = newest.map((event) => {
      const row = element("tr"), when = element("td", "", event.end ? spanText([event.t, event.end], now) : instantText(event.t, now)), last = element("td");
      if (event.id) last.append(this.remover(event));
      row.append(when, element("td", "", event.id ? "annotation" : event.kind.replaceAll("_", " ")), element("td", "", event.target ?? ""), element("td", "", event.text), last);
      return row;
    });
    const none = element("tr");
    none.append(element("td", "note", "Nothing happened in this stretch."));
    this.list.replaceChildren(...(rows.length ? rows : [none]));
  }

  remover(event) {
    const button = element("button", "plain", "Delete");
    button.type = "button";
    button.ariaLabel = `Delete annotation ${event.text}`;
    button.addEventListener("click", () => this.change(() => send("/" + event.id, "DELETE")));
    return button;
  }
}
