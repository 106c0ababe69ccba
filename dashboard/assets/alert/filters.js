// Which earlier alerts are listed: a form whose fields are the page's address, so that the list can be shared.

import { fromInput, inputText } from "../explore/time.js";

const NAMES = ["severity", "rule", "node", "start", "end", "text"], PAUSE_MS = 300;
let timer = null;

// What an address asks for, in the order of the fields.
export function asked(search) {
  const given = new URLSearchParams(search), found = new URLSearchParams();
  for (const name of NAMES) if (given.get(name)) found.set(name, given.get(name));
  return found;
}

function valueOf(field) {
  if (field.type !== "datetime-local") return field.value.trim();
  const instant = field.value ? fromInput(field.value) : null;
  return instant === null ? "" : String(instant);
}

function read(form) {
  const found = new URLSearchParams();
  for (const name of NAMES) if (valueOf(form.elements[name])) found.set(name, valueOf(form.elements[name]));
  return found;
}

// The fragment's address follows the form's; the page's own keeps whatever else stands in it.
function apply(form, refresh) {
  const query = read(form).toString(), place = form.closest("[data-fragment]");
  history.replaceState(history.state, "", location.pathname + (query ? `?${query}` : "") + location.hash);
  const address = place.dataset.fragment.split("?")[0] + (query ? `?${query}` : "");
  if (address === place.dataset.fragment) return;
  place.dataset.fragment = address;
  refresh(place);
}

// Instants of the address, which only the browser can write in the viewer's zone.
function fill(form) {
  const given = asked(location.search);
  for (const name of ["start", "end"]) {
    const field = form.elements[name], instant = Number(given.get(name));
    if (instant && !field.value && field !== document.activeElement) field.value = inputText(instant);
  }
}

// refresh(place): fill a fragment anew.
export function startFilters(refresh) {
  const changed = (event, pause) => {
    const form = event.target.closest?.("[data-alert-filters]");
    if (!form) return;
    clearTimeout(timer);
    timer = setTimeout(() => apply(form, refresh), pause);
  };
  document.addEventListener("input", (event) => changed(event, PAUSE_MS));
  document.addEventListener("submit", (event) => event.target.matches("[data-alert-filters]") && (event.preventDefault(), changed(event, 0)));
  document.addEventListener("reset", (event) => {
    const form = event.target;
    if (!form.matches("[data-alert-filters]")) return;
    event.preventDefault();
    for (const name of NAMES) form.elements[name].value = "";
    changed(event, 0);
  });
  document.addEventListener("filled", (event) => {
    const form = event.target.querySelector?.("[data-alert-filters]");
    if (form) fill(form);
  }, true);
}
