// “When would this have fired?” of a rule as it stands in its form, saved or not.

import { instantText } from "../explore/time.js";
import { duration } from "../live/age.js";
import { element } from "../live/dom.js";
import { payload } from "./orders.js";

const REACH = "-30d", WHOLE_MS = 30 * 86400000, SHORT_MS = 43200000, SHOWN = 20;

// Of which time a replay speaks: no longer than what was recorded of it.
function reach([first, last] = []) {
  const length = last - first;
  if (!(length > 0)) return null;
  return length > WHOLE_MS - SHORT_MS ? "in the last 30 days" : `in the ${duration(length)} that were recorded`;
}

// What a replay says, in one line.
export function words({ fired, cut, per_week, recorded }) {
  const told = reach(recorded);
  if (!told) return "Nothing was recorded yet that it could have fired on.";
  if (!fired.length) return `It would not have fired ${told}.`;
  const count = cut ? `more than ${fired.length} times` : fired.length === 1 ? "once" : `${fired.length} times`;
  // Of less than a week nothing is said of weeks; of less than a day it is null.
  return `It would have fired ${count} ${told}${per_week !== null && per_week <= fired.length ? `, ${per_week.toFixed(1)} per week` : ""}.`;
}

function line({ subject, fired, ended }, now) {
  const lasted = ended === null ? "and still would" : `for ${duration(ended - fired)}`;
  return element("li", "", `${instantText(Math.floor(fired / 1000) * 1000, now)} ${subject}, ${lasted}`);
}

export function answerOf(found, now) {
  const list = element("ul");
  list.append(...found.fired.slice(-SHOWN).reverse().map((one) => line(one, now)));
  const more = found.fired.length - SHOWN;
  if (more > 0) list.append(element("li", "note", `and ${more} before`));
  return found.fired.length ? [element("p", "note", words(found)), list] : [element("p", "note", words(found))];
}

// The course of what the rule reads, with when it would have fired.
async function drawn(found) {
  const { Replayed } = await import("../alert/replayed.js");
  return new Replayed(found).place;
}

async function ask(form) {
  const { name = "", table = {} } = payload(form);
  try {
    const answer = await fetch("/api/v1/rules/replay", {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ name, table, start: REACH }),
    });
    const found = await answer.json();
    if (!answer.ok) return [element("p", "note", found.error)];
    const [said, ...list] = answerOf(found, Date.now());
    return [said, await drawn(found), ...list];
  } catch {
    return [element("p", "note", "The server does not answer.")];
  }
}

export function startReplays() {
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-replay]");
    if (!button) return;
    const place = button.form.querySelector("[data-replayed]");
    button.disabled = true;
    place.replaceChildren(element("p", "note", "…"));
    place.replaceChildren(...(await ask(button.form)));
    button.disabled = false;
  });
}
