// Columns of the list of runs. Numbers are written by the formatter's own tables.

import { show, text } from "../explore/format.js";
import { instantText } from "../explore/time.js";

// What runs that came from outside are called: by the beginning of their deployment, which none of ours has.
const ORIGINS = [["benchmark:", "benchmark"], ["foreign:", "imported"]];
// Pixels of columns of numbers: all of them fit into a window of 1,440. A mean may have a mark.
const MARKED = 104, WIDTHS = { "phases.running_mean": 80, "requests.finished": 84, "nodes.took_part": 70, "requests.output": 94 };
const SPARK = { width: 96, height: 24 }, SVG = "http://www.w3.org/2000/svg";

// The grid's own kind of cell: React would not take a node of ours.
function cell(draw) {
  return class {
    init(given) {
      this.node = draw(given);
    }

    getGui() {
      return this.node;
    }

    refresh() {
      return false;
    }
  };
}

function element(name, className, content) {
  const node = document.createElement(name);
  node.className = className;
  node.textContent = content;
  return node;
}

export const NameCell = cell(({ data }) => {
  const node = element("span", "run-name", "");
  const link = element("a", "inside", data.name);
  link.href = `/runs/${data.id}`;
  node.title = [data.name, ...marks(data)].join(" · ");
  node.append(link, ...marks(data).map((mark) => element("span", `tag ${mark === "live" ? "live" : ""}`, mark)));
  return node;
});

export const GroupCell = cell(({ data }) => {
  const node = element("div", "runs-group", "");
  const count = data.count === 1 ? "1 run" : `${data.count} runs`;
  node.append(element("b", "", data.group || "model not known"), element("span", "note", count));
  return node;
});

const CourseCell = cell(({ data }) => course(data.spark));

// A line from 0 to its own highest point; where nothing is known, nothing is drawn.
function course(points) {
  const known = (points ?? []).filter((value) => value !== null), most = Math.max(...known, 0);
  if (!known.length) return element("span", "note", "–");
  const { width, height } = SPARK, step = points.length > 1 ? (width - 2) / (points.length - 1) : 0;
  const svg = document.createElementNS(SVG, "svg"), line = document.createElementNS(SVG, "path");
  const area = document.createElementNS(SVG, "path"), floor = height - 1;
  let path = "", under = "", pen = "M";
  points.forEach((value, at) => {
    if (value === null) return void (pen = "M");
    const x = (1 + at * step).toFixed(1), y = (most > 0 ? floor - (value / most) * (height - 3) : floor).toFixed(1);
    const ends = (points[at + 1] ?? null) === null, alone = ends && pen === "M" ? "h1.5" : "";
    under += `${pen === "M" ? `M${x} ${floor}L` : "L"}${x} ${y}${alone}${ends ? `V${floor}Z` : ""}`;
    path += `${pen}${x} ${y}${alone}`;
    pen = "L";
  });
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("class", "course");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `Course of decode speed, up to ${text(most, "tokens_per_second")}`);
  line.setAttribute("d", path);
  area.setAttribute("d", under);
  area.setAttribute("class", "under");
  svg.append(area, line);
  return svg;
}

function bare(value, unit) {
  return value === null || value === undefined ? "–" : text(value, unit);
}

// A number from which the time of gaps is left out: with a mark, and what it means in its title.
function touchedCell(unit, left, told) {
  return cell(({ data, value }) => {
    const out = data[left] > 0, node = element("span", "", bare(value, unit) + (out ? "\u00a0∗" : ""));
    if (out) node.title = told.replace("{}", text(data[left], "tokens"));
    return node;
  });
}

// A difference from a baseline of another load: grey, with the reason.
function againstCell(told) {
  return cell(({ data, value }) => {
    if (data.load === null || data.load === undefined) return element("span", "", signed(value));
    const node = element("span", "dimmed other-load", `${signed(value)}\u00a0†`), running = [data["phases.running_mean"], data.load];
    node.title = running.reduce((words, each) => words.replace("{}", text(each, "requests")), told);
    return node;
  });
}

// A share as a difference: +4.2 %.
export function signed(value) {
  if (value === null || value === undefined) return "–";
  const [number, unit] = show(value, "ratio");
  return `${value > 0 && /[1-9]/.test(number) ? "+" : ""}${number}\u00a0${unit}`;
}

function instant(value) {
  return instantText(value, Date.now(), false);
}

export function marks(run) {
  const origin = ORIGINS.find(([begin]) => run.deployment?.startsWith(begin))?.[1];
  return [origin, run.live && "live", run.baseline && "baseline", run.pinned && "pinned", run.trimmed && "trimmed", ...run.tags].filter(Boolean);
}

export function modelOf(run) {
  return run.model.split("/").at(-1);
}

export function columns({ numbers, against, load, course: told, touched: [mean, left, why] }) {
  const number = { filter: "agNumberColumnFilter", type: "rightAligned" };
  const shown = numbers.map(({ path, head, unit, told }) => ({
    headerName: head,
    headerTooltip: told,
    colId: path,
    valueGetter: ({ data }) => data[path] ?? null,
    valueFormatter: ({ value }) => bare(value, unit),
    ...(path === mean ? { cellRenderer: touchedCell(unit, left, why) } : {}),
    width: path === mean ? MARKED : WIDTHS[path] ?? 88,
    ...number,
  }));
  const small = innerWidth <= 900;
  const name = {
    headerName: "Run",
    colId: "name",
    valueGetter: ({ data }) => [data.name, ...marks(data)].join(" "),
    comparator: (_one, _other, { data }, { data: other }) => (data.name ?? "").localeCompare(other.name ?? "", undefined, { numeric: true }),
    cellRenderer: NameCell,
    filter: "agTextColumnFilter",
    minWidth: small ? 186 : 232,
    flex: 2,
    pinned: small ? null : "left",
  };
  const line = { headerName: "Course", headerTooltip: told, cellRenderer: CourseCell, sortable: false, width: 112, colId: "course" };
  const apart = {
    headerName: "vs. baseline",
    headerTooltip: against,
    colId: "against",
    valueGetter: ({ data }) => data.against,
    valueFormatter: ({ value }) => signed(value),
    cellRenderer: againstCell(load),
    width: 104,
    ...number,
  };
  const model = { headerName: "Model", colId: "model", valueGetter: ({ data }) => modelOf(data), filter: "agTextColumnFilter", width: 112 };
  const began = { headerName: "Began", colId: "start", valueGetter: ({ data }) => data.start, valueFormatter: ({ value }) => instant(value), sort: "desc", width: 104 };
  return small ? [name, shown[0], line, began, apart, ...shown.slice(1), model] : [name, began, line, shown[0], apart, ...shown.slice(1), model];
}
