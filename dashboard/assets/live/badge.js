// How many causes fire, beside the name of the page that tells which.

import { setAttribute } from "./dom.js";

export function words(causes) {
  return causes === 1 ? "Alerts, 1 fires" : `Alerts, ${causes} fire`;
}

// alerts: {causes, level} of a message, undefined before the first.
export function showBadge(alerts) {
  const causes = alerts?.causes ?? 0;
  for (const link of document.querySelectorAll(".menu-link[href='/alerts']")) {
    setAttribute(link, "data-count", causes ? (causes > 99 ? "99+" : String(causes)) : "");
    setAttribute(link, "data-level", causes ? alerts.level : "");
    setAttribute(link, "aria-label", causes ? words(causes) : "");
  }
}
