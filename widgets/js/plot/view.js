// A plot of a batch, of a table or of a job's files, with a selection shared with the kernel.
//
// state: {title, summary, opens, panels: [{title, x, y, marks, names, count, legend, scale, square,
// note, palette}], selection: {panel, rows, sender}}; see `chart.py` for the marks. `opens` tells
// whether the rows of the first panel are jobs that can be opened.

import { createButton, createElement } from "../dom.js";
import { addStyle } from "../style.js";
import { describeSelection } from "./describe.js";
import { PanelView } from "./panel.js";
import css from "./style.css";

const TWO_COLUMNS = 620; // pixels from which panels are side by side
const GAP = 16;

export function plot(root, handle) {
  addStyle("labext-plot-style", css);
  const { state } = handle;
  const viewId = Math.random().toString(36).slice(2);
  const isMany = state.panels.length > 1;
  let width = 0;

  const grid = createElement("div", `labext-plot-panels${isMany ? " labext-many" : ""}`);
  const spoken = createElement("div", "labext-visually-hidden", { "aria-live": "polite" });
  const status = createElement("span", "", { role: "status", "aria-live": "polite" });
  const clearButton = createButton("Clear", "Clear the selection", () => {
    const view = views.find(({ selected }) => selected.size);
    select(0, new Set());
    view?.focus(); // the button is hidden now
  });
  const hint = createElement("span", "labext-plot-hint");
  const opensPoints = state.opens && state.panels[0].marks.some(({ mark }) => mark !== "bars");
  hint.textContent = opensPoints
    ? "Click a point to open its job; drag to select."
    : `Drag to select ${state.opens ? "jobs" : "rows"}.`;
  const statusLine = createElement("div", "labext-plot-status");
  statusLine.append(hint, status, clearButton);
  const summary = createElement("div", "labext-plot-summary", {}, state.summary);

  const views = state.panels.map((panel, index) => {
    const isJobs = state.opens && index === 0;
    return new PanelView({ ...panel, isJobs, summary: state.summary }, {
      guarded: (callback) => handle.guarded(callback),
      announce: (text) => (spoken.textContent = text),
      select: (rows) => select(index, rows),
      open: isJobs && opensPoints ? (row) => open(panel.names[row] ?? "", row) : null,
    });
  });
  grid.append(...views.map(({ element }) => element));
  root.classList.add("labext-plot");
  root.append(grid, statusLine, summary, spoken);

  function select(index, rows) {
    const selection = { panel: index, rows: [...rows].sort((a, b) => a - b) };
    show(selection);
    handle.send({ do: "select", ...selection, sender: viewId });
  }

  function show({ panel, rows }) {
    views.forEach((view, index) => {
      const own = index === panel ? rows : [];
      if (own.length || view.selected.size) view.select(own);
    });
    const { isJobs, count } = { ...state.panels[panel], isJobs: state.opens && panel === 0 };
    status.textContent = describeSelection(isJobs, count, rows.length);
    clearButton.hidden = !rows.length;
    hint.hidden = rows.length > 0;
  }

  function open(name, row) {
    spoken.textContent = `Opening ${name} below the plot.`;
    handle.send({ do: "open", row });
  }

  handle.onChange(({ selection }) => {
    if (selection && selection.sender !== viewId) show(selection);
  });

  const resizeObserver = new ResizeObserver(([entry]) => {
    const newWidth = Math.floor(entry.contentRect.width);
    if (newWidth === width || !newWidth) return;
    width = newWidth;
    handle.guard(() => {
      const isSideBySide = isMany && width >= TWO_COLUMNS;
      grid.classList.toggle("labext-two-columns", isSideBySide);
      const own = isSideBySide ? Math.floor((width - GAP) / 2) : width;
      for (const view of views) view.draw(own);
    });
  });
  resizeObserver.observe(grid);
  return () => resizeObserver.disconnect();
}
