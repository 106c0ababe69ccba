// Demo only: faults that the simulator can be asked for, and those that go on.

import { element } from "./dom.js";

const ADDRESS = "/api/v1/demo/faults", LOOK_MS = 2000;

async function ask(path = "", method = "GET", body) {
  const answer = await fetch(ADDRESS + path, {
    method,
    cache: "no-store",
    headers: body ? { "Content-Type": "application/json" } : {},
    body: body && JSON.stringify(body),
  });
  const told = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(told.error ?? "HTTP " + answer.status);
  return told;
}

export class Faults {
  constructor(place, names) {
    this.place = place;
    this.names = names;
    document.addEventListener("click", (event) => {
      const button = event.target.closest?.("[data-faults-toggle]");
      if (button) this.toggle(button);
    });
    document.addEventListener("keydown", (event) => event.key === "Escape" && !place.hidden && this.toggle(this.button));
  }

  async toggle(button) {
    this.button = button;
    this.place.hidden = !this.place.hidden;
    button?.setAttribute("aria-expanded", String(!this.place.hidden));
    clearInterval(this.timer);
    if (this.place.hidden) return;
    this.timer = setInterval(() => this.look(), LOOK_MS);
    await this.look();
  }

  async look() {
    try {
      const told = await ask();
      if (!this.form) this.build(told.known);
      this.list(told.incidents.filter((one) => one.state !== "over"));
      this.say("");
    } catch (error) {
      this.say(error.message);
    }
  }

  say(text) {
    this.said ??= this.place.appendChild(element("p", "note"));
    this.said.textContent = text;
  }

  build(known) {
    this.known = new Map(known.map((fault) => [fault.name, fault]));
    this.form = element("form");
    this.fault = choice("Fault", known.map((fault) => [fault.name, fault.name + (fault.look_alike ? " (look-alike)" : "")]));
    this.node = choice("Where", []);
    this.seconds = field("Seconds", { type: "number", min: "1", step: "1", placeholder: "until ended" });
    this.help = element("p", "note");
    const go = element("button", "plain", "Start");
    go.type = "submit";
    this.form.append(this.fault.label, this.node.label, this.seconds.label, this.help, go);
    this.fault.select.addEventListener("change", () => this.explain());
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.start();
    });
    this.going = element("ul");
    this.place.prepend(element("h2", "", "Faults of the simulated cluster"), this.form, this.going);
    this.explain();
  }

  explain() {
    const fault = this.known.get(this.fault.select.value), atNode = fault.reach.includes("node");
    this.help.textContent = fault.text;
    this.node.label.hidden = !atNode;
    const names = fault.reach.includes("engine") ? ["engine", ...this.names()] : this.names();
    this.node.select.replaceChildren(...names.map((name) => new Option(name, name)));
  }

  async start() {
    const node = this.node.label.hidden ? null : this.node.select.value || null;
    const seconds = this.seconds.input.valueAsNumber;
    try {
      await ask("", "POST", { name: this.fault.select.value, ...(node && { node }), ...(seconds > 0 && { duration_s: seconds }) });
      await this.look();
    } catch (error) {
      this.say(error.message);
    }
  }

  list(incidents) {
    const text = JSON.stringify(incidents);
    if (text === this.listed) return;
    this.listed = text;
    this.going.replaceChildren(
      ...incidents.map((one) => {
        const line = element("li", "", `${one.name} ${one.target ?? ""} ${one.state === "planned" ? "(planned) " : ""}`), end = element("button", "plain", "End");
        end.type = "button";
        end.addEventListener("click", () => ask("/" + one.id, "DELETE").then(() => this.look(), (error) => this.say(error.message)));
        line.append(end);
        return line;
      }),
    );
  }
}

function field(text, attributes) {
  const label = element("label", "", text + " "), input = Object.assign(element("input"), attributes);
  label.append(input);
  return { label, input };
}

function choice(text, options) {
  const label = element("label", "", text + " "), select = element("select");
  select.append(...options.map(([value, shown]) => new Option(shown, value)));
  label.append(select);
  return { label, select };
}
