// Writing into the page only what has changed.

// Changes the text node in place, so that observers of the tree see no new children.
export function setText(node, text) {
  const only = node.firstChild;
  if (only === null) {
    if (text !== "") node.textContent = text;
  } else if (only === node.lastChild && only.nodeType === Node.TEXT_NODE) {
    if (only.data !== text) only.data = text;
  } else node.textContent = text;
}

export function setAttribute(node, name, value) {
  if (value === null || value === undefined || value === "") {
    if (node.hasAttribute(name)) node.removeAttribute(name);
  } else if (node.getAttribute(name) !== value) node.setAttribute(name, value);
}

export function element(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

export function setCell(node, cell) {
  const [number, unit, state, reason] = cell;
  setText(node.firstChild, number);
  setText(node.lastChild, unit && "\u00a0" + unit);
  setAttribute(node, "data-state", state);
  setAttribute(node, "title", reason);
}

export function makeCell(className) {
  const node = element("span", className);
  node.append(element("b"), element("i"));
  return node;
}

// A canvas of this size in CSS pixels, at the screen's density; returns its context, null while it has no size.
// The size comes from a ResizeObserver: asking the canvas for it would force a layout on every tick.
export function fitCanvas(canvas, size) {
  const density = devicePixelRatio || 1;
  if (!size?.width || !size.height) return null;
  const width = Math.round(size.width * density), height = Math.round(size.height * density);
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  const context = canvas.getContext("2d");
  context.setTransform(density, 0, 0, density, 0, 0);
  return context;
}
