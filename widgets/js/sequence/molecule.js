// A sequence and the arithmetic of its ranges: from 0, the end exclusive; on a circular molecule a
// range may go over the origin, and its end is then not above its start.

export const mod = (a, n) => ((a % n) + n) % n;

const PAIRS = { U: "A" };
for (const [one, other] of ["AT", "CG", "MK", "RY", "WW", "SS", "VB", "HD", "NN"]) {
  PAIRS[one] = other;
  PAIRS[other] = one;
}
for (const [one, other] of Object.entries(PAIRS)) PAIRS[one.toLowerCase()] = other.toLowerCase();

export const complement = (bases) => Array.from(bases, (base) => PAIRS[base] ?? base).join("");
export const turned = (bases) => Array.from(complement(bases)).reverse().join("");

export class Molecule {
  constructor({ name, bases, circular, annotations, translations }) {
    Object.assign(this, { name, bases, circular, annotations, translations });
    this.length = bases.length;
    this.lower = complement(bases);
  }

  /** How many bases a range has. */
  span(start, end) {
    return end > start ? end - start : end - start + this.length;
  }

  /** The range as one or two pieces that do not go over the origin. */
  pieces(start, end) {
    if (end > start) return [[start, end]];
    return [
      [start, this.length],
      [0, end],
    ].filter(([from, to]) => to > from);
  }

  /** The bases of a range as its strand reads them. */
  part(start, end, strand) {
    const read = this.pieces(start, end)
      .map(([from, to]) => this.bases.slice(from, to))
      .join("");
    return strand < 0 ? turned(read) : read;
  }

  /** A place that can be: around the circle, or held at the ends. */
  place(at) {
    return this.circular ? mod(at, this.length) : Math.min(Math.max(at, 0), this.length);
  }

  /** For each mark the first lane in which it covers no other, and how many lanes there are. */
  lanes(marks, most = Infinity) {
    const taken = [];
    const lanes = marks.map((mark) => {
      const pieces = this.pieces(mark.start, mark.end);
      let lane = taken.findIndex((others) =>
        pieces.every(([a, b]) => others.every(([c, d]) => a >= d || c >= b)),
      );
      if (lane < 0) lane = Math.min(taken.length, most - 1);
      (taken[lane] ??= []).push(...pieces);
      return lane;
    });
    return { lanes, count: taken.length };
  }
}
