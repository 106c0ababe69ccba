// "What is this number": the catalogue's text of a metric, beside the charts.

import { element } from "../live/dom.js";

export class Drawer {
  constructor(explorer) {
    this.explorer = explorer;
    this.box = element("aside", "explore-drawer");
    this.box.hidden = true;
    this.box.tabIndex = -1;
    this.box.setAttribute("aria-label", "What is this number");
    this.close = element("button", "plain", "Close");
    this.close.type = "button";
    this.close.addEventListener("click", () => this.shut());
    this.body = element("div");
    this.box.append(this.close, this.body);
    this.box.addEventListener("keydown", (event) => event.key === "Escape" && this.shut());
  }

  async open(name, from) {
    this.from = from;
    this.box.hidden = false;
    this.body.replaceChildren(element("p", "note", "Loading …"));
    this.box.focus();
    try {
      const answer = await fetch("/fragment/metric?" + new URLSearchParams({ name }), { cache: "no-store" });
      const template = document.createElement("template");
      template.innerHTML = await answer.text();
      this.body.replaceChildren(template.content);
    } catch {
      this.body.replaceChildren(element("p", "note", "The server does not answer."));
    }
  }

  shut() {
    this.box.hidden = true;
    this.from?.focus();
  }
}
