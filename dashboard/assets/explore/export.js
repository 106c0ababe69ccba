// Files of what is shown: as drawn, or every sample; of one chart, or of all where one question asks for them.

import { element, setText } from "../live/dom.js";
import { filters, isRate, manner, questions } from "./ask.js";
import { text } from "./format.js";
import { Pop } from "./pop.js";

const ADDRESS = "/api/v1/export.csv", NAMES = { csv: "CSV", parquet: "Parquet", sqlite: "SQLite" };

function labelsFor(view, metrics) {
  const common = Object.entries(view.labels).filter(([key]) => metrics.every((metric) => metric.labels.includes(key)));
  return common.map(([key, value]) => `${key}:${value}`).join();
}

// Parameters that ask for exactly these metrics as they are shown; null where no one question does, because filters
// or speeds hold for some of them only. drawn: `Feed.drawn`; null asks for every sample.
export function exportWords(view, metrics, [start, end], drawn) {
  const scopes = metrics.map((metric) => JSON.stringify([filters(view, metric), isRate(view, metric), Object.keys(view.labels).filter((key) => metric.labels.includes(key))]));
  if (!metrics.length || new Set(scopes).size > 1 || metrics.some((metric) => questions(view, metric).length > 1)) return null;
  const named = Object.entries(filters(view, metrics[0])).map(([kind, names]) => [kind, names.join()]);
  const instants = [start, end].map((instant) => new Date(Math.round(instant)).toISOString());
  const words = { metric: metrics.map((metric) => metric.name).join(), ...Object.fromEntries(named), start: instants[0], end: instants[1] };
  const label = labelsFor(view, metrics);
  return { ...words, ...(label && { label }), ...manner(view, metrics), ...(drawn ?? { raw: "1", gzip: "1" }) };
}

export function exportAddress(...question) {
  const words = exportWords(...question);
  return words && `${ADDRESS}?${new URLSearchParams(words)}`;
}

// The same question in another form; only CSV is packed.
export function inForm(address, form) {
  return form === "csv" ? address : address.replace("export.csv", `export.${form}`).replace("&gzip=1", "");
}

export class Exports {
  constructor(explorer) {
    this.explorer = explorer;
    this.pop = new Pop("Export", "explore-export", (box) => this.open(box));
    this.place = this.pop.place;
  }

  open(box) {
    const drawn = this.explorer.charts.filter((chart) => chart.feed.drawn);
    const alike = new Set(drawn.map((chart) => JSON.stringify(chart.feed.drawn))).size === 1;
    const parts = [["As drawn", (chart) => chart.feed.drawn], ["Every sample", () => null]].map(([title, how]) => {
      const group = element("fieldset");
      group.append(element("legend", "", title));
      const all = drawn.length > 1 && (alike || !how(drawn[0])) && this.link("all charts", drawn, how(drawn[0]));
      if (all) group.append(all);
      group.append(...drawn.map((chart) => this.link(chart.metric.label, [chart], how(chart))));
      return group;
    });
    box.replaceChildren(...(drawn.length ? parts : [element("p", "note", "There is nothing to export yet.")]));
  }

  link(label, charts, how) {
    const { view, span } = this.explorer, address = exportAddress(view, charts.map((chart) => chart.metric), span, how);
    if (!address) return null;
    const line = element("div", "explore-file"), size = element("small", "dimmed");
    line.append(element("span", "", label), size, ...this.explorer.config.forms.map((form) => {
      const link = element("a", "", NAMES[form]);
      link.href = inForm(address, form);
      link.download = "";
      link.title = `${label} as ${NAMES[form]}`;
      return link;
    }));
    if (!how) this.weigh(address, size);
    return line;
  }

  // About how large a file of every sample will be; nothing is said where the server does not know.
  async weigh(address, place) {
    const answer = await fetch(address.replace("gzip=1", "estimate=1"), { cache: "no-store" }).catch(() => null);
    const told = answer?.ok ? await answer.json() : null;
    if (told) setText(place, `CSV about ${text(told.bytes, "bytes")} before gzip`);
  }
}
