// The page ages its own numbers: a silent collector, or a server that is gone, needs nobody to say so.

import { setAttribute, setText } from "./dom.js";

const SILENT_MS = 3000;
const MARKS = { ok: "●", idle: "●", warning: "▲", critical: "■", unknown: "○", empty: "○" };

export function duration(milliseconds) {
  const seconds = Math.floor(milliseconds / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m ${seconds % 60}s`;
  const hours = Math.floor(minutes / 60);
  return hours < 24 ? `${hours}h ${minutes % 60}m` : `${Math.floor(hours / 24)}d ${hours % 24}h`;
}

// {level, text, stale}: what the header says, from the state and whether the server answers.
export function judge(state, linked, now) {
  const age = state.age(now);
  if (age === null && linked) return { level: "unknown", text: "Waiting for the first reading", ...state.message?.sentence, stale: false };
  if (age === null) return { level: "critical", text: "The server does not answer", stale: false };
  if (age < SILENT_MS || (linked && state.message.sentence.level === "empty")) return { ...state.message.sentence, stale: false };
  const who = linked ? "Collector silent for" : "The server does not answer; numbers are from";
  return { level: "critical", text: `${who} ${duration(age)}${linked ? "" : " ago"}`, stale: true };
}

export function zoneName() {
  return Intl.DateTimeFormat().resolvedOptions().timeZone || "local time";
}

// Write sentence, age and zone into every header there is; returns the judgement.
export function showAge(state, linked, now) {
  const said = judge(state, linked, now), age = state.age(now);
  const fresh = "zoomed" in document.documentElement.dataset ? "zoomed" : "live";
  const about = age === null ? "" : said.stale ? `${duration(age)} ago` : fresh;
  for (const bar of document.querySelectorAll(".sentence[data-sentence]")) {
    setAttribute(bar, "data-level", said.level);
    setText(bar.firstElementChild, MARKS[said.level] ?? "○");
    setText(bar.lastElementChild, said.text);
    setAttribute(bar, "title", said.text);
  }
  for (const place of document.querySelectorAll("[data-age]")) setText(place, about);
  for (const place of document.querySelectorAll("[data-zone]")) setText(place, zoneName());
  setAttribute(document.documentElement, "data-stale", said.stale ? "true" : "");
  setAttribute(document.documentElement, "data-sentence", state.message?.sentence.level ?? "unknown");
  return said;
}
