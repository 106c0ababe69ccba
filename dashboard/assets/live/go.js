// From page to page as Dash's links go, without a reload. The grid that the list of runs is drawn with is as large as
// everything else here together, and no other page needs it: those say where it lies, and it is fetched when somebody
// points at a link to the list. Who gets there sooner than the grid loads the list as a page of its own.

const LIST = "/runs";
let asked = false;

const missing = () => !window.dash_ag_grid && !!document.getElementById("grid");

export function go(address) {
  const to = new URL(address, location.href);
  if (to.pathname === LIST && missing()) return location.assign(to);
  history.pushState({}, "", to);
  dispatchEvent(new CustomEvent("_dashprivate_pushstate"));
}

// A click that is not meant to open a page elsewhere.
export const plain = (event) => !(event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey);

function toList(event) {
  const link = event.target.closest?.("a[href]");
  return link && link.origin === location.origin && link.pathname === LIST ? link : null;
}

function fetchGrid(event) {
  if (asked || !toList(event) || !missing()) return;
  asked = true;
  const script = document.createElement("script");
  script.src = document.getElementById("grid").href;
  document.head.append(script);
}

function sooner(event) {
  const link = missing() && plain(event) && toList(event);
  if (!link) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  location.assign(link.href);
}

// Back to a list that this document has not drawn: it was there before a reload.
function backToList(event) {
  if (location.pathname !== LIST || !missing()) return;
  event.stopImmediatePropagation();
  location.reload();
}

export function startGoing() {
  for (const kind of ["pointerover", "focusin"]) document.addEventListener(kind, fetchGrid, true);
  document.addEventListener("click", sooner, true);
  addEventListener("popstate", backToList, true);
}
