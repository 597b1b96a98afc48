// The alignment view: toolbar, status line, and a canvas that scrolls over the cells.
//
// state: {name, summary, names, alignment: null | {kind, rows, consensus, conservation, colors,
// other, classes}, tree: null | {horizontal: [[x0, x1, row]], vertical: [[x, row0, row1]], tips,
// scale, label}, selection: {names, sender}}

import { createButton, createElement, setDisabled } from "../dom.js";
import { formatNumber } from "../format.js";
import { addStyle } from "../style.js";
import { observeTheme } from "../theme.js";
import { createField, createSelect, createToolbar } from "../toolbar.js";
import { isGap, SCHEMES } from "./colors.js";
import { moveCursor } from "./keyboard.js";
import { Layout, MAX_ZOOM } from "./layout.js";
import { Painter } from "./painter.js";
import css from "./style.css";

const MAX_HEIGHT = 460; // pixels of the scrolled area
const SCROLLBAR = 16;
const HINT = "Click a name to select its sequence.";

export function alignment(root, handle) {
  addStyle("labext-alignment-style", css);
  const { state } = handle;
  const { names, tree } = state;
  const rows = state.alignment?.rows ?? [];
  const viewId = Math.random().toString(36).slice(2);
  const layout = new Layout({
    rows: names.length,
    columns: rows[0]?.length ?? 0,
    hasTree: tree !== null,
    nameWidth: widestName(names),
  });
  let cursor = null;
  let selection = new Set();
  let anchor = 0; // the row from which Shift extends the selection
  let frame = 0;

  const canvas = createElement("canvas", "labext-alignment-canvas", { "aria-hidden": "true" });
  const painter = new Painter(canvas, layout, state);
  const area = createElement("div", "labext-alignment-area");
  area.append(canvas);
  const scroll = createElement("div", "labext-alignment-scroll", {
    tabindex: "0",
    role: "application",
    "aria-label":
      `${state.summary}. Arrow keys move between the sequences${rows.length ? " and columns" : ""}, ` +
      "Enter selects a sequence, Escape clears the selection.",
  });
  scroll.append(area);
  const status = createElement("div", "labext-alignment-status", { role: "status" });
  const zoomButtons = [
    createButton("−", "Zoom out", handle.guarded(() => setZoom(layout.zoom - 1))),
    createButton("+", "Zoom in", handle.guarded(() => setZoom(layout.zoom + 1))),
  ];
  const title = createElement("strong", "labext-title", {}, state.name);
  const schemeSelect = createSelect(
    SCHEMES,
    handle.guarded((name) => {
      painter.setScheme(name);
      requestDraw();
    }),
  );
  const zoom = createElement("div", "labext-field", { role: "group", "aria-label": "Zoom" });
  zoom.append(...zoomButtons);
  const schemeField = createField("Color", schemeSelect);
  const toolbar = createToolbar(root, title, ...(rows.length ? [schemeField] : []), zoom);
  root.classList.add("labext-alignment");
  const summary = createElement("div", "labext-alignment-summary", {}, state.summary);
  root.append(toolbar, scroll, status, summary);
  describe(null);

  function draw() {
    if (layout.width) painter.draw(scroll.scrollLeft, scroll.scrollTop, cursor, selection);
  }

  function requestDraw() {
    frame ||= requestAnimationFrame(() => {
      frame = 0;
      handle.guard(draw);
    });
  }

  /** Set the sizes of everything by the space there is. */
  function resize() {
    layout.width = root.clientWidth;
    if (!layout.width) return;
    const needed = layout.contentHeight + (layout.contentWidth > layout.width ? SCROLLBAR : 0) + 2;
    scroll.style.height = `${Math.min(needed, MAX_HEIGHT)}px`;
    area.style.width = layout.columns ? `${layout.contentWidth}px` : "100%";
    area.style.height = `${layout.contentHeight}px`;
    layout.width = scroll.clientWidth;
    layout.height = scroll.clientHeight;
    painter.refresh();
    draw();
  }

  function setZoom(level) {
    const { cell, left } = layout;
    const column = (scroll.scrollLeft + (layout.width - left) / 2) / cell.width; // in the middle
    const row = scroll.scrollTop / cell.height;
    layout.zoom = Math.min(Math.max(level, 0), MAX_ZOOM);
    setDisabled(zoomButtons[0], layout.zoom === 0);
    setDisabled(zoomButtons[1], layout.zoom === MAX_ZOOM);
    resize();
    const x = column * layout.cell.width - (layout.width - layout.left) / 2;
    scroll.scrollTo(x, row * layout.cell.height);
    draw();
  }

  /** Describe a cell or a row in the status line. */
  function describe(position, announced = true) {
    status.setAttribute("aria-live", announced ? "polite" : "off");
    const chosen = selection.size ? ` · ${formatNumber(selection.size)} selected` : "";
    if (position === null) {
      status.textContent = selection.size
        ? `Selected: ${[...selection].slice(0, 5).join(", ")}${selection.size > 5 ? ", …" : ""}`
        : HINT;
      return;
    }
    const { row, column } = position;
    let text = names[row];
    if (column !== null) {
      const letter = rows[row][column];
      text += ` · column ${formatNumber(column + 1)} · `;
      if (isGap(letter)) text += "gap";
      else {
        const name = state.alignment.classes[letter.toUpperCase()];
        const residue = ungappedPosition(rows[row], column);
        text += `${letter} ${formatNumber(residue)}`;
        if (name?.length > 1) text += ` (${name})`;
      }
    }
    status.textContent = text + chosen;
  }

  function select(chosen, send = true) {
    selection = new Set(names.filter((name) => chosen.has(name)));
    describe(null);
    requestDraw();
    if (send) handle.send({ do: "select", names: [...selection], sender: viewId });
  }

  function selectRow(row, { toggle = false, extend = false } = {}) {
    const name = names[row];
    const chosen = new Set(toggle ? selection : []);
    if (extend) {
      const [first, last] = [Math.min(anchor, row), Math.max(anchor, row)];
      for (let i = first; i <= last; i++) chosen.add(names[i]);
    } else {
      const isOnly = selection.size === 1 && selection.has(name);
      if (toggle ? selection.has(name) : isOnly) chosen.delete(name);
      else chosen.add(name);
      anchor = row;
    }
    select(chosen);
  }

  function positionOf(event) {
    const { left, top } = scroll.getBoundingClientRect();
    const x = event.clientX - left - scroll.clientLeft;
    const y = event.clientY - top - scroll.clientTop;
    if (x >= layout.width || y >= layout.height) return { row: null, column: null };
    return layout.at(x, y, scroll.scrollLeft, scroll.scrollTop);
  }

  const onKeyDown = (event) => {
    if (event.key === "Escape") {
      if (!selection.size) return;
      select(new Set());
    } else if (event.key === "Enter" || event.key === " ") {
      selectRow(cursor?.row ?? 0, { toggle: true });
    } else if (event.altKey) {
      return;
    } else {
      const perPage = Math.floor((layout.height - layout.top) / layout.cell.height);
      const moved = moveCursor(event, cursor, layout, Math.max(perPage - 1, 1));
      if (!moved) return;
      cursor = moved;
      const [left, top] = layout.reveal(cursor, scroll.scrollLeft, scroll.scrollTop);
      scroll.scrollTo(left, top);
      describe(cursor);
      requestDraw();
    }
    event.preventDefault();
    event.stopPropagation();
  };
  const onPointerMove = (event) => {
    const { row, column } = positionOf(event);
    scroll.style.cursor = row !== null && column === null ? "pointer" : "";
    if (row !== null) describe({ row, column }, false);
  };
  const onClick = (event) => {
    const { row, column } = positionOf(event);
    if (row === null) return;
    if (column === null) {
      selectRow(row, { toggle: event.ctrlKey || event.metaKey, extend: event.shiftKey });
    } else {
      cursor = { row, column };
      describe(cursor);
    }
    requestDraw();
  };
  scroll.addEventListener("scroll", requestDraw, { passive: true });
  scroll.addEventListener("keydown", handle.guarded(onKeyDown));
  scroll.addEventListener("pointermove", handle.guarded(onPointerMove));
  scroll.addEventListener(
    "pointerleave",
    handle.guarded(() => describe(cursor, false)),
  );
  scroll.addEventListener("click", handle.guarded(onClick));

  handle.onChange((change) => {
    if (change.selection && change.selection.sender !== viewId) {
      select(new Set(change.selection.names), false);
    }
  });

  const onResize = handle.guarded(resize);
  const resizeObserver = new ResizeObserver(onResize);
  resizeObserver.observe(root);
  const stopTheme = observeTheme(onResize);
  return () => {
    cancelAnimationFrame(frame);
    resizeObserver.disconnect();
    stopTheme();
  };
}

function ungappedPosition(row, column) {
  let position = 0;
  for (let i = 0; i <= column; i++) if (!isGap(row[i])) position++;
  return position;
}

function widestName(names) {
  const context = document.createElement("canvas").getContext("2d");
  context.font = "600 13px system-ui, sans-serif";
  let widest = 0;
  for (const name of names) widest = Math.max(widest, context.measureText(name).width);
  return widest;
}
