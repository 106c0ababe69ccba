// The values at the cursor, in one small box: the instant, every line, the phase, a prefill, and the node under it.

import { text } from "../explore/format.js";
import { at } from "../explore/lines.js";
import { instantText, lengthText } from "../explore/time.js";
import { element, setText } from "../live/dom.js";
import { AXIS } from "./lanes.js";
import { column, spanAt } from "./scales.js";

const EDGE = 14;

// [[name, value, colour]] of a scene at an instant. row: the node of the map under the cursor, −1 for none.
export function values(scene, instant, row) {
  const { answer, data, layout } = scene, found = [];
  for (const lane of layout.lanes) {
    const own = data.get(lane.key);
    if (lane.key === "phases") {
      const phase = spanAt(answer.phases, instant);
      if (phase) found.push(["Phase", phase[2], ""]);
    }
    for (const line of own?.lines ?? []) found.push([lane.reading ? `${scene.node} ${line.name}` : line.name, lineText(line, lane.unit, instant), line.colour]);
    if (own?.prefill) prefillRows(found, own.prefill.found, instant);
  }
  if (row >= 0) found.push([`${answer.map.nodes[row]}, ${scene.reading.label}`, mapText(scene, row, instant), ""]);
  return found;
}

function lineText(line, unit, instant) {
  const index = at(line, instant, line.bin);
  if (index < 0) return "–";
  const span = line.low && line.low[index] !== line.high[index] ? ` (${text(line.low[index], unit)} – ${text(line.high[index], unit)})` : "";
  return text(line.mid[index], unit) + span;
}

function prefillRows(found, episodes, instant) {
  const one = episodes.find(({ from, to }) => instant >= from && instant <= to);
  if (!one) return;
  const size = one.tokens === null ? "size not known" : text(one.tokens, "tokens");
  found.push(["Prefill", one.speed === null ? size : `${size} in ${text(one.seconds, "seconds")}: ${text(one.speed, "tokens_per_second")}`, "prefill"]);
}

function mapText({ answer, reading }, row, instant) {
  const place = column(answer.map, instant), value = place < 0 ? null : answer.map.v[row][place];
  return text(value, reading.base);
}

// Where the readout of the keyboard's cursor stands.
export function beside(canvas, x) {
  const { left, top } = canvas.getBoundingClientRect();
  return { x: left + x, y: top + AXIS };
}

export class Readout {
  constructor(place) {
    this.box = element("div", "explore-readout run-readout");
    this.box.hidden = true;
    this.head = element("p");
    this.table = element("table");
    this.box.append(this.head, this.table);
    place.append(this.box);
  }

  hide() {
    this.box.hidden = true;
  }

  // brush: the stretch being chosen, which is told in place of the values. x, y: where the pointer is in the window.
  show(scene, { cursor, brush, row }, now, spot) {
    if (brush) {
      setText(this.head, lengthText(Math.abs(brush.to - brush.from)));
      this.table.replaceChildren();
    } else {
      setText(this.head, instantText(Math.round(cursor / 1000) * 1000, now));
      this.table.replaceChildren(...values(scene, cursor, row).map(([name, value, colour]) => {
        const line = element("tr"), title = element("th"), swatch = element("span", "swatch");
        if (colour) swatch.style.background = `var(--${colour})`;
        title.append(swatch, name);
        line.append(title, element("td", "", value));
        return line;
      }));
    }
    this.box.hidden = false;
    this.put(spot);
  }

  put({ x, y }) {
    const { width, height } = this.box.getBoundingClientRect();
    const left = x + EDGE + width > innerWidth - 8 ? x - EDGE - width : x + EDGE;
    this.box.style.left = `${Math.max(left, 8)}px`;
    this.box.style.top = `${Math.min(Math.max(y + EDGE, 56), Math.max(innerHeight - height - 8, 56))}px`;
  }
}
