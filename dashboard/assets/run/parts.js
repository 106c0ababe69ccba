// The parts of the page that the server writes: which stretch, node and moment each of them is asked for.

import { lookForFragments } from "../live/fragments.js";
import { element } from "../live/dom.js";
import { range } from "./view.js";

const EVERY_MS = 5000, ENDED_EVERY_MS = 30000;
// What stands below the timeline, and is asked for once that is there.
const LAST = new Set(["run-more"]);

// name → what its address says of a view; null where there is nothing to show.
const PARTS = {
  run: (view) => range(view),
  "run-moment": (view) => (view.at === null ? null : { at: view.at, ...(view.node ? { node: view.node } : {}) }),
  "run-node": (view) => (view.node === null ? null : { node: view.node, ...range(view) }),
  "run-more": (view) => range(view),
};

export class Parts {
  // run: what stands in the address after /runs/.
  constructor(run) {
    this.run = run;
    this.held = LAST;
    this.boxes = Object.fromEntries(Object.keys(PARTS).map((name) => [name, this.made(name)]));
  }

  made(name) {
    const box = element("div", `fragment ${name}`);
    box.dataset.every = EVERY_MS;
    box.addEventListener("filled", () => delete box.dataset.stale);
    return box;
  }

  // Bring a part into sight once it is there: it may stand below what the window shows.
  reveal(name) {
    const box = this.boxes[name];
    box.addEventListener("filled", () => box.scrollIntoView({ block: "nearest" }), { once: true });
  }

  // The rest, too. live: whether the run goes on; what is over hardly changes.
  release(view, live) {
    for (const box of Object.values(this.boxes)) box.dataset.every = live ? EVERY_MS : ENDED_EVERY_MS;
    if (!this.held.size) return;
    this.held = new Set();
    this.show(view);
  }

  // What was asked for is not what is there any more.
  forget() {
    for (const box of Object.values(this.boxes)) box.filled = undefined;
  }

  show(view) {
    for (const [name, asked] of Object.entries(PARTS)) {
      if (this.held.has(name)) continue;
      const box = this.boxes[name], words = asked(view);
      box.hidden = words === null;
      const address = words && `/fragment/${name}?${new URLSearchParams({ run: this.run, ...words })}`;
      if (address === (box.dataset.fragment ?? null)) continue;
      if (address === null) {
        delete box.dataset.fragment;
        box.replaceChildren();
        box.filled = undefined;
        continue;
      }
      // Numbers of the stretch before are dim until those of this one are there.
      if (box.dataset.fragment) box.dataset.stale = "";
      box.dataset.fragment = address;
      box.filled = undefined;
    }
    lookForFragments();
  }
}
