// The legend of a panel: groups, which are buttons that select their rows, and a scale of colors.

import { createElement } from "../dom.js";
import { formatNumber } from "../format.js";
import { createSwatch } from "./points.js";
import { formatValue } from "./values.js";

/** Return the legend, or null if there is none; `select(rows, add)` selects a group. */
export function createLegend(panel, select) {
  const legend = createElement("div", "labext-plot-legend");
  const named = panel.marks.filter((mark) => mark.name);
  if (named.length) {
    if (panel.legend) legend.append(createElement("strong", "", {}, panel.legend));
    for (const mark of named) legend.append(createEntry(mark, select));
  }
  if (panel.scale) legend.append(createColorBar(panel));
  return legend.childElementCount ? legend : null;
}

function createEntry(mark, select) {
  const rows = (mark.rows ?? []).flat();
  const entry = rows.length
    ? createElement("button", "labext-plot-legend-entry", {
        type: "button",
        title: `Select ${mark.name} (${formatNumber(rows.length)})`,
      })
    : createElement("span", "labext-plot-legend-entry");
  entry.append(createSwatch(mark), createElement("span", "", {}, mark.name));
  if (rows.length) {
    entry.addEventListener("click", (event) => select(rows, event.shiftKey || event.ctrlKey || event.metaKey));
  }
  return entry;
}

function createColorBar({ scale, palette }) {
  const share = 100 / palette.length;
  const stops = palette.map((color, n) => `${color} ${n * share}% ${(n + 1) * share}%`);
  const bar = createElement("div", "labext-color-bar");
  const strip = createElement("div", "labext-colors");
  strip.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
  const ends = createElement("div", "labext-color-ends");
  for (const value of [scale.low, scale.high]) {
    ends.append(createElement("span", "", {}, formatValue(scale, value)));
  }
  bar.append(createElement("strong", "", {}, scale.label), strip, ends);
  return bar;
}
