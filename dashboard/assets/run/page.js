// A run's page: one view, which is its address; the timeline, and the parts that the server writes, follow it.

import { useTables } from "../explore/format.js";
import { lengthText, spanText } from "../explore/time.js";
import { element, setAttribute, setText } from "../live/dom.js";
import { tellZoomed } from "../live/zoom.js";
import { PHASES } from "./draw.js";
import { Here } from "./here.js";
import { Parts } from "./parts.js";
import { Timeline } from "./timeline.js";
import { isEmpty } from "./scales.js";
import { isPart, parse, range, stretch, within, write } from "./view.js";

const LIVE = "live", EVERY_MS = 5000, DEEPEST = 30;
const NO_TIMELINE = "No timeline: there are no samples of this run here.";

async function get(path, signal) {
  const answer = await fetch(`/api/v1/${path}`, { cache: "no-store", signal });
  const told = await answer.json().catch(() => ({}));
  if (!answer.ok) throw Object.assign(new Error(told.error ?? `The server answers ${answer.status}.`), { status: answer.status });
  return told;
}

export class RunPage {
  // root: the page's element.
  constructor(run, config, hubNow, root) {
    useTables(config);
    Object.assign(this, { run, hubNow, closed: false, answer: null, view: parse(location.search) });
    this.place = element("div", "run-body");
    this.parts = new Parts(run);
    this.bar = element("div", "run-bar");
    this.said = element("span", "run-stretch");
    this.whole = element("button", "plain", "Whole run");
    this.whole.type = "button";
    this.whole.addEventListener("click", () => this.go({ ...this.view, start: null, end: null }, []));
    this.key = element("span", "run-key");
    this.here = new Here(this);
    this.bar.append(this.said, this.whole, ...this.here.parts, this.key);
    this.timeline = new Timeline(this);
    const { boxes } = this.parts;
    this.place.append(boxes.run, this.bar, this.timeline.box, boxes["run-moment"], boxes["run-node"], boxes["run-more"]);
    this.place.addEventListener("click", (event) => this.clicked(event));
    this.path = location.pathname;
    this.popped = () => this.closed || location.pathname !== this.path || (this.read(), this.show());
    addEventListener("popstate", this.popped);
    this.seen = () => document.hidden || this.tick();
    document.addEventListener("visibilitychange", this.seen);
    this.read();
    this.attach(root);
    this.show();
  }

  attach(root) {
    if (this.place.parentNode !== root) root.append(this.place);
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    this.control?.abort();
    removeEventListener("popstate", this.popped);
    document.removeEventListener("visibilitychange", this.seen);
    this.timeline.close();
    this.place.remove();
    tellZoomed(false);
  }

  now() {
    return this.hubNow() ?? Date.now();
  }

  read() {
    this.view = parse(location.search);
    this.trail = history.state?.trail ?? [];
  }

  // Another view: an entry in the browser's history, or the same one where only the look changes.
  go(view, trail = this.trail, replace = false) {
    this.view = view;
    this.trail = trail;
    history[replace ? "replaceState" : "pushState"]({ trail }, "", location.pathname + write(view));
    return this.show();
  }

  zoom(from, to) {
    const part = stretch(from, to, this.answer.run), { start, end } = this.view;
    this.go(within(this.view, part, this.answer.run), [...this.trail, { start, end }].slice(-DEEPEST));
  }

  // One step out: to where the last zoom came from, else the whole run.
  out() {
    if (!isPart(this.view)) return;
    const part = this.trail.at(-1) ?? { start: null, end: null };
    this.go(within(this.view, part, this.answer.run), this.trail.slice(0, -1));
  }

  // A moment, a node, or both; null leaves what was chosen.
  pick(instant, node) {
    const at = instant === null ? this.view.at : Math.round(instant / 1000) * 1000;
    const [first, last] = this.answer.run;
    if (instant !== null) this.parts.reveal("run-moment");
    this.go({ ...this.view, at: at === null ? null : Math.min(Math.max(at, first), last), node: node ?? this.view.node });
  }

  unpick() {
    if (this.view.at !== null || this.view.node !== null) this.go({ ...this.view, at: null, node: null });
  }

  choose(map) {
    this.go({ ...this.view, map: map === this.answer.readings[0].key ? null : map }, this.trail, true);
  }

  // Links of the server's parts that change the view: a node, a moment, or neither.
  clicked(event) {
    const made = event.target.closest?.("[data-pick-node], [data-pick-at], [data-unpick]");
    if (!made || !this.answer) return;
    const { pickNode, pickAt, unpick } = made.dataset;
    if (unpick) this.go({ ...this.view, [unpick]: null });
    else this.pick(pickAt ? Number(pickAt) : null, pickNode ?? null);
  }

  resized() {
    clearTimeout(this.resizing);
    if (this.answer) this.resizing = setTimeout(() => this.load(), 250);
  }

  // Something was done to the run: everything is asked for anew, of the whole of it.
  changed() {
    this.parts.forget();
    this.go({ ...this.view, start: null, end: null, at: null }, []);
  }

  show() {
    this.here.show();
    tellZoomed(isPart(this.view));
    this.parts.show(this.view);
    this.write();
    this.timeline.drawMoving();
    return this.load();
  }

  write() {
    const part = isPart(this.view), span = part ? [this.view.start, this.view.end] : this.answer?.run;
    this.whole.hidden = !part;
    if (!span) return;
    if (this.timeline.box.hidden) return setText(this.said, NO_TIMELINE);
    const length = lengthText(span[1] - span[0]), whole = this.answer?.live ? "The whole run so far" : `The whole run, ${length}`; // Length, above, grows
    setText(this.said, part ? `${spanText(span, this.now())} · ${length} of the run` : `${whole} · drag over the timeline for a stretch of it`);
  }

  // What the colours of the band of phases mean, of those that occur.
  legend() {
    const found = [...new Set(this.answer.phases.map(([, , phase]) => phase))];
    this.key.replaceChildren(...found.map((phase) => {
      const made = element("span", "", phase), swatch = element("span", "swatch");
      swatch.style.background = `var(--${PHASES[phase] ?? "sunken"})`;
      made.prepend(swatch);
      return made;
    }));
  }

  async id() {
    if (this.run !== LIVE) return this.run;
    const { runs } = await get("runs?state=live&limit=1", this.control.signal);
    return runs[0]?.id ?? null;
  }

  async load() {
    clearTimeout(this.timer);
    this.control?.abort();
    const control = (this.control = new AbortController());
    try {
      const id = await this.id();
      if (id === null) return void (this.timeline.box.hidden = this.bar.hidden = true);
      const asked = { ...range(this.view), points: this.timeline.points };
      const node = this.view.node && get(`runs/${id}/node?${new URLSearchParams({ name: this.view.node, ...asked })}`, control.signal);
      const more = this.view.map ? { map: this.view.map } : {};
      const [answer, lines] = await Promise.all([get(`runs/${id}/timeline?${new URLSearchParams({ ...asked, ...more })}`, control.signal), node]);
      if (this.closed || control !== this.control) return;
      this.answer = answer;
      setAttribute(this.place, "data-live", answer.live ? "true" : "");
      this.timeline.box.hidden = isEmpty(answer);
      this.timeline.show(answer, lines || null);
      this.place.dataset.state = "ready";
      this.write();
      this.legend();
    } catch (error) {
      if (this.closed || error.name === "AbortError") return;
      // There is no such run: the part above says so.
      if (error.status === 404 && !this.answer) return void (this.timeline.box.hidden = this.bar.hidden = true);
      this.timeline.say(error.message);
    } finally {
      if (!this.closed && control === this.control) this.parts.release(this.view, this.answer?.live ?? false);
    }
    this.later();
  }

  // A run that goes on is asked for again, not while nobody looks.
  later() {
    clearTimeout(this.timer);
    const ends = isPart(this.view) && this.answer && this.view.end < this.answer.run[1];
    if (this.answer?.live && !ends && !document.hidden) this.timer = setTimeout(() => this.load(), EVERY_MS);
  }

  tick() {
    if (!this.closed) this.load();
  }
}
