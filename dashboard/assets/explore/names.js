// Names beside limit lines: where each stands, and which are left out so that none covers another or is struck through
// by a line. Pure.

const NAME_PX = 12, GAP_PX = 1;

// limits: [{y, side, …}], y in px from the top, of a plot that is `height` px high. A name stands on its side of the line
// ("below", else above) where there is room, else on the other one, else nowhere. The same with `above` and `named`,
// from the top down.
export function places(limits, height) {
  const found = limits.map((limit) => ({ ...limit })).sort((one, other) => one.y - other.y), taken = [];
  for (const one of found) {
    const wanted = one.side !== "below", side = [wanted, !wanted].find((above) => free(box(one.y, above), one, found, taken, height));
    Object.assign(one, { above: side ?? wanted, named: side !== undefined });
    if (one.named) taken.push(box(one.y, one.above));
  }
  return found;
}

const box = (y, above) => (above ? [y - GAP_PX - NAME_PX, y - GAP_PX] : [y + GAP_PX, y + GAP_PX + NAME_PX]);

function free([top, bottom], own, limits, taken, height) {
  const inside = top >= 0 && bottom <= height, apart = taken.every(([high, low]) => bottom <= high || top >= low);
  return inside && apart && limits.every((one) => one === own || one.y <= top || one.y >= bottom);
}
