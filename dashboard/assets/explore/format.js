// Values as text, by the tables of the server's formatter: the same rules, for what the browser alone can know in time
// (the number under the cursor). A test compares both over many values.

let tables = null;

// tables: {ladders, seconds, words}, as the page's configuration carries them.
export function useTables(given) {
  tables = given;
}

function digits(size, decimals) {
  return (Math.floor(size * 10 ** decimals + 0.5 + 1e-9) / 10 ** decimals).toFixed(decimals);
}

function number(size, whole = "never") {
  const integer = whole === "always" || (whole === "integers" && Number.isInteger(size));
  return digits(size, integer || Number(digits(size, 1)) >= 100 ? 0 : 1);
}

function fine(size) {
  if (Number(digits(size, 2)) >= 1 || Number(digits(size, 3)) === 0) return number(size);
  return digits(size, Number(digits(size, 3)) >= 0.1 ? 2 : 3);
}

function climb(size, ladder) {
  let step = 0, { whole } = ladder;
  size *= ladder.scale;
  while (step < ladder.steps.length - 1 && Number(number(size, whole)) >= 1000) {
    size /= ladder.base;
    step += 1;
    whole = "never";
  }
  let shown = ladder.fine && step === 0 ? fine(size) : number(size, whole);
  if (Number(shown) >= (ladder.open_ended ? tables.words.most_open : 1000)) shown = tables.words.too_much;
  return ladder.glued ? [shown + ladder.steps[step], ladder.unit] : [shown, ladder.steps[step]];
}

function clock(size) {
  const { short, clock: parts, ends } = tables.seconds;
  for (const [unit, factor, full] of short) {
    const shown = number(size * factor);
    if (Number(shown) < full) return Number(shown) > 0 ? [shown, unit] : ["0.0", "s"];
  }
  for (let at = 0; at + 1 < parts.length; at++) {
    const [small, least] = parts[at], [large, factor] = parts[at + 1], per = Math.floor(factor / least);
    const all = Math.floor(size / least + 0.5), count = Math.floor(all / per);
    if (count * factor < ends[large]) return [`${count}${large} ${all % per}${small}`, ""];
  }
  return [tables.words.too_much + parts.at(-1)[0], ""];
}

// [number, unit] of a value in its base unit; null is unknown.
export function show(value, unit) {
  const { unknown, minus } = tables.words;
  if (value === null || value === undefined || Number.isNaN(value)) return [unknown, ""];
  if (!Number.isFinite(value)) return [value > 0 ? "∞" : minus + "∞", ""];
  const [shown, word] = unit === "seconds" ? clock(Math.abs(value)) : climb(Math.abs(value), tables.ladders[unit]);
  return [value < 0 && /[1-9]/.test(shown) ? minus + shown : shown, word];
}

// Number and unit in one line. states: names of a state's codes, for metrics that have them.
export function text(value, unit, states) {
  if (states?.length) return states[value] ?? tables.words.unknown;
  return show(value, unit).filter(Boolean).join("\u00a0");
}

const SECONDS = [[1e-6, "µs"], [1e-3, "ms"], [1, "s"], [60, "min"], [3600, "h"], [86400, "d"]];

// {unit, scale} in which an axis that reaches up to `largest` has numbers below a thousand (seconds: below 600 s …).
export function axisUnit(largest, unit) {
  if (unit === "seconds") {
    const fits = SECONDS.filter(([size]) => largest >= (size < 1 ? size : size === 1 ? 1 : size * 5));
    const [size, word] = fits.at(-1) ?? SECONDS[largest > 0 ? 0 : 2];
    return { unit: word, scale: 1 / size };
  }
  const ladder = tables.ladders[unit];
  let step = 0, { scale } = ladder;
  while (step < ladder.steps.length - 1 && largest * scale >= 1000) {
    scale /= ladder.base;
    step += 1;
  }
  const word = ladder.steps[step];
  return { unit: ladder.glued ? [word, ladder.unit].filter(Boolean).join(" ") : word, scale };
}
