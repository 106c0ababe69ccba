// Parts of pages that the server writes as HTML: fetched every few seconds, and only what differs is touched, so that
// what is open, selected or focused stays so. Numbers in them are formatted by the server like all others.

import { instantText } from "../explore/time.js";
import { leadTo } from "./anchor.js";
import { inUse, initial, isTyped } from "./fields.js";

const known = new Map();
const filled = new Set();
const LATE_MS = 1_000; // before it nobody notices that there is nothing yet

// Shown by the browser: whether a part is open, a button that waits for an answer, and what was answered.
const OWN = new Set(["open", "disabled"]);

function keyOf(node) {
  return node.dataset?.key ?? null;
}

// Nodes with keys are the same where their keys are, others where they stand in the same place.
function sameKind(before, after) {
  return before.nodeType === after.nodeType && before.nodeName === after.nodeName && keyOf(before) === keyOf(after);
}

function syncAttributes(before, after) {
  for (const { name, value } of after.attributes) if (before.getAttribute(name) !== value) before.setAttribute(name, value);
  for (const { name } of [...before.attributes]) if (!after.hasAttribute(name) && !OWN.has(name)) before.removeAttribute(name);
}

// A field follows the server, but not while somebody fills it in; the instant that it counts from always does.
function syncField(before, after) {
  const value = initial(after);
  if (inUse(before, after)) {
    if (after.dataset.base) before.dataset.base = after.dataset.base;
    return;
  }
  syncAttributes(before, after);
  morph(before, after);
  if (before.value !== value) before.value = value;
}

function sync(have, node) {
  if (node.nodeType === Node.TEXT_NODE) {
    if (have.data !== node.data) have.data = node.data;
  } else if (isTyped(have)) syncField(have, node);
  else if (!(have.dataset?.instant && have.dataset.instant === node.dataset.instant) && !ownedByBrowser(have)) {
    syncAttributes(have, node);
    morph(have, node);
  }
}

function ownedByBrowser(node) {
  return ["fragment", "said", "replayed"].some((name) => name in (node.dataset ?? {}));
}

// Bring `have` to where `place` is. What has the focus stays where it is, since moving takes the focus away.
function bring(parent, have, place) {
  if (!have.contains(document.activeElement)) return parent.insertBefore(have, place);
  for (let node = place; node && node !== have; node = place) {
    place = node.nextSibling;
    have.after(node);
  }
}

// Make `before` look like `after`, which is used up.
export function morph(before, after) {
  const wanted = [...after.childNodes], keys = new Set(wanted.map(keyOf));
  const known = new Map([...before.childNodes].filter((node) => keyOf(node) !== null).map((node) => [keyOf(node), node]));
  let place = before.firstChild;
  for (const node of wanted) {
    while (place && keyOf(place) !== null && !keys.has(keyOf(place))) place = drop(place);
    const named = known.get(keyOf(node));
    if (named && named !== place) bring(before, named, place);
    const have = named ?? place;
    if (have && sameKind(have, node)) {
      sync(have, node);
      place = have.nextSibling;
    } else if (have && keyOf(have) === null && keyOf(node) === null) {
      have.replaceWith(node);
      place = node.nextSibling;
    } else before.insertBefore(node, place);
  }
  while (place) place = drop(place);
}

function drop(node) {
  const next = node.nextSibling;
  node.remove();
  return next;
}

// Instants that the server wrote as numbers, in the viewer's zone.
function writeInstants(place) {
  for (const time of place.querySelectorAll("time[data-instant]")) {
    const instant = Number(time.dataset.instant);
    time.dateTime = new Date(instant).toISOString();
    if (!time.textContent) time.textContent = instantText(Math.floor(instant / 1000) * 1000, Date.now());
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
  leadTo(place);
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
    setTimeout(() => places(address).filter((one) => !one.filled).forEach((one) => (one.dataset.late = "")), LATE_MS);
    load(address);
  }
}

// Look again at once; under another address than before, too.
export function refresh(place) {
  if (known.has(place.dataset.fragment)) load(place.dataset.fragment);
  else lookForFragments();
}

export function startFragments() {
  addEventListener("hashchange", () => leadTo(document));
  document.addEventListener("toggle", (event) => {
    const place = event.target.open && event.target.querySelector?.("[data-fragment]");
    if (place && !place.filled) load(place.dataset.fragment);
  }, true);
}
