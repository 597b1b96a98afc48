// One row of the linear map. From top to bottom: names of cut sites, strands, ruler, translations,
// annotations.

import { formatNumber } from "../format.js";
import { createLine, createRect, createSvg, lighten, tickStep, truncate } from "../svg.js";

const MIN_LETTER_SCALE = 6.6; // pixels per base from which on bases are drawn as letters
const STRAND_HEIGHT = 15;
const NAME_HEIGHT = 13;
const LANE_HEIGHT = 17;
const BAND_HEIGHT = 13;
const LETTER_WIDTH = 6.4;
const MAX_LETTERS = 32; // of a label beside its band

export class LinearMapRow {
  constructor(molecule, { first, count, scale, sites, codons }) {
    Object.assign(this, { molecule, first, count, scale });
    this.last = first + count;
    this.hasLetters = scale >= MIN_LETTER_SCALE;
    this.width = count * scale;
    this.cuts = this.#layoutCuts(sites);
    this.codons = this.hasLetters
      ? codons.map((translation) => translation.filter((codon) => this.#overlaps(codon)))
      : [];
    this.codons = this.codons.filter((translation) => translation.length);
    this.bands = this.#layoutBands();
    this.strandsTop = 6 + (1 + Math.max(-1, ...this.cuts.map(({ lane }) => lane))) * NAME_HEIGHT;
    this.rulerTop = this.strandsTop + (this.hasLetters ? 2 * STRAND_HEIGHT + 3 : 7);
    this.translationsTop = this.rulerTop + 20;
    this.annotationsTop = this.translationsTop + this.codons.length * LANE_HEIGHT;
    this.height =
      this.annotationsTop +
      (1 + Math.max(-1, ...this.bands.map(({ lane }) => lane))) * LANE_HEIGHT +
      8;
  }

  x = (base) => (base - this.first) * this.scale;

  draw(width) {
    this.background = createSvg("g");
    this.foreground = createSvg("g");
    return createSvg(
      "svg",
      { width, height: this.height, style: `top:${this.top}px`, "aria-hidden": "true" },
      this.background,
      ...this.#drawStrands(),
      ...this.#drawRuler(),
      ...this.cuts.flatMap((cut) => this.#drawCut(cut)),
      ...this.codons.flatMap((translation, lane) => this.#drawCodons(translation, lane)),
      ...this.bands.flatMap((band) => this.#drawBand(band)),
      this.foreground,
    );
  }

  /** Draw the parts of the selection, the cursor and the search hits that lie in this row. */
  highlight(range, cursor, hits) {
    if (!this.background) return;
    const background = [];
    const foreground = [];
    for (const [from, to] of range ? this.#clip(range) : []) {
      const width = (to - from) * this.scale;
      background.push(createRect(this.x(from), 1, width, this.height - 6, "labext-selected"));
    }
    const edge = (base) =>
      foreground.push(createLine(this.x(base), 1, this.x(base), this.height - 5, "labext-edge"));
    const end = this.last === this.molecule.length ? this.last : this.last - 1;
    if (range && this.#has(range.start)) edge(range.start);
    if (range && range.end > this.first && range.end <= this.last) edge(range.end);
    if (!range && cursor !== null && cursor >= this.first && cursor <= end) edge(cursor);
    for (const hit of hits) {
      for (const [from, to] of this.#clip(hit)) {
        const y = this.strandsTop + (this.hasLetters && hit.strand < 0 ? STRAND_HEIGHT : 0);
        const width = Math.max((to - from) * this.scale, 2);
        background.push(
          createRect(this.x(from), y, width, this.hasLetters ? STRAND_HEIGHT : 6, "labext-hit"),
        );
      }
    }
    this.background.replaceChildren(...background);
    this.foreground.replaceChildren(...foreground);
  }

  #has = (base) => base >= this.first && base < this.last;

  #overlaps = ({ position, length }) => position < this.last && position + length > this.first;

  #clip({ start, end }) {
    return this.molecule
      .splitRange(start, end)
      .map(([from, to]) => [Math.max(from, this.first), Math.min(to, this.last)])
      .filter(([from, to]) => to > from);
  }

  /** Assign the name of each cut a lane above every name whose line it would cover. */
  #layoutCuts(sites) {
    const placed = [];
    const visible = sites
      .map((site, i) => ({ site, i, x: this.x(site.cut) }))
      .filter(({ site }) => this.#has(site.cut))
      .sort((a, b) => b.x - a.x);
    for (const cut of visible) {
      const width = cut.site.enzyme.length * LETTER_WIDTH;
      const left = Math.max(Math.min(cut.x + 3, this.width - width), 0);
      const covered = placed.filter((other) => Math.min(other.x, other.left) < left + width + 4);
      placed.push({ ...cut, left, lane: 1 + Math.max(-1, ...covered.map(({ lane }) => lane)) });
    }
    return placed;
  }

  /** Assign each annotation a lane and a label: inside the band or, without letters, beside it. */
  #layoutBands() {
    const laneEnds = [];
    const pieces = this.molecule.annotations.flatMap((mark, i) =>
      this.#clip(mark).map(([from, to]) => ({ mark, i, from, to })),
    );
    return pieces
      .sort((a, b) => a.from - b.from || b.to - a.to)
      .map((piece) => {
        const { mark, from, to } = piece;
        const room = Math.floor(((to - from) * this.scale - 18) / LETTER_WIDTH);
        const letters = Math.min(MAX_LETTERS, Math.floor(this.width / LETTER_WIDTH));
        const short = truncate(mark.name, letters);
        const width = short.length * LETTER_WIDTH;
        let [begin, end] = [this.x(from), Math.max(this.x(to), this.x(from) + 3)];
        const [fitsAfter, fitsBefore] = [end + 4 + width < this.width, begin - 4 - width >= 0];
        const fewest = this.hasLetters || !(fitsAfter || fitsBefore) ? 3 : MAX_LETTERS;
        const inside = room >= Math.min(mark.name.length, fewest);
        const name = inside ? truncate(mark.name, room) : this.hasLetters ? "" : short;
        let x = (begin + end) / 2;
        let anchor = "middle";
        if (!inside && name) {
          anchor = fitsAfter || !fitsBefore ? "start" : "end";
          x = anchor === "start" ? Math.max(Math.min(end + 4, this.width - width), 0) : begin - 4;
          if (anchor === "start") end = Math.max(end, x + width);
          else begin = x - width;
        }
        let lane = laneEnds.findIndex((occupied) => occupied <= begin);
        if (lane < 0) lane = laneEnds.length;
        laneEnds[lane] = end + 3;
        return { ...piece, name, inside, x, anchor, lane };
      });
  }

  #drawStrands() {
    const { molecule, first, last, count, scale } = this;
    if (!this.hasLetters) {
      const y = this.strandsTop + 3;
      return [createLine(0, y, this.width, y, "labext-axis labext-strand")];
    }
    const x = Array.from({ length: count }, (_, i) => ((i + 0.5) * scale).toFixed(1)).join(" ");
    const font = `${Math.min(scale * 1.55, 15).toFixed(1)}px`;
    const strand = (bases, lane, className) =>
      createSvg(
        "text",
        {
          x,
          y: this.strandsTop + lane * STRAND_HEIGHT + 12,
          class: className,
          style: `font-size:${font}`,
        },
        bases.slice(first, last),
      );
    return [
      strand(molecule.bases, 0, "labext-bases"),
      strand(molecule.lowerStrand, 1, "labext-bases labext-lower"),
    ];
  }

  #drawRuler() {
    const y = this.rulerTop;
    const distance = tickStep(this.count, Math.max(Math.min(this.width / 75, 10), 1));
    const elements = this.hasLetters ? [createLine(0, y, this.width, y, "labext-axis")] : [];
    for (
      let base = Math.ceil((this.first + 1) / distance) * distance;
      base <= this.last;
      base += distance
    ) {
      const x = this.x(base - 0.5);
      const label = formatNumber(base);
      const half = label.length * 2.8;
      const labelX = Math.max(Math.min(x, Math.max(this.width, 40) - half), half);
      elements.push(createLine(x, y, x, y + 4, "labext-axis"));
      elements.push(
        createSvg(
          "text",
          { x: labelX, y: y + 14, class: "labext-tick", "text-anchor": "middle" },
          label,
        ),
      );
    }
    return elements;
  }

  #drawCut({ site, i, x, left, lane }) {
    const top = this.strandsTop;
    const attributes = {
      x: left,
      y: top - 4 - lane * NAME_HEIGHT,
      class: "labext-label labext-site",
      "data-pick": `site:${i}`,
    };
    const elements = [
      createSvg(
        "text",
        attributes,
        site.enzyme,
        createSvg("title", {}, `${site.enzyme}, cuts before ${site.cut + 1}`),
      ),
    ];
    const lineTop = top - 4 - lane * NAME_HEIGHT - 9;
    if (!this.hasLetters) return [...elements, createLine(x, lineTop, x, top + 6, "labext-cut")];
    elements.push(createLine(x, lineTop, x, top + STRAND_HEIGHT, "labext-cut"));
    if (site.lower_cut < this.first || site.lower_cut > this.last) return elements;
    const lowerX = this.x(site.lower_cut);
    elements.push(createLine(x, top + STRAND_HEIGHT, lowerX, top + STRAND_HEIGHT, "labext-cut"));
    elements.push(
      createLine(lowerX, top + STRAND_HEIGHT, lowerX, top + 2 * STRAND_HEIGHT, "labext-cut"),
    );
    return elements;
  }

  #drawCodons(codons, lane) {
    const y = this.translationsTop + lane * LANE_HEIGHT;
    return codons.flatMap(({ position, length, number, letter, pick }) => {
      const from = Math.max(position, this.first);
      const to = Math.min(position + length, this.last);
      const className = number % 2 ? "labext-codon labext-odd" : "labext-codon";
      const attributes = { "data-pick": pick };
      const x = this.x((from + to) / 2);
      const text = this.#has(position + Math.floor(length / 2)) ? letter : "";
      return [
        createRect(this.x(from), y, (to - from) * this.scale, BAND_HEIGHT, className, attributes),
        createSvg("text", { x, y: y + 10, class: "labext-amino", ...attributes }, text),
      ];
    });
  }

  #drawBand({ mark, i, from, to, name, inside, x, anchor, lane }) {
    const y = this.annotationsTop + lane * LANE_HEIGHT;
    const middle = y + BAND_HEIGHT / 2;
    const begin = this.x(from);
    const end = Math.max(this.x(to), begin + 3);
    const head = Math.min(7, (end - begin) / 2);
    const right = mark.strand > 0 && to === mark.end;
    const left = mark.strand < 0 && from === mark.start;
    const [a, b] = [left ? begin + head : begin, right ? end - head : end];
    const d =
      `M${a} ${y}L${b} ${y}${right ? `L${end} ${middle}` : ""}L${b} ${y + BAND_HEIGHT}L${a} ${y + BAND_HEIGHT}` +
      `${left ? `L${begin} ${middle}` : ""}Z`;
    const pick = `annotation:${i}`;
    const attributes = {
      x,
      y: y + 10.5,
      "text-anchor": anchor,
      class: inside ? "labext-label labext-on-band" : "labext-label",
      "data-pick": pick,
    };
    return [
      createSvg(
        "path",
        { d, class: "labext-band", fill: lighten(mark.color), "data-pick": pick },
        createSvg("title", {}, mark.name),
      ),
      ...(name ? [createSvg("text", attributes, name)] : []),
    ];
  }
}
