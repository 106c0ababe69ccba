// Parts of pages that the server writes as HTML: fetched every few seconds, and only what differs is touched, so that
// what is open, selected or focused stays so. Numbers in them are formatted by the server like all others.

const known = new Map();
const filled = new Set();

function sameKind(before, after) {
  return before.nodeType === after.nodeType && before.nodeName === after.nodeName;
}

function syncAttributes(before, after) {
  for (const { name, value } of after.attributes) if (before.getAttribute(name) !== value) before.setAttribute(name, value);
  for (const { name } of [...before.attributes]) if (!after.hasAttribute(name) && name !== "open") before.removeAttribute(name);
}

// Make `before` look like `after`, which is used up.
export function morph(before, after) {
  const old = [...before.childNodes], wanted = [...after.childNodes];
  wanted.forEach((node, at) => {
    const have = old[at];
    if (!have) before.append(node);
    else if (!sameKind(have, node)) have.replaceWith(node);
    else if (node.nodeType === Node.TEXT_NODE) {
      if (have.data !== node.data) have.data = node.data;
    } else if (!(have.dataset.instant && have.dataset.instant === node.dataset.instant) && !have.dataset.fragment) {
      syncAttributes(have, node);
      morph(have, node);
    }
  });
  old.slice(wanted.length).forEach((node) => node.remove());
}

// Instants that the server wrote as numbers, in the viewer's zone.
function writeInstants(place) {
  for (const time of place.querySelectorAll("time[data-instant]")) {
    const instant = new Date(Number(time.dataset.instant));
    time.dateTime = instant.toISOString();
    if (!time.textContent) time.textContent = instant.toLocaleString();
  }
}

function fill(place, html) {
  if (place.filled === html) return;
  place.filled = html;
  filled.add(place);
  const template = document.createElement("template");
  template.innerHTML = html;
  morph(place, template.content);
  writeInstants(place);
  place.dispatchEvent(new Event("filled"));
}

function places(address) {
  return [...document.querySelectorAll("[data-fragment]")].filter((place) => place.dataset.fragment === address);
}

function wanted(place) {
  return !document.hidden && !place.closest("details:not([open])");
}

async function load(address) {
  const before = places(address);
  if (!before.length) return known.delete(address);
  const entry = known.get(address);
  if (before.some(wanted)) {
    try {
      const answer = await fetch(address, { cache: "no-store" });
      entry.html = await answer.text();
      if (answer.ok || answer.status === 404) places(address).forEach((place) => fill(place, entry.html));
    } catch {
      // The server is away: the header says so, and the page keeps what it has.
    }
  }
  clearTimeout(entry.timer);
  entry.timer = setTimeout(() => load(address), Number(before[0].dataset.every));
}

// Dash keeps hold of pages that it has left; what was written into them need not stay with them.
function forgetGone() {
  for (const place of filled) {
    if (place.isConnected) continue;
    filled.delete(place);
    place.filled = undefined;
    place.replaceChildren();
  }
}

// Start what has appeared, and fill it at once with what is known.
export function lookForFragments() {
  forgetGone();
  for (const place of document.querySelectorAll("[data-fragment]")) {
    const address = place.dataset.fragment, entry = known.get(address);
    if (entry?.html && !place.filled) fill(place, entry.html);
    if (entry) continue;
    known.set(address, {});
    load(address);
  }
}

// Look again at once.
export function refresh(place) {
  load(place.dataset.fragment);
}

export function startFragments() {
  document.addEventListener("toggle", (event) => {
    const place = event.target.open && event.target.querySelector?.("[data-fragment]");
    if (place && !place.filled) load(place.dataset.fragment);
  }, true);
}
