// What people do to runs and alerts: forms become commands, which the collector carries out at its next tick.

import { fromInput } from "../explore/time.js";
import { element } from "../live/dom.js";
import { initial } from "../live/fields.js";
import { go } from "../live/go.js";
import { moment } from "./moments.js";

const READ = {
  text: (text) => text,
  maybe: (text) => text.trim() || null,
  json: (text) => JSON.parse(text),
  list: (text) => (text.trim() ? text.split(",").map((one) => one.trim()).filter(Boolean) : null),
  names: (text) => text.split(",").map((one) => one.trim()).filter(Boolean),
  after: (text, base) => moment(text, base, 1),
  minutes: (text, base) => (text.trim() ? base + Math.round(Number(text) * 60000) : ""),
  before: (text, base) => moment(text, base, -1),
  // Of a field of date and time, in the viewer's zone.
  moment: (text) => (text ? fromInput(text) ?? "" : ""),
  // Days of the week, however they are written.
  days: (text) => text.toLowerCase().split(/[\s,]+/).filter(Boolean).map((day) => day.slice(0, 3)),
  // Where nothing stands, the viewer's own; where the browser does not know that, none is sent.
  zone: (text) => text.trim() || (Intl.DateTimeFormat().resolvedOptions().timeZone ?? ""),
  // Minutes after where the command begins, now where it says nothing of that.
  lasting: (text, base, found) => (found.start_ms ?? base) + Math.round(Number(text) * 60000),
};

const DOORS = { runOrder: "/api/v1/runs/commands", alertOrder: "/api/v1/alerts/commands" };

function untouched(field) {
  return field.type !== "hidden" && field.value === initial(field);
}

// The command of a form.
export function payload(form) {
  const { runOrder, alertOrder, run } = form.dataset, found = { kind: runOrder ?? alertOrder };
  if (run) found.run = Number(run);
  for (const field of form.querySelectorAll("[name]")) {
    if ("changed" in form.dataset && untouched(field)) continue;
    const value = READ[field.dataset.as](field.value, Number(field.dataset.base), found), path = field.name.split(".");
    let place = found;
    for (const group of path.slice(0, -1)) place = place[group] ??= {};
    if (value?.length !== 0 || !alertOrder || "changed" in form.dataset) place[path.at(-1)] = value;
  }
  return found;
}

// Whether a form says what it is about, where it asks unless it does.
function named({ dataset: { unless }, elements }) {
  return unless !== undefined && unless.split(" ").some((name) => elements[name].value.trim());
}

// Send a command; {error} or {why} say what hindered it.
export async function send(order, door = DOORS.runOrder) {
  try {
    const answer = await fetch(door, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(order),
    });
    return await answer.json();
  } catch {
    return { error: "The server does not answer." };
  }
}

// Have a test sent to a channel; what came of it.
async function test(name) {
  const { error, text } = await send({}, `/api/v1/channels/${encodeURIComponent(name)}/test`);
  return { why: error ?? text };
}

// What a form says when its command was carried out: of a rule with a link to where it stands.
function told({ dataset: { done } }, { name, table }, note) {
  if (!done || !name) return [note ?? ""];
  const link = element("a", "", table?.title ?? name);
  link.href = `#rule-${name}`;
  return [`${done}: `, link];
}

// done: called with the form once its command was carried out.
export function startOrders(done) {
  document.addEventListener("submit", async (event) => {
    const form = event.target.closest("form.order");
    if (!form) return;
    event.preventDefault();
    if (form.dataset.ask && !named(form) && !confirm(form.dataset.ask)) return;
    const said = form.querySelector("[data-said]"), button = form.querySelector("[type=submit]");
    button.disabled = true;
    said.textContent = "…";
    const { channelTest } = form.dataset, door = DOORS["alertOrder" in form.dataset ? "alertOrder" : "runOrder"];
    const order = channelTest === undefined ? payload(form) : {};
    const { error, why, note } = await (channelTest === undefined ? send(order, door) : test(channelTest));
    button.disabled = false;
    said.replaceChildren(...(error || why ? [error ?? why] : told(form, order, note)));
    if (error) return;
    if ("once" in form.dataset) {
      form.reset();
      form.querySelector("[data-replayed]")?.replaceChildren();
    }
    if (form.dataset.then) go(form.dataset.then);
    else done(form);
  });
}
