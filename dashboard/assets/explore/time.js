// Instants as the viewer's clock shows them, and the ticks of the time axis. Pure: the zone is the browser's.

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR, WEEK = 7 * DAY;
const STEPS = [
  ...[1, 2, 5, 10, 15, 30].map((count) => ["second", count, count * SECOND]),
  ...[1, 2, 5, 10, 15, 30].map((count) => ["minute", count, count * MINUTE]),
  ...[1, 2, 3, 6, 12].map((count) => ["hour", count, count * HOUR]),
  ...[1, 2, 7, 14].map((count) => ["day", count, count * DAY]),
  ...[1, 2, 3, 6].map((count) => ["month", count, count * 30.4 * DAY]),
  ["year", 1, 365 * DAY],
];

const two = (number) => String(number).padStart(2, "0");

export function clockText(instant, seconds = true) {
  const at = new Date(instant);
  return `${two(at.getHours())}:${two(at.getMinutes())}` + (seconds ? `:${two(at.getSeconds())}` : "");
}

export function dayText(instant, year = false) {
  const at = new Date(instant);
  return `${at.getDate()} ${MONTHS[at.getMonth()]}` + (year ? ` ${at.getFullYear()}` : "");
}

// "30 Nov 07:40:00": how every page writes an instant, in the viewer's zone. The year where it is not that of `now`;
// milliseconds where there are any; neither they nor seconds where those do not matter.
export function instantText(instant, now, seconds = true) {
  const part = seconds && instant % 1000 ? "." + String(Math.floor(instant % 1000)).padStart(3, "0") : "";
  const year = new Date(instant).getFullYear() !== new Date(now).getFullYear();
  return `${dayText(instant, year)} ${clockText(instant, seconds)}${part}`;
}

// "30 Nov 07:40:00 – 07:55:00": the second day only where it is another.
export function spanText([start, end], now) {
  const same = dayText(start, true) === dayText(end, true);
  return `${instantText(start, now)} – ${same ? instantText(end, now).split(" ").at(-1) : instantText(end, now)}`;
}

const LENGTHS = [["days", DAY], ["h", HOUR], ["min", MINUTE], ["s", SECOND]];

// A length in words: "15 min", "1 min 58 s", "7 days"; below ten of a unit with what is left over.
export function lengthText(milliseconds) {
  const at = LENGTHS.findIndex(([, size]) => milliseconds >= size);
  if (at < 0 || LENGTHS[at][0] === "s") return `${Math.round(milliseconds / 100) / 10} s`;
  const [word, size] = LENGTHS[at], [small, least] = LENGTHS[at + 1];
  let count = Math.floor(milliseconds / size), rest = Math.round((milliseconds - count * size) / least);
  if (rest * least === size) [count, rest] = [count + 1, 0];
  const first = `${count} ${count === 1 && word === "days" ? "day" : word}`;
  return rest && count < 10 ? `${first} ${rest} ${small}` : first;
}

// What an input of type datetime-local shows and gives.
export function inputText(instant) {
  const at = new Date(instant);
  const day = [at.getFullYear(), two(at.getMonth() + 1), two(at.getDate())].join("-");
  return `${day}T${clockText(instant)}`;
}

export function fromInput(value) {
  const instant = new Date(value).getTime();
  return Number.isNaN(instant) ? null : instant;
}

// First tick at or before an instant, on the viewer's calendar.
function floorTo(instant, kind, count) {
  const at = new Date(instant), [year, month, day] = [at.getFullYear(), at.getMonth(), at.getDate()];
  const parts = {
    second: () => new Date(year, month, day, at.getHours(), at.getMinutes(), at.getSeconds() - (at.getSeconds() % count)),
    minute: () => new Date(year, month, day, at.getHours(), at.getMinutes() - (at.getMinutes() % count)),
    hour: () => new Date(year, month, day, at.getHours() - (at.getHours() % count)),
    day: () => new Date(year, month, day - (count % 7 === 0 ? (at.getDay() + 6) % 7 : (day - 1) % count)),
    month: () => new Date(year, month - (month % count), 1),
    year: () => new Date(year, 0, 1),
  };
  return parts[kind]().getTime();
}

function next(tick, kind, count, size) {
  if (kind === "second" || kind === "minute") return tick + size;
  const at = new Date(tick);
  if (kind === "hour") {
    // A day on which the clocks change has 23 or 25 hours: go by the calendar, and never stand still.
    const after = new Date(at.getFullYear(), at.getMonth(), at.getDate(), at.getHours() + count).getTime();
    return after > tick ? after : tick + size;
  }
  const { y = 0, m = 0, d = 0 } = { day: { d: count }, month: { m: count }, year: { y: count } }[kind];
  return new Date(at.getFullYear() + y, at.getMonth() + m, at.getDate() + d).getTime();
}

function label(tick, kind) {
  const at = new Date(tick);
  if (kind === "year") return String(at.getFullYear());
  if (kind === "month") return at.getMonth() ? MONTHS[at.getMonth()] : String(at.getFullYear());
  if (kind === "day" || (!at.getHours() && !at.getMinutes() && !at.getSeconds())) return dayText(tick);
  return clockText(tick, kind === "second");
}

// [{t, label}] inside a span, at most one per `room` pixels of `width`.
export function ticks([start, end], width, room = 80) {
  const most = Math.max(Math.floor(width / room), 1);
  const [kind, count, size] = STEPS.find((step) => (end - start) / step[2] <= most) ?? STEPS.at(-1);
  const found = [];
  for (let at = floorTo(start, kind, count); at <= end; at = next(at, kind, count, size))
    if (at >= start) found.push({ t: at, label: label(at, kind) });
  return found;
}
