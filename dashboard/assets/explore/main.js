// Where Explore meets the rest of the page: it comes and goes with its place, and keeps its charts when that is drawn anew.

import { Explorer } from "./explorer.js";

let explorer = null;

// place: the page's element, null where another page stands; hubNow(): instant of the newest tick, null before the first.
export function mount(place, hubNow) {
  if (!place) {
    explorer?.close();
    explorer = null;
    return;
  }
  explorer ??= new Explorer(JSON.parse(place.dataset.explore), hubNow);
  explorer.attach(place);
}
