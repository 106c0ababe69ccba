// The list of runs: AG Grid, filled from the API. Numbers are written by the formatter's own tables.

import { text, useTables } from "../explore/format.js";

const EVERY_MS = 5000, WHOLE_EVERY = 12, LIMIT = 10000, GRID = "runs-grid";

function bare(value, unit) {
  return value === null || value === undefined ? "–" : text(value, unit);
}

function instant(value) {
  return new Date(value).toLocaleString();
}

// The grid's own kind of cell: React would not take a node of ours.
class NameCell {
  init({ data }) {
    this.node = document.createElement("a");
    this.node.href = `/runs/${data.id}`;
    this.node.className = "inside";
    this.node.textContent = data.name;
  }

  getGui() {
    return this.node;
  }

  refresh() {
    return false;
  }
}

function columns({ numbers }) {
  const shown = numbers.map(({ path, head, unit, told }) => ({
    headerName: head,
    headerTooltip: told,
    colId: path,
    valueGetter: ({ data }) => data.numbers?.[path] ?? null,
    valueFormatter: ({ value }) => bare(value, unit),
    filter: "agNumberColumnFilter",
    type: "rightAligned",
    width: 124,
  }));
  const small = innerWidth <= 900, tags = { colId: "marks", filter: "agTextColumnFilter", minWidth: 100, flex: 1 };
  const name = { headerName: "Name", field: "name", cellRenderer: NameCell, filter: "agTextColumnFilter", minWidth: 180, flex: 2, pinned: small ? null : "left" };
  const about = [
    { headerName: "Marks", valueGetter: ({ data }) => marks(data).join(", "), ...tags },
    { headerName: "Model", valueGetter: ({ data }) => data.model.split("/").at(-1), filter: "agTextColumnFilter", minWidth: 110, flex: 1 },
    { headerName: "Began", field: "start", valueFormatter: ({ value }) => instant(value), sort: "desc", width: 196 },
  ];
  return small ? [name, ...shown, ...about] : [name, ...about, ...shown];
}

function marks(run) {
  return [run.live && "live", run.baseline && "baseline", run.pinned && "pinned", ...run.tags].filter(Boolean);
}

// Those that go on stand on top, however the list is sorted.
function liveFirst({ nodes }) {
  nodes.sort((a, b) => Number(b.data.live) - Number(a.data.live));
}

class RunList {
  constructor(place) {
    this.place = place;
    this.known = new Map();
    this.looks = 0;
    this.configuration = JSON.parse(place.dataset.runs);
    useTables(this.configuration);
    this.search = document.createElement("input");
    Object.assign(this.search, { type: "search", placeholder: "Search", ariaLabel: "Search the runs" });
    this.search.addEventListener("input", () => this.grid?.setGridOption("quickFilterText", this.search.value));
    place.querySelector("[data-runs-search]").replaceChildren(this.search);
    this.start();
  }

  async start() {
    while (!this.closed && !(window.dash_ag_grid && document.getElementById(GRID))) await new Promise((done) => setTimeout(done, 50));
    if (this.closed) return;
    this.grid = await window.dash_ag_grid.getApiAsync(GRID);
    if (this.closed) return;
    this.grid.updateGridOptions({
      columnDefs: columns(this.configuration),
      defaultColDef: { sortable: true, resizable: true, suppressHeaderMenuButton: false },
      postSortRows: liveFirst,
      rowHeight: 36,
      tooltipShowDelay: 300,
      overlayNoRowsTemplate: "<span class='note'>No run was recorded yet. One begins when requests run or tokens flow.</span>",
    });
    this.look();
  }

  // All of them at first and once a minute; between, those that go on or ended lately: ten thousand take their time.
  async look() {
    const whole = this.looks++ % WHOLE_EVERY === 0;
    try {
      const answer = await fetch(`/api/v1/runs?limit=${LIMIT}${whole ? "" : "&start=-1h"}`, { cache: "no-store" });
      const { runs } = await answer.json();
      if (answer.ok && !this.closed) {
        if (whole) this.known.clear();
        for (const run of runs) this.known.set(run.id, { ...run, key: String(run.id) });
        this.show([...this.known.values()]);
      }
    } catch {
      // The server is away: the header says so, and the page keeps what it has.
    }
    if (!this.closed) this.timer = setTimeout(() => this.look(), EVERY_MS);
  }

  show(runs) {
    const told = JSON.stringify(runs);
    if (told !== this.told) this.grid.setGridOption("rowData", runs);
    this.told = told;
    const total = runs.length, going = runs.filter((run) => run.live).length;
    this.place.querySelector("[data-runs-count]").textContent = `${total} ${total === 1 ? "run" : "runs"}${going ? `, ${going} going on` : ""}`;
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
  }
}

let list = null;

// place: the page's element with its grid, null where another page stands.
export function mount(place) {
  if (place === (list?.place ?? null)) return;
  list?.close();
  list = place ? new RunList(place) : null;
}
