// The charts of an alert's page; they come and go with it.

import { Evidence } from "./evidence.js";

let evidence = null;

export function mount(place, hubNow) {
  if (place === (evidence?.place ?? null)) return;
  evidence?.close();
  evidence = place ? new Evidence(place, hubNow) : null;
}
