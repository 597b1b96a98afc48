// The linear map: rows of bases, of which only the visible ones are in the page. With a single row
// for the whole molecule it is the overview.

import { createElement } from "../dom.js";
import { LinearMapRow } from "./linear_map_row.js";
import { cursorAt, extendTo, headOf, rangeOf } from "./selection.js";
import { translate } from "./translation.js";

const PADDING = 8; // pixels left and right of the rows
const OVERSCAN = 200; // pixels above and below the visible part that are drawn too

export class LinearMap {
  element = createElement("div", "labext-rows", { role: "group", "aria-label": "Bases" });
  perRow = 1;
  #molecule;
  #actions;
  #codons;
  #content = createElement("div", "labext-rows-all");
  #rows = [];
  #visible = new Map(); // row -> its element
  #highlights = [null, null, []];

  constructor(molecule, actions) {
    this.#molecule = molecule;
    this.#actions = actions;
    this.#codons = molecule.translations.map((mark, i) =>
      translate(molecule, mark).map((codon) => ({ ...codon, pick: `translation:${i}` })),
    );
    this.element.append(this.#content);
    this.element.addEventListener("scroll", () => this.#drawVisible());
    this.element.addEventListener("pointerdown", (event) => this.#onPointerDown(event));
  }

  /** Lay out the rows; `scale` is in pixels per base, 0 for a single row; `height` may be 0. */
  draw(width, height, scale, sites) {
    const molecule = this.#molecule;
    const previous = this.#rows.length ? this.#rowAt(this.element.scrollTop) : { first: 0, top: 0 };
    const offset = this.element.scrollTop - previous.top;
    const available = Math.max(width - 2 * PADDING - (height ? 16 : 0), 60);
    let perRow = scale ? Math.max(Math.floor(available / scale), 3) : molecule.length;
    if (scale && perRow > 20) perRow -= perRow % 10;
    this.perRow = Math.min(perRow, molecule.length);
    const filled = this.perRow === perRow ? available / perRow : scale; // do not stretch short ones
    const rowScale = scale ? filled : Math.min(available / molecule.length, 24);
    this.#rows = [];
    let top = 0;
    for (let first = 0; first < molecule.length; first += this.perRow) {
      const count = Math.min(this.perRow, molecule.length - first);
      const row = new LinearMapRow(molecule, {
        first,
        count,
        scale: rowScale,
        sites,
        codons: this.#codons,
      });
      row.top = top;
      top += row.height;
      this.#rows.push(row);
    }
    this.element.style.width = `${width}px`;
    this.element.style.height = height ? `${Math.min(height, top + 2)}px` : "";
    this.element.tabIndex = height && top + 2 > height ? 0 : -1; // Page Up and Page Down scroll it
    this.#content.style.height = `${top}px`;
    this.#content.replaceChildren();
    this.#visible.clear();
    const anchorRow = this.#rows[Math.floor(previous.first / this.perRow)];
    this.element.scrollTop = anchorRow.top + Math.min(offset, anchorRow.height);
    this.#drawVisible();
  }

  /** Draw the selection and the search hits. */
  highlight(selection, hits) {
    const range = selection && rangeOf(this.#molecule, selection);
    const cursor = selection && !range ? headOf(this.#molecule, selection) : null;
    this.#highlights = [range, cursor, hits];
    for (const row of this.#visible.keys()) row.highlight(...this.#highlights);
  }

  /** Scroll to a base that is not visible: as little as needed, or to the middle if it is far. */
  scrollTo(base) {
    const row = this.#rows[Math.min(Math.floor(base / this.perRow), this.#rows.length - 1)];
    if (!row) return; // before the first drawing
    const { scrollTop, clientHeight } = this.element;
    const top = row.top - scrollTop;
    const bottom = row.top + row.height - scrollTop - clientHeight;
    if (top >= 0 && bottom <= 0) return;
    const far = top < -clientHeight || bottom > clientHeight;
    const by = far ? top - clientHeight / 3 : top < 0 ? top : Math.min(bottom, top);
    this.element.scrollTop = Math.max(scrollTop + by, 0);
    this.#drawVisible();
  }

  #drawVisible() {
    const top = this.element.scrollTop - OVERSCAN;
    const bottom = this.element.scrollTop + (this.element.clientHeight || 600) + OVERSCAN;
    const visible = new Set(
      this.#rows.filter((row) => row.top < bottom && row.top + row.height > top),
    );
    for (const [row, svg] of this.#visible) {
      if (visible.has(row)) continue;
      svg.remove();
      this.#visible.delete(row);
    }
    for (const row of visible) {
      if (this.#visible.has(row)) continue;
      const svg = row.draw(Math.max(row.width, 1));
      this.#visible.set(row, svg);
      this.#content.append(svg);
      row.highlight(...this.#highlights);
    }
  }

  #rowAt(y) {
    return this.#rows.findLast((row) => row.top <= y) ?? this.#rows[0];
  }

  #positionAt(event) {
    const box = this.#content.getBoundingClientRect();
    const row = this.#rowAt(event.clientY - box.top);
    const offset = Math.round((event.clientX - box.left - PADDING) / row.scale);
    return row.first + Math.min(Math.max(offset, 0), row.count);
  }

  #onPointerDown(event) {
    const scrollbar =
      event.clientX > this.element.getBoundingClientRect().left + this.element.clientWidth;
    if (event.button !== 0 || scrollbar) return;
    const pick = event.target.closest("[data-pick]")?.dataset.pick;
    if (pick) return this.#actions.pick(pick);
    const previous = this.#actions.selection();
    const from = event.shiftKey && previous ? previous : cursorAt(this.#positionAt(event));
    this.#actions.select(event.shiftKey ? extendTo(from, this.#positionAt(event)) : from);
    this.#actions.trackPointer(this.element, event, (move) => {
      const { top, bottom } = this.element.getBoundingClientRect();
      if (move.clientY > bottom - 12) this.element.scrollTop += 12;
      if (move.clientY < top + 12) this.element.scrollTop -= 12;
      this.#actions.select(extendTo(from, this.#positionAt(move)));
    });
  }
}
