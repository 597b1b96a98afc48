// The circular map: annotation bands with arrow heads, cut sites, labels on both sides, and a
// selection that can be drawn with the pointer.

import { formatNumber } from "../format.js";
import { spreadLabels } from "./label_layout.js";
import { cursorAt, dragHead, headOf, rangeOf } from "./selection.js";
import { createSvg, lighten, tickStep, truncate } from "../svg.js";

const BAND_WIDTH = 13;
const LANE_WIDTH = 17;
export const MAX_LANES = 4;
const LABEL_GAP = 15;
const MAX_LABELS = 45; // on each side; the map grows for cut sites, which have no other mark
const LETTER_WIDTH = 6.4;
const TICK_RADIUS = 50; // pixels of inner radius needed for tick numbers
const MAX_HITS = 600; // more hits are not drawn: they would cover the circle

export class CircularMap {
  element = createSvg("svg", { class: "labext-circle", "aria-hidden": "true" });
  #molecule;
  #actions;
  #background = createSvg("g");
  #foreground = createSvg("g");
  #content = createSvg("g");
  #center = [0, 0];
  #radius = 100;
  #innerRadius = 80;

  constructor(molecule, actions) {
    this.#molecule = molecule;
    this.#actions = actions;
    this.element.append(this.#background, this.#content, this.#foreground);
    this.element.addEventListener("pointerdown", (event) => this.#onPointerDown(event));
  }

  /** Draw the parts that do not depend on selection and search: bands, ticks, labels, sites.
   * Return the number of sites without room for their label. */
  draw(width, sites) {
    const molecule = this.#molecule;
    const { annotations, length } = molecule;
    const names = [...annotations.map(({ name }) => name), ...sites.map(({ enzyme }) => enzyme)];
    const longest = Math.max(0, ...names.map((name) => name.length)) * LETTER_WIDTH;
    const margin = Math.min(longest, width * 0.17) + 40; // for the names on each side
    const labelledRadius = Math.min(Math.max(width / 2 - margin, 64), 150);
    const letters = Math.floor((width / 2 - labelledRadius - 40) / LETTER_WIDTH);
    const hasLabels = letters >= 3; // without room for names the circle uses the full width
    const radius = (this.#radius = hasLabels
      ? labelledRadius
      : Math.min(Math.max(width / 2 - 20, 40), 150));
    const { lanes, count } = molecule.assignLanes(annotations, MAX_LANES);
    this.#innerRadius = radius - LANE_WIDTH * Math.max(count - 1, 0) - BAND_WIDTH / 2 - 3;
    const labels = [
      ...annotations.map((mark, i) => ({
        turn: ((mark.start + molecule.rangeLength(mark.start, mark.end) / 2) / length) % 1,
        text: mark.name,
        size: molecule.rangeLength(mark.start, mark.end),
        pick: `annotation:${i}`,
        color: lighten(mark.color),
      })),
      ...sites.map((site, i) => ({
        turn: (site.cut / length) % 1,
        text: site.enzyme,
        size: length,
        pick: `site:${i}`,
      })),
    ];
    const maxHeight = radius + 50;
    const columns = [1, -1].map((side) =>
      this.#placeLabels(hasLabels ? labels : [], side, maxHeight),
    );
    const top = Math.min(
      -radius - 18,
      ...columns.flatMap((labels) => labels.map(({ y }) => y - 9)),
    );
    const bottom = Math.max(
      radius + 18,
      ...columns.flatMap((labels) => labels.map(({ y }) => y + 9)),
    );
    this.#center = [width / 2, -top];
    this.element.setAttribute("width", width);
    this.element.setAttribute("height", bottom - top);
    const [x, y] = this.#center;
    this.#content.replaceChildren(
      createSvg("circle", { cx: x, cy: y, r: radius, class: "labext-axis" }),
      ...(this.#innerRadius > TICK_RADIUS ? this.#ticks() : []),
      ...annotations.map((mark, i) => this.#band(mark, i, lanes[i])),
      ...columns.flatMap((labels, i) =>
        labels.map((label) => this.#label(label, i ? -1 : 1, letters)),
      ),
      ...this.#name(),
    );
    return sites.length - columns.flat().filter(({ color }) => !color).length;
  }

  /** Draw the selection and the search hits. */
  highlight(selection, hits) {
    const { length } = this.#molecule;
    const outer = this.#radius + 12;
    const inner = Math.max(this.#innerRadius - 4, 10);
    const range = selection && rangeOf(this.#molecule, selection);
    const background = [];
    const foreground = [];
    if (range) {
      const span = this.#molecule.rangeLength(range.start, range.end);
      background.push(this.#ring(range.start, span, inner, outer, "labext-selected"));
      for (const position of [range.start, range.end])
        foreground.push(this.#spoke(position, inner, outer));
    } else if (selection) {
      foreground.push(this.#spoke(headOf(this.#molecule, selection), inner, outer));
    }
    for (const hit of hits.length > MAX_HITS ? [] : hits) {
      const span = Math.max(this.#molecule.rangeLength(hit.start, hit.end), length / 400);
      background.push(
        this.#ring(hit.start, span, this.#radius - 9, this.#radius + 9, "labext-hit"),
      );
    }
    this.#background.replaceChildren(...background);
    this.#foreground.replaceChildren(...foreground);
  }

  /** Return the labels of one side that fit, sites and longest features first, with their height. */
  #placeLabels(labels, side, maxHeight) {
    const onSide = labels.filter(({ turn }) => turn < 0.5 === side > 0);
    const sites = onSide.filter(({ color }) => !color).length;
    const visible = onSide
      .sort((a, b) => b.size - a.size)
      .slice(0, Math.min(Math.floor((2 * maxHeight) / LABEL_GAP) + sites, MAX_LABELS))
      .sort((a, b) => side * (a.turn - b.turn));
    const heights = visible.map(({ turn }) => -Math.cos(2 * Math.PI * turn) * (this.#radius + 18));
    const limit = Math.max(maxHeight, (visible.length * LABEL_GAP) / 2);
    return spreadLabels(heights, LABEL_GAP, limit).map((y, i) => ({ ...visible[i], y }));
  }

  #point(turn, radius) {
    const angle = 2 * Math.PI * turn;
    return [this.#center[0] + radius * Math.sin(angle), this.#center[1] - radius * Math.cos(angle)];
  }

  #coordinates = (turn, radius) =>
    this.#point(turn, radius)
      .map((value) => value.toFixed(1))
      .join(" ");

  #band(mark, i, lane) {
    const { length } = this.#molecule;
    const middle = this.#radius - LANE_WIDTH * lane;
    const [inner, outer] = [middle - BAND_WIDTH / 2, middle + BAND_WIDTH / 2];
    const minTurn = 3 / (2 * Math.PI * middle);
    const size = Math.min(this.#molecule.rangeLength(mark.start, mark.end) / length, 0.9999);
    const turn = Math.max(size, minTurn);
    const begin = mark.start / length - (turn - size) / 2;
    const headTurn = mark.strand ? Math.min(7 / (2 * Math.PI * middle), turn / 2) : 0;
    const a = mark.strand < 0 ? begin + headTurn : begin;
    const b = mark.strand > 0 ? begin + turn - headTurn : begin + turn;
    const large = +(b - a > 0.5);
    const d = [
      `M${this.#coordinates(a, outer)}A${outer} ${outer} 0 ${large} 1 ${this.#coordinates(b, outer)}`,
      mark.strand > 0 ? `L${this.#coordinates(begin + turn, middle)}` : "",
      `L${this.#coordinates(b, inner)}A${inner} ${inner} 0 ${large} 0 ${this.#coordinates(a, inner)}`,
      mark.strand < 0 ? `L${this.#coordinates(begin, middle)}` : "",
      "Z",
    ].join("");
    const path = {
      d,
      class: "labext-band",
      fill: lighten(mark.color),
      "data-pick": `annotation:${i}`,
    };
    return createSvg("path", path, createSvg("title", {}, mark.name));
  }

  #ring(start, span, inner, outer, className) {
    const { length } = this.#molecule;
    const a = start / length;
    const b = a + Math.min(span / length, 0.9999);
    const large = +(b - a > 0.5);
    const d =
      `M${this.#coordinates(a, outer)}A${outer} ${outer} 0 ${large} 1 ${this.#coordinates(b, outer)}` +
      `L${this.#coordinates(b, inner)}A${inner} ${inner} 0 ${large} 0 ${this.#coordinates(a, inner)}Z`;
    return createSvg("path", { d, class: className });
  }

  #spoke(position, inner, outer) {
    const turn = position / this.#molecule.length;
    const d = `M${this.#coordinates(turn, inner)}L${this.#coordinates(turn, outer)}`;
    return createSvg("path", { d, class: "labext-edge" });
  }

  #ticks() {
    const { length } = this.#molecule;
    const distance = tickStep(length, this.#radius < 90 ? 4 : 8);
    const bases = [1];
    for (let base = distance; base <= length - distance / 3; base += distance)
      if (base > 1) bases.push(base);
    return bases.flatMap((base) => {
      const turn = (base - 0.5) / length;
      const [x, y] = this.#point(turn, this.#innerRadius - 14);
      const d = `M${this.#coordinates(turn, this.#innerRadius)}L${this.#coordinates(turn, this.#innerRadius - 4)}`;
      const attributes = { x, y: y + 3, "text-anchor": "middle", class: "labext-tick" };
      return [
        createSvg("path", { d, class: "labext-axis" }),
        createSvg("text", attributes, formatNumber(base)),
      ];
    });
  }

  #label({ turn, text, pick, color, y }, side, letters) {
    const [cx, cy] = this.#center;
    const column = cx + side * (this.#radius + 36);
    const [ex, ey] = this.#point(turn, this.#radius + 14);
    const d =
      `M${this.#coordinates(turn, this.#radius + BAND_WIDTH / 2)}L${ex.toFixed(1)} ${ey.toFixed(1)}` +
      `L${column - side * 18} ${ey.toFixed(1)}L${column - side * 3} ${cy + y}`;
    const attributes = {
      x: column,
      y: cy + y + 4,
      "text-anchor": side > 0 ? "start" : "end",
      class: color ? "labext-label" : "labext-label labext-site",
      "data-pick": pick,
    };
    return createSvg(
      "g",
      {},
      createSvg("path", { d, class: "labext-leader", style: color ? `stroke:${color}` : "" }),
      createSvg("text", attributes, truncate(text, letters), createSvg("title", {}, text)),
    );
  }

  #name() {
    const [x, y] = this.#center;
    if (this.#innerRadius < 30) return [];
    const room = 2 * (this.#innerRadius - (this.#innerRadius > TICK_RADIUS ? 26 : 4));
    const { name, length } = this.#molecule;
    const size = name.length * 8.4 <= room ? 14 : 11;
    const letters = Math.max(Math.floor(room / (0.6 * size)), 4);
    const style = `font-size:${size}px`;
    const bp = `${formatNumber(length)} bp`;
    return [
      createSvg("text", { x, y: y - 3, class: "labext-map-name", style }, truncate(name, letters)),
      createSvg("text", { x, y: y + 14, class: "labext-tick", "text-anchor": "middle" }, bp),
    ];
  }

  #positionAt(event) {
    const box = this.element.getBoundingClientRect();
    const x = event.clientX - box.left - this.#center[0];
    const y = event.clientY - box.top - this.#center[1];
    const turn = Math.atan2(x, -y) / (2 * Math.PI);
    return this.#molecule.normalize(
      Math.round((turn < 0 ? turn + 1 : turn) * this.#molecule.length),
    );
  }

  #onPointerDown(event) {
    if (event.button !== 0) return;
    const pick = event.target.closest("[data-pick]")?.dataset.pick;
    if (pick) return this.#actions.pick(pick);
    const position = this.#positionAt(event);
    const previous = this.#actions.selection();
    let selection =
      event.shiftKey && previous
        ? dragHead(this.#molecule, previous, position)
        : cursorAt(position);
    this.#actions.select(selection);
    this.#actions.trackPointer(this.element, event, (move) => {
      selection = dragHead(this.#molecule, selection, this.#positionAt(move));
      this.#actions.select(selection);
    });
  }
}
