// The theme: which one holds, its colours, and the button that changes it.

const KEY = "tachograph-theme";
const ATTRIBUTE = "data-theme";
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
  localStorage.setItem(KEY, next);
  document.documentElement.setAttribute(ATTRIBUTE, next);
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
  // Chosen in another tab.
  addEventListener("storage", ({ key, newValue }) => {
    if (key === KEY && (newValue === "light" || newValue === "dark")) document.documentElement.setAttribute(ATTRIBUTE, newValue);
  });
  let last = current();
  new MutationObserver(() => {
    if (current() === last) return;
    last = current();
    cache = new Map();
    listeners.forEach((listener) => listener());
  }).observe(document.documentElement, { attributes: true, attributeFilter: [ATTRIBUTE] });
}
