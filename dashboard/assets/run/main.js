// Where a run's page meets the rest: it comes and goes with its place, and stays when that is drawn anew.

import { RunPage } from "./page.js";

let page = null;

// place: the page's element, null where another page stands; hubNow(): instant of the newest tick, null before the first.
export function mount(place, hubNow) {
  if (page && place?.dataset.runPage !== page.run) {
    page.close();
    page = null;
  }
  if (!place) return;
  page ??= new RunPage(place.dataset.runPage, JSON.parse(place.dataset.runTables), hubNow, place);
  page.attach(place);
}
