// The list of runs: AG Grid, filled from the API.

import { useTables } from "../explore/format.js";
import { Chosen } from "./chosen.js";
import { columns, GroupCell, modelOf } from "./columns.js";
import { arrange, heading, isHeading, Models } from "./groups.js";

const EVERY_MS = 5000, WHOLE_EVERY = 12, LATELY = "-1h", GRID = "runs-grid", ROW = 36;

// Rows of {columns, runs} as objects. end null: it goes on.
function rows({ columns: names, runs }) {
  return runs.map((values) => {
    const run = Object.fromEntries(names.map((name, at) => [name, values[at]]));
    return { ...run, key: String(run.id), live: run.end === null };
  });
}

async function ask(query) {
  const answer = await fetch(`/api/v1/runs/table${query}`, { cache: query ? "no-store" : "no-cache" });
  if (!answer.ok) throw new Error(`${answer.status}`);
  return rows(await answer.json());
}

class RunList {
  constructor(place) {
    this.place = place;
    this.known = new Map();
    this.headings = new Map();
    this.looks = 0;
    this.configuration = JSON.parse(place.dataset.runs);
    useTables(this.configuration);
    this.search = document.createElement("input");
    Object.assign(this.search, { type: "search", placeholder: "Search", ariaLabel: "Search the runs" });
    this.search.addEventListener("input", () => this.grid?.setGridOption("quickFilterText", this.search.value));
    place.querySelector("[data-runs-search]").replaceChildren(this.search);
    this.models = new Models(place.querySelector("[data-runs-models]"), () => this.regroup());
    this.chosen = new Chosen(place.querySelector("[data-runs-chosen]"), () => this.again());
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
      postSortRows: ({ nodes }) => arrange(nodes),
      alwaysPassFilter: isHeading,
      isExternalFilterPresent: () => this.models.model !== null,
      doesExternalFilterPass: ({ data }) => modelOf(data) === this.models.model,
      isFullWidthRow: ({ rowNode }) => isHeading(rowNode),
      fullWidthCellRenderer: GroupCell,
      rowSelection: { mode: "multiRow", headerCheckbox: true, selectAll: "filtered", isRowSelectable: (node) => !isHeading(node) },
      selectionColumnDef: { pinned: innerWidth <= 900 ? null : "left", width: 44, resizable: false },
      rowHeight: ROW,
      tooltipShowDelay: 300,
      overlayNoRowsTemplate: "<span class='note'>No run was recorded yet. One begins when requests run or tokens flow.</span>",
    });
    this.grid.addEventListener("selectionChanged", () => this.chosen.show(this.grid.getSelectedRows()));
    this.grid.addEventListener("filterChanged", () => this.count());
    this.grid.addEventListener("gridSizeChanged", () => this.fill());
    this.grid.addEventListener("columnResized", ({ column, source }) => (this.sized ||= source === "uiColumnResized" && column?.getColId() === "name"));
    this.fill();
    this.look();
  }

  // All that ended at first and once a minute, which the browser keeps while it is the same; between, and of those that
  // go on, what is new.
  async look() {
    const whole = this.looks++ % WHOLE_EVERY === 0;
    try {
      const [all, lately] = await Promise.all([whole ? ask("") : null, ask(`?start=${LATELY}`)]);
      if (!this.closed) this.take([...(all ?? []), ...lately], whole);
    } catch {
      // The server is away: the header says so, and the page keeps what it has.
    }
    clearTimeout(this.timer);
    if (!this.closed) this.timer = setTimeout(() => this.look(), EVERY_MS);
  }

  // Something was done to runs: everything is asked anew.
  again() {
    this.looks = 0;
    this.look();
  }

  // Only rows that changed are given to the grid: ten thousand take their time. whole: those that are not among these
  // are gone.
  take(runs, whole) {
    const newest = new Map(runs.map((run) => [run.key, run])), add = [], update = [], remove = [];
    for (const [key, run] of newest) {
      const text = JSON.stringify(run), before = this.known.get(key);
      if (before?.text === text) continue;
      (before ? update : add).push(run);
      this.known.set(key, { run, text });
    }
    for (const [key, { run }] of whole ? this.known : [])
      if (!newest.has(key)) {
        remove.push(run);
        this.known.delete(key);
      }
    if (!this.runs) this.grid.updateGridOptions({ loading: false, rowData: [] }); // so that it says if there is none
    if (add.length + update.length + remove.length || !this.runs) this.change({ add, update, remove });
  }

  change({ add = [], update = [], remove = [] }) {
    this.runs = [...this.known.values()].map(({ run }) => run);
    this.models.draw(this.runs);
    this.grid.setColumnsVisible(["model"], new Set(this.runs.map(modelOf)).size > 1);
    this.fill();
    const wanted = new Set(this.models.grouped ? this.runs.map(modelOf) : []);
    for (const [model, row] of this.headings)
      if (!wanted.has(model)) {
        remove.push(row);
        this.headings.delete(model);
      }
    for (const model of wanted)
      if (!this.headings.has(model)) {
        this.headings.set(model, heading(model));
        add.push(this.headings.get(model));
      }
    this.grid.applyTransaction({ add, update, remove });
    this.chosen.show(this.grid.getSelectedRows());
    this.count();
  }

  // Names take what the other columns leave of the window, until somebody gives them a width: the grid lets no pinned
  // column do that.
  fill() {
    const viewport = document.querySelector(`#${GRID} .ag-center-cols-viewport`), shown = this.grid.getAllDisplayedColumns();
    const name = shown.find((column) => column.getColId() === "name");
    if (this.sized || !viewport || !name?.isPinned()) return;
    const used = shown.reduce((sum, column) => sum + (column.isPinned() ? 0 : column.getActualWidth()), 0);
    const width = Math.max(name.getActualWidth() + viewport.clientWidth - used, name.getMinWidth());
    if (width !== name.getActualWidth()) this.grid.setColumnWidths([{ key: "name", newWidth: width }]);
  }

  // Another model is chosen, or headings come or go.
  regroup() {
    if (!this.runs) return;
    this.change({});
    this.grid.onFilterChanged();
  }

  count() {
    const total = this.runs?.length ?? 0, going = (this.runs ?? []).filter((run) => run.live).length;
    let shown = 0;
    const heads = [];
    this.grid.forEachNodeAfterFilter((node) => (isHeading(node) ? heads.push(node) : (shown += 1)));
    if (heads.length) this.grid.redrawRows({ rowNodes: heads });
    const all = `${total} ${total === 1 ? "run" : "runs"}${going ? `, ${going} going on` : ""}`;
    this.place.querySelector("[data-runs-count]").textContent = shown < total ? `${shown} of ${all}` : all;
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
