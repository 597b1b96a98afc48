// The linear map: rows of bases below each other, of which those are drawn that are seen. With one
// row for the whole molecule it is the overview.

import { element } from "../dom.js";
import { Row } from "./row.js";
import { bounds, cursor, head, straight } from "./selection.js";
import { codons } from "./translate.js";

const SIDE = 8; // pixels left and right of the rows
const AHEAD = 200; // pixels above and below what is seen that are drawn too

export class Rows {
  element = element("div", "labext-rows", { tabindex: "-1" });
  perRow = 1;
  #molecule;
  #act;
  #codons;
  #inner = element("div", "labext-rows-all");
  #rows = [];
  #seen = new Map(); // row -> its element
  #marks = [null, null, []];

  constructor(molecule, act) {
    this.#molecule = molecule;
    this.#act = act;
    this.#codons = molecule.translations.map((mark, i) =>
      codons(molecule, mark).map((codon) => ({ ...codon, pick: `translation:${i}` })),
    );
    this.element.append(this.#inner);
    this.element.addEventListener("scroll", () => this.#fill());
    this.element.addEventListener("pointerdown", (event) => this.#press(event));
  }

  /** Lay the rows out: `scale` in pixels a base, or 0 for one row; `height` in pixels or 0. */
  draw(width, height, scale, sites) {
    const molecule = this.#molecule;
    const before = this.#rows.length ? this.#rowAt(this.element.scrollTop) : { first: 0, top: 0 };
    const into = this.element.scrollTop - before.top;
    const room = Math.max(width - 2 * SIDE - (height ? 16 : 0), 60);
    let perRow = scale ? Math.max(Math.floor(room / scale), 3) : molecule.length;
    if (scale && perRow > 20) perRow -= perRow % 10;
    this.perRow = Math.min(perRow, molecule.length);
    const filled = this.perRow === perRow ? room / perRow : scale; // a short molecule is not drawn out
    const each = scale ? filled : Math.min(room / molecule.length, 24);
    this.#rows = [];
    let top = 0;
    for (let first = 0; first < molecule.length; first += this.perRow) {
      const count = Math.min(this.perRow, molecule.length - first);
      const row = new Row(molecule, { first, count, scale: each, sites, codons: this.#codons });
      row.top = top;
      top += row.height;
      this.#rows.push(row);
    }
    this.element.style.width = `${width}px`;
    this.element.style.height = height ? `${Math.min(height, top + 2)}px` : "";
    this.#inner.style.height = `${top}px`;
    this.#inner.replaceChildren();
    this.#seen.clear();
    const after = this.#rows[Math.floor(before.first / this.perRow)];
    this.element.scrollTop = after.top + Math.min(into, after.height);
    this.#fill();
  }

  mark(selection, hits) {
    const found = selection && bounds(this.#molecule, selection);
    const at = selection && !found ? head(this.#molecule, selection) : null;
    this.#marks = [found, at, hits];
    for (const row of this.#seen.keys()) row.mark(...this.#marks);
  }

  /** Scroll to a base that is not seen: no more than it takes, or to the middle if it is far. */
  show(base) {
    const row = this.#rows[Math.min(Math.floor(base / this.perRow), this.#rows.length - 1)];
    if (!row) return; // before the first drawing
    const { scrollTop, clientHeight } = this.element;
    const above = row.top - scrollTop;
    const below = row.top + row.height - scrollTop - clientHeight;
    if (above >= 0 && below <= 0) return;
    const far = above < -clientHeight || below > clientHeight;
    const by = far ? above - clientHeight / 3 : above < 0 ? above : Math.min(below, above);
    this.element.scrollTop = Math.max(scrollTop + by, 0);
    this.#fill();
  }

  #fill() {
    const top = this.element.scrollTop - AHEAD;
    const bottom = this.element.scrollTop + (this.element.clientHeight || 600) + AHEAD;
    const wanted = new Set(
      this.#rows.filter((row) => row.top < bottom && row.top + row.height > top),
    );
    for (const [row, drawn] of this.#seen) {
      if (wanted.has(row)) continue;
      drawn.remove();
      this.#seen.delete(row);
    }
    for (const row of wanted) {
      if (this.#seen.has(row)) continue;
      const drawn = row.draw(Math.max(row.width, 1));
      this.#seen.set(row, drawn);
      this.#inner.append(drawn);
      row.mark(...this.#marks);
    }
  }

  #rowAt(y) {
    return this.#rows.findLast((row) => row.top <= y) ?? this.#rows[0];
  }

  #base(event) {
    const box = this.#inner.getBoundingClientRect();
    const row = this.#rowAt(event.clientY - box.top);
    const at = Math.round((event.clientX - box.left - SIDE) / row.scale);
    return row.first + Math.min(Math.max(at, 0), row.count);
  }

  #press(event) {
    const scrollbar =
      event.clientX > this.element.getBoundingClientRect().left + this.element.clientWidth;
    if (event.button !== 0 || scrollbar) return;
    const pick = event.target.closest("[data-pick]")?.dataset.pick;
    if (pick) return this.#act.pick(pick);
    const before = this.#act.selection();
    const from = event.shiftKey && before ? before : cursor(this.#base(event));
    this.#act.select(event.shiftKey ? straight(from, this.#base(event)) : from);
    this.#act.follow(this.element, event, (move) => {
      const { top, bottom } = this.element.getBoundingClientRect();
      if (move.clientY > bottom - 12) this.element.scrollTop += 12;
      if (move.clientY < top + 12) this.element.scrollTop -= 12;
      this.#act.select(straight(from, this.#base(move)));
    });
  }
}
