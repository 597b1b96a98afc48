// One plot: its axes and marks, the tooltip, and the selection by mouse and keyboard.

import { createElement } from "../dom.js";
import { formatNumber } from "../format.js";
import { createRect, createSvg } from "../svg.js";
import { drawAxes, drawGrid, layOut } from "./axes.js";
import { nameOf, valuesOf } from "./describe.js";
import { createLegend } from "./legend.js";
import { drawMark } from "./marks.js";
import { drawPoints } from "./points.js";
import { findTargets, orderAlong, rowsWithin, targetAt } from "./targets.js";

const MAX_HEIGHT = 420;
const MIN_HEIGHT = 260;
const DRAG_DISTANCE = 4; // pixels from which a press is a drag
const STEPS = {
  ArrowRight: ["x", 1],
  ArrowLeft: ["x", -1],
  ArrowUp: ["y", 1],
  ArrowDown: ["y", -1],
  PageDown: ["x", 10],
  PageUp: ["x", -10],
  Home: ["x", -Infinity],
  End: ["x", Infinity],
};

export class PanelView {
  element = createElement("div", "labext-plot-panel");
  selected = new Set(); // rows
  #panel;
  #actions;
  #area;
  #base = createSvg("svg", { "aria-hidden": "true" });
  #canvas = createElement("canvas", "", { "aria-hidden": "true" });
  #cursorLayer = createSvg("svg", { "aria-hidden": "true", class: "labext-plot-cursor" });
  #tooltip = createElement("div", "labext-tooltip", { "aria-hidden": "true" });
  #layout = null;
  #targets = [];
  #orders = {};
  #focused = -1; // index of a target
  #press = null; // {x, y, add, isDrag} while the button is pressed
  #width = 0;
  #frame = 0; // of the animation, while a drawing is due

  /** `actions`: select(rows), open(row) or null, announce(text), guarded(callback). */
  constructor(panel, actions) {
    this.#panel = panel;
    this.#actions = actions;
    const keys = actions.open ? "Enter opens the job, Space selects it" : "Space selects";
    this.#area = createElement("div", "labext-plot-area", {
      tabindex: "0",
      role: "application",
      "aria-label": `${panel.title || panel.summary}. Arrow keys move along the axes; ${keys}; Escape clears the selection.`,
    });
    this.#tooltip.hidden = true;
    this.#area.append(this.#base, this.#canvas, this.#cursorLayer, this.#tooltip);
    const heading = createElement("div", "labext-plot-title");
    if (panel.title) heading.append(createElement("strong", "", {}, panel.title));
    if (panel.note) heading.append(createElement("span", "labext-plot-note", {}, panel.note));
    const choose = actions.guarded((rows, add) => this.#choose(rows, add));
    const legend = createLegend(panel, choose);
    this.element.append(heading, this.#area, ...(legend ? [legend] : []));
    this.#listen();
  }

  /** Draw the panel in a new width. */
  draw(width) {
    this.#width = width;
    const ratio = this.#panel.square ? 0.85 : 0.62;
    const height = Math.round(Math.min(MAX_HEIGHT, Math.max(MIN_HEIGHT, width * ratio)));
    this.#area.style.height = `${height}px`;
    const { fontFamily } = getComputedStyle(this.#base);
    this.#layout = layOut(this.#panel, width, height, fontFamily);
    const { xScale, yScale } = this.#layout;
    this.#targets = findTargets(this.#panel, xScale, yScale);
    this.#orders = {};
    this.#redraw(this.selected);
    this.#showCursor();
  }

  focus() {
    this.#area.focus({ preventScroll: true });
  }

  select(rows) {
    this.selected = new Set(rows);
    if (this.#width) this.#redraw(this.selected);
  }

  #redraw(selected) {
    const { area, xScale, yScale } = this.#layout;
    const [width, height] = [area.right - area.left, area.bottom - area.top];
    const marks = createSvg("svg", {
      ...{ x: area.left, y: area.top, width, height },
      viewBox: `${area.left} ${area.top} ${width} ${height}`,
    });
    for (const mark of this.#panel.marks) {
      marks.append(...drawMark(this.#panel, mark, xScale, yScale, selected));
    }
    const axes = drawAxes(this.#panel, this.#layout);
    this.#base.replaceChildren(...drawGrid(this.#layout), marks, ...axes);
    drawPoints(this.#canvas, this.#panel, xScale, yScale, selected);
  }

  #listen() {
    const on = (name, listener) => this.#area.addEventListener(name, this.#actions.guarded(listener));
    on("pointerdown", (event) => this.#startPress(event));
    on("pointermove", (event) => this.#move(event));
    on("pointerup", (event) => this.#endPress(event));
    on("pointercancel", () => this.#cancelPress());
    on("pointerleave", () => this.#press || this.#showCursor());
    on("keydown", (event) => this.#handleKey(event));
    on("blur", () => {
      this.#focused = -1;
      this.#showCursor();
    });
  }

  #position(event) {
    const box = this.#area.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  #startPress(event) {
    if (event.button !== 0) return;
    event.preventDefault();
    this.#area.focus({ preventScroll: true });
    this.#area.setPointerCapture(event.pointerId);
    const [x, y] = this.#position(event);
    this.#press = { x, y, add: isAdding(event), isDrag: false };
    this.#focused = -1;
  }

  #move(event) {
    const [x, y] = this.#position(event);
    const press = this.#press;
    if (!press) return this.#showTarget(targetAt(this.#targets, x, y));
    press.isDrag ||= Math.hypot(x - press.x, y - press.y) > DRAG_DISTANCE;
    if (!press.isDrag) return;
    press.box = this.#brush(press, x, y);
    const { left, top, right, bottom } = press.box;
    this.#tooltip.hidden = true;
    this.#cursorLayer.replaceChildren(
      createRect(left, top, right - left, bottom - top, "labext-brush", { height: bottom - top }),
    );
    this.#frame ||= requestAnimationFrame(
      this.#actions.guarded(() => {
        this.#frame = 0;
        if (this.#press) this.#redraw(this.#union(rowsWithin(this.#targets, press.box), press.add));
      }),
    );
  }

  #brush(press, x, y) {
    return {
      left: Math.min(press.x, x),
      right: Math.max(press.x, x),
      top: Math.min(press.y, y),
      bottom: Math.max(press.y, y),
    };
  }

  #endPress(event) {
    const press = this.#press;
    if (!press) return;
    this.#press = null;
    const [x, y] = this.#position(event);
    if (press.isDrag) {
      this.#cursorLayer.replaceChildren();
      return this.#choose([...rowsWithin(this.#targets, this.#brush(press, x, y))], press.add);
    }
    const target = targetAt(this.#targets, x, y);
    if (!target) return press.add || this.#choose([], false);
    if (press.add) return this.#toggle(target.rows);
    this.#act(target);
  }

  #cancelPress() {
    this.#press = null;
    this.#cursorLayer.replaceChildren();
    this.#redraw(this.selected);
  }

  /** Open the job of a point; select the rows of a bar, or of a point that is no job. */
  #act(target) {
    if (this.#actions.open && !target.box) this.#actions.open(target.rows[0]);
    else this.#choose(target.rows, false);
  }

  #choose(rows, add) {
    this.#actions.select(this.#union(rows, add));
  }

  #union(rows, add) {
    return new Set(add ? [...this.selected, ...rows] : rows);
  }

  #toggle(rows) {
    const remove = rows.every((row) => this.selected.has(row));
    const remaining = new Set(this.selected);
    for (const row of rows) remove ? remaining.delete(row) : remaining.add(row);
    this.#actions.select(remaining);
  }

  #handleKey(event) {
    const target = this.#targets[this.#focused];
    const { key } = event;
    if (key in STEPS && !event.ctrlKey && !event.metaKey && !event.altKey) {
      if (event.shiftKey && target) this.#choose(target.rows, true);
      this.#step(...STEPS[key]);
      const reached = this.#targets[this.#focused];
      if (event.shiftKey && reached) this.#choose(reached.rows, true);
    } else if (key === "Enter" && target) this.#act(target);
    else if (key === " " && target) this.#toggle(target.rows);
    else if (key === "a" && (event.ctrlKey || event.metaKey)) {
      this.#choose([...new Set(this.#targets.flatMap(({ rows }) => rows))], false);
    } else if (key === "Escape" && (this.selected.size || this.#press)) {
      this.#cancelPress();
      this.#choose([], false);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #step(which, offset) {
    const order = (this.#orders[which] ??= orderAlong(this.#targets, which));
    if (!order.length) return;
    const place = this.#focused < 0 ? (offset > 0 ? -1 : order.length) : order.indexOf(this.#focused);
    const next = Math.min(Math.max(place + offset, 0), order.length - 1);
    this.#focused = order[next];
    this.#showCursor();
    const target = this.#targets[this.#focused];
    const position = `${formatNumber(next + 1)} of ${formatNumber(order.length)}`;
    const isSelected = target.rows.every((row) => this.selected.has(row));
    const words = [nameOf(this.#panel, target), ...valuesOf(this.#panel, target), position];
    this.#actions.announce(words.concat(isSelected ? ["selected"] : []).join("; "));
  }

  /** Show the target that the keyboard has reached, or none. */
  #showCursor() {
    this.#showTarget(this.#targets[this.#focused] ?? null);
  }

  #showTarget(target) {
    this.#tooltip.hidden = !target;
    this.#area.classList.toggle("labext-over", target !== null);
    if (!target) return this.#cursorLayer.replaceChildren();
    const { x, y, box, mark } = target;
    const ring = box
      ? createRect(box.left, box.top, box.right - box.left, box.bottom - box.top, "labext-cursor-ring")
      : createSvg("circle", { cx: x, cy: y, r: (mark.size ?? 5) / 2 + 3.5, class: "labext-cursor-ring" });
    this.#cursorLayer.replaceChildren(ring);
    const lines = valuesOf(this.#panel, target).map((line) => createElement("span", "", {}, line));
    const name = createElement("strong", "", {}, nameOf(this.#panel, target));
    this.#tooltip.replaceChildren(name, ...lines);
    this.#placeTooltip(x, box ? box.top : y);
  }

  #placeTooltip(x, y) {
    const { style } = this.#tooltip;
    style.left = style.top = "0px"; // its own width, not that of what is left
    const { offsetWidth: width, offsetHeight: height } = this.#tooltip;
    const left = x + 12 + width <= this.#width ? x + 12 : x - 12 - width;
    const top = Math.min(Math.max(y - height / 2, 0), this.#area.clientHeight - height);
    style.left = `${Math.max(left, 0)}px`;
    style.top = `${Math.max(top, 0)}px`;
  }
}

const isAdding = (event) => event.shiftKey || event.ctrlKey || event.metaKey;
