// The link from chosen runs to their comparison: the baseline, else the oldest, is what the others are compared with.

const FEWEST = 2, MOST = 8;

function first(a, b) {
  return Number(b.baseline) - Number(a.baseline) || a.start - b.start;
}

// Address of a comparison of these runs; "" where they are too few or too many.
export function address(runs) {
  if (runs.length < FEWEST || runs.length > MOST) return "";
  return `/compare?runs=${[...runs].sort(first).map((run) => run.id).join(",")}&align=start`;
}

// A link that `show` keeps up with what is chosen.
export class CompareLink {
  constructor() {
    this.node = document.createElement("a");
    Object.assign(this.node, { className: "plain", textContent: "Compare" });
    this.show([]);
  }

  show(runs) {
    const found = address(runs);
    this.node.hidden = runs.length === 0;
    if (found) this.node.href = found;
    else this.node.removeAttribute("href");
    this.node.title = found ? "" : `Choose ${FEWEST} to ${MOST} runs`;
    this.node.classList.toggle("inside", Boolean(found));
    this.node.toggleAttribute("aria-disabled", !found);
  }
}
