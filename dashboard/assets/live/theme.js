// The theme: which one holds, its colours, and the button that changes it.

const KEY = "mantine-color-scheme-value";
const ATTRIBUTE = "data-mantine-color-scheme";
const listeners = new Set();
let cache = new Map();

export function current() {
  return document.documentElement.getAttribute(ATTRIBUTE) === "dark" ? "dark" : "light";
}

export function colour(name) {
  if (!cache.has(name)) cache.set(name, getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim());
  return cache.get(name);
}

export function onThemeChange(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function toggle() {
  const next = current() === "dark" ? "light" : "dark";
  const before = localStorage.getItem(KEY);
  localStorage.setItem(KEY, next);
  document.documentElement.setAttribute(ATTRIBUTE, next);
  // The component library follows this event; the browser sends it to other tabs only.
  dispatchEvent(new StorageEvent("storage", { key: KEY, oldValue: before, newValue: next, storageArea: localStorage }));
}

export function startTheme() {
  document.addEventListener("click", (event) => {
    if (event.target.closest?.("[data-theme-toggle]")) toggle();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) => {
    const chosen = localStorage.getItem(KEY);
    if (chosen !== "light" && chosen !== "dark")
      document.documentElement.setAttribute(ATTRIBUTE, event.matches ? "dark" : "light");
  });
  let last = current();
  new MutationObserver(() => {
    if (current() === last) return;
    last = current();
    cache = new Map();
    listeners.forEach((listener) => listener());
  }).observe(document.documentElement, { attributes: true, attributeFilter: [ATTRIBUTE] });
}
