// What is done to several runs at once: tag, tag off, delete. One request; the collector carries it out at its next tick.

import { CompareLink } from "./compare.js";
import { send } from "./orders.js";

function plural(count) {
  return count === 1 ? "1 run" : `${count} runs`;
}

function button(label, act) {
  const node = document.createElement("button");
  Object.assign(node, { type: "button", className: "plain", textContent: label });
  node.addEventListener("click", act);
  return node;
}

export class Chosen {
  // done: called when something was carried out.
  constructor(place, done) {
    this.place = place;
    this.done = done;
    this.runs = [];
    this.tag = document.createElement("input");
    Object.assign(this.tag, { placeholder: "Tag", ariaLabel: "Tag of the selected runs", autocomplete: "off" });
    this.tag.addEventListener("keydown", ({ key }) => key === "Enter" && this.mark(true));
    this.count = document.createElement("b");
    this.said = document.createElement("span");
    this.said.className = "note";
    this.said.role = "status";
    const buttons = [button("Add tag", () => this.mark(true)), button("Take tag off", () => this.mark(false)), button("Delete", () => this.remove())];
    this.buttons = buttons;
    this.compare = new CompareLink();
    place.replaceChildren(this.count, this.compare.node, this.tag, ...buttons, this.said);
    this.show([]);
  }

  show(runs) {
    this.runs = runs;
    this.count.textContent = `${plural(runs.length)} selected`;
    this.compare.show(runs);
    this.place.hidden = !runs.length && !this.said.textContent;
    for (const one of [this.count, this.tag, ...this.buttons]) one.hidden = !runs.length;
  }

  mark(on) {
    const tag = this.tag.value.trim();
    if (!tag) return this.tag.focus();
    this.ask({ kind: "tag", tag, on }, this.runs);
  }

  remove() {
    const over = this.runs.filter((run) => !run.live), going = this.runs.length - over.length;
    const rest = going ? ` ${going === 1 ? "The one that goes on is" : `${going} that go on are`} left out.` : "";
    if (!over.length) return void this.say("A run that goes on cannot be deleted: stop it first.");
    if (confirm(`Delete ${plural(over.length)} and what was worked out of ${over.length === 1 ? "it" : "them"}? Samples stay.${rest}`))
      this.ask({ kind: "delete" }, over);
  }

  async ask(order, runs) {
    for (const one of this.buttons) one.disabled = true;
    this.say("…");
    const { error, commands = [] } = await send({ ...order, runs: runs.map((run) => run.id) });
    for (const one of this.buttons) one.disabled = false;
    const refused = commands.find((one) => one.error), waiting = commands.find((one) => one.why);
    const more = commands.filter((one) => one.error).length - 1;
    this.say(error ?? (refused ? refused.error + (more > 0 ? `, and ${more} more` : "") : waiting?.why ?? ""));
    if (!error) this.done(order);
  }

  say(text) {
    this.said.textContent = text;
    this.show(this.runs);
  }
}
