// A panel below its button: opens and closes with it, with Escape, and with a click elsewhere.

import { element } from "../live/dom.js";

let open = null;

function shut(event) {
  if (!open || open.box.contains(event.target) || open.button.contains(event.target)) return;
  open.close();
}

// The page is left: nothing stays open, and nothing is held on to.
export function closePops() {
  open?.close();
}

export class Pop {
  // fill(box): writes the content each time it opens.
  constructor(label, className, fill) {
    this.fill = fill;
    this.place = element("div", "explore-pop");
    this.button = element("button", "plain", label);
    this.button.type = "button";
    this.button.setAttribute("aria-expanded", "false");
    this.box = element("div", "explore-pop-box " + className);
    this.box.hidden = true;
    this.place.append(this.button, this.box);
    this.button.addEventListener("click", () => (this.box.hidden ? this.open() : this.close()));
    this.place.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || this.box.hidden) return;
      event.stopPropagation();
      this.close();
      this.button.focus();
    });
  }

  open() {
    open?.close();
    if (!open) document.addEventListener("pointerdown", shut);
    open = this;
    this.box.hidden = false;
    this.button.setAttribute("aria-expanded", "true");
    this.fill(this.box);
    const over = this.box.getBoundingClientRect().right - innerWidth + 8;
    this.box.style.transform = over > 0 ? `translateX(${-over}px)` : "";
    this.box.querySelector("input, button, select")?.focus({ preventScroll: true });
  }

  close() {
    this.box.hidden = true;
    this.box.style.transform = "";
    this.button.setAttribute("aria-expanded", "false");
    document.removeEventListener("pointerdown", shut);
    if (open === this) open = null;
  }
}
