// One row of the linear map: what is in it, how high that is, and its drawing. From above: names of
// cut sites, the strands, a ruler, translations, annotations.

import { cut, line, pale, rect, step, svg } from "./svg.js";
import { digits } from "./words.js";

export const LETTERS = 6.6; // pixels a base from which on bases are letters
const STRAND = 15;
const NAME = 13;
const LANE = 17;
const TALL = 13;
const LETTER = 6.4;

export class Row {
  constructor(molecule, { first, count, scale, sites, codons }) {
    Object.assign(this, { molecule, first, count, scale });
    this.last = first + count;
    this.letters = scale >= LETTERS;
    this.width = count * scale;
    this.cuts = this.#cuts(sites);
    this.codons = this.letters
      ? codons.map((each) => each.filter((codon) => this.#has(codon.at)))
      : [];
    this.codons = this.codons.filter((each) => each.length);
    this.bands = this.#bands();
    this.strands = 6 + (1 + Math.max(-1, ...this.cuts.map(({ lane }) => lane))) * NAME;
    this.ruler = this.strands + (this.letters ? 2 * STRAND + 3 : 7);
    this.below = this.ruler + 20;
    this.annotations = this.below + this.codons.length * LANE;
    this.height =
      this.annotations + (1 + Math.max(-1, ...this.bands.map(({ lane }) => lane))) * LANE + 8;
  }

  x = (base) => (base - this.first) * this.scale;

  draw(total) {
    this.under = svg("g");
    this.over = svg("g");
    return svg(
      "svg",
      { width: total, height: this.height, style: `top:${this.top}px`, "aria-hidden": "true" },
      this.under,
      ...this.#drawStrands(),
      ...this.#drawRuler(),
      ...this.cuts.flatMap((each) => this.#drawCut(each)),
      ...this.codons.flatMap((each, lane) => this.#drawCodons(each, lane)),
      ...this.bands.flatMap((each) => this.#drawBand(each)),
      this.over,
    );
  }

  /** Draw the selection and the hits, as far as they are in this row. */
  mark(found, at, hits) {
    if (!this.under) return;
    const under = [];
    const over = [];
    for (const [from, to] of found ? this.#inside(found) : []) {
      const wide = (to - from) * this.scale;
      under.push(rect(this.x(from), 1, wide, this.height - 6, "labext-selected"));
    }
    const edge = (base) =>
      over.push(line(this.x(base), 1, this.x(base), this.height - 5, "labext-edge"));
    const end = this.last === this.molecule.length ? this.last : this.last - 1;
    if (found && this.#has(found.start)) edge(found.start);
    if (found && found.end > this.first && found.end <= this.last) edge(found.end);
    if (!found && at !== null && at >= this.first && at <= end) edge(at);
    for (const hit of hits) {
      for (const [from, to] of this.#inside(hit)) {
        const y = this.strands + (this.letters && hit.strand < 0 ? STRAND : 0);
        const wide = Math.max((to - from) * this.scale, 2);
        under.push(rect(this.x(from), y, wide, this.letters ? STRAND : 6, "labext-hit"));
      }
    }
    this.under.replaceChildren(...under);
    this.over.replaceChildren(...over);
  }

  #has = (base) => base >= this.first && base < this.last;

  #inside({ start, end }) {
    return this.molecule
      .pieces(start, end)
      .map(([from, to]) => [Math.max(from, this.first), Math.min(to, this.last)])
      .filter(([from, to]) => to > from);
  }

  /** The cuts with a lane for the name, above every name whose line it would cover. */
  #cuts(sites) {
    const placed = [];
    const own = sites
      .map((site, i) => ({ site, i, x: this.x(site.cut) }))
      .filter(({ site }) => this.#has(site.cut))
      .sort((one, two) => two.x - one.x);
    for (const each of own) {
      const wide = each.site.enzyme.length * LETTER;
      const left = Math.max(Math.min(each.x + 3, this.width - wide), 0);
      const covered = placed.filter((other) => Math.min(other.x, other.left) < left + wide + 4);
      placed.push({ ...each, left, lane: 1 + Math.max(-1, ...covered.map(({ lane }) => lane)) });
    }
    return placed;
  }

  /** The annotations' pieces with a name and a lane; small ones are named beside, on a map. */
  #bands() {
    const ends = [];
    const pieces = this.molecule.annotations.flatMap((mark, i) =>
      this.#inside(mark).map(([from, to]) => ({ mark, i, from, to })),
    );
    return pieces
      .sort((one, two) => one.from - two.from || two.to - one.to)
      .map((piece) => {
        const { mark, from, to } = piece;
        const room = Math.floor(((to - from) * this.scale - 18) / LETTER);
        const inside = room >= Math.min(mark.name.length, this.letters ? 3 : 200);
        const name = inside ? cut(mark.name, room) : this.letters ? "" : cut(mark.name, 32);
        let [begin, end] = [this.x(from), Math.max(this.x(to), this.x(from) + 3)];
        let x = (begin + end) / 2;
        let anchor = "middle";
        if (!inside && name) {
          const wide = name.length * LETTER;
          anchor = end + 4 + wide < this.width || begin - 4 - wide < 0 ? "start" : "end";
          x = anchor === "start" ? Math.max(Math.min(end + 4, this.width - wide), 0) : begin - 4;
          if (anchor === "start") end = Math.max(end, x + wide);
          else begin = x - wide;
        }
        let lane = ends.findIndex((taken) => taken <= begin);
        if (lane < 0) lane = ends.length;
        ends[lane] = end + 3;
        return { ...piece, name, inside, x, anchor, lane };
      });
  }

  #drawStrands() {
    const { molecule, first, last, count, scale } = this;
    if (!this.letters) {
      const y = this.strands + 3;
      return [line(0, y, this.width, y, "labext-axis labext-strand")];
    }
    const x = Array.from({ length: count }, (_, i) => ((i + 0.5) * scale).toFixed(1)).join(" ");
    const font = `${Math.min(scale * 1.55, 15).toFixed(1)}px`;
    const strand = (bases, lane, className) =>
      svg(
        "text",
        { x, y: this.strands + lane * STRAND + 12, class: className, style: `font-size:${font}` },
        bases.slice(first, last),
      );
    return [
      strand(molecule.bases, 0, "labext-bases"),
      strand(molecule.lower, 1, "labext-bases labext-lower"),
    ];
  }

  #drawRuler() {
    const y = this.ruler;
    const apart = step(this.count, Math.max(Math.min(this.width / 75, 10), 1));
    const drawn = this.letters ? [line(0, y, this.width, y, "labext-axis")] : [];
    for (let base = Math.ceil((this.first + 1) / apart) * apart; base <= this.last; base += apart) {
      const x = this.x(base - 0.5);
      const words = digits(base);
      const half = words.length * 2.8;
      const place = Math.max(Math.min(x, Math.max(this.width, 40) - half), half);
      drawn.push(line(x, y, x, y + 4, "labext-axis"));
      drawn.push(
        svg("text", { x: place, y: y + 14, class: "labext-tick", "text-anchor": "middle" }, words),
      );
    }
    return drawn;
  }

  #drawCut({ site, i, x, left, lane }) {
    const top = this.strands;
    const name = {
      x: left,
      y: top - 4 - lane * NAME,
      class: "labext-label labext-site",
      "data-pick": `site:${i}`,
    };
    const drawn = [
      svg(
        "text",
        name,
        site.enzyme,
        svg("title", {}, `${site.enzyme}, cuts before ${site.cut + 1}`),
      ),
    ];
    const high = top - 4 - lane * NAME - 9;
    if (!this.letters) return [...drawn, line(x, high, x, top + 6, "labext-cut")];
    drawn.push(line(x, high, x, top + STRAND, "labext-cut"));
    if (site.lower_cut < this.first || site.lower_cut > this.last) return drawn;
    const low = this.x(site.lower_cut);
    drawn.push(line(x, top + STRAND, low, top + STRAND, "labext-cut"));
    drawn.push(line(low, top + STRAND, low, top + 2 * STRAND, "labext-cut"));
    return drawn;
  }

  #drawCodons(codons, lane) {
    const y = this.below + lane * LANE;
    return codons.flatMap(({ at, letter, pick }, i) => {
      const to = Math.min(at + 3, this.last);
      const odd = i % 2 ? "labext-codon labext-odd" : "labext-codon";
      const x = this.x(Math.min(at + 1.5, this.last - 0.5));
      return [
        rect(this.x(at), y, (to - at) * this.scale, TALL, odd, { "data-pick": pick }),
        svg("text", { x, y: y + 10, class: "labext-amino", "data-pick": pick }, letter),
      ];
    });
  }

  #drawBand({ mark, i, from, to, name, inside, x, anchor, lane }) {
    const y = this.annotations + lane * LANE;
    const mid = y + TALL / 2;
    const begin = this.x(from);
    const end = Math.max(this.x(to), begin + 3);
    const point = Math.min(7, (end - begin) / 2);
    const right = mark.strand > 0 && to === mark.end;
    const left = mark.strand < 0 && from === mark.start;
    const [a, b] = [left ? begin + point : begin, right ? end - point : end];
    const d =
      `M${a} ${y}L${b} ${y}${right ? `L${end} ${mid}` : ""}L${b} ${y + TALL}L${a} ${y + TALL}` +
      `${left ? `L${begin} ${mid}` : ""}Z`;
    const pick = `annotation:${i}`;
    const words = {
      x,
      y: y + 10.5,
      "text-anchor": anchor,
      class: inside ? "labext-label labext-on-band" : "labext-label",
      "data-pick": pick,
    };
    return [
      svg(
        "path",
        { d, class: "labext-band", fill: pale(mark.color), "data-pick": pick },
        svg("title", {}, mark.name),
      ),
      ...(name ? [svg("text", words, name)] : []),
    ];
  }
}
