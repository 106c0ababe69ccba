// Published results beside the curves: bars, diamonds and rings, and what each says.

const NS = "http://www.w3.org/2000/svg";

export function svg(name, attributes, ...children) {
  const node = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

export function bandText({ name, band: [low, high], peak }) {
  return `${name}: ${low === high ? low : `${low}–${high}`} tok/s${peak ? `, peak ${peak[1]}` : ""}, as published`;
}

// A bar from the least to the most that was published, a diamond where that is one number, and the peak as a ring, its
// letter at `bottom`.
export function mark(one, x, y, bottom) {
  const [low, high] = one.band, top = y(high);
  const group = svg("g", { class: "overlay-band" }, svg("title", {}, bandText(one)), svg("text", { x, y: bottom, "text-anchor": "middle" }, one.letter));
  if (low === high) group.append(svg("path", { d: `M${x} ${top - 5}l5 5l-5 5l-5 -5z` }));
  else group.append(svg("rect", { x: x - 4, y: top, width: 8, height: Math.max(y(low) - top, 2), rx: 2 }));
  if (one.peak) group.append(svg("circle", { cx: x, cy: y(one.peak[1]), r: 4 }));
  return group;
}
