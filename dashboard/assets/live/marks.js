// Marks of what is not well, for tiles and table: what is well has none.

export const MARKS = { ok: "", idle: "", warning: "▲", critical: "■", unknown: "○", empty: "" };
