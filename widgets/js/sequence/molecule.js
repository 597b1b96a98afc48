// A sequence and the arithmetic of its ranges: 0-based, with an exclusive end. A range of a circular
// molecule may span the origin; its end is then not greater than its start.

export const mod = (a, n) => ((a % n) + n) % n;

const COMPLEMENTS = { U: "A" };
for (const [a, b] of ["AT", "CG", "MK", "RY", "WW", "SS", "VB", "HD", "NN"]) {
  COMPLEMENTS[a] = b;
  COMPLEMENTS[b] = a;
}
for (const [a, b] of Object.entries(COMPLEMENTS)) COMPLEMENTS[a.toLowerCase()] = b.toLowerCase();

export const complement = (bases) =>
  Array.from(bases, (base) => COMPLEMENTS[base] ?? base).join("");
const reverse = (bases) => Array.from(bases).reverse().join("");
export const reverseComplement = (bases) => reverse(complement(bases));

export class Molecule {
  constructor({ name, bases, circular, annotations, translations }) {
    Object.assign(this, { name, bases, circular, annotations, translations });
    this.length = bases.length;
    this.lowerStrand = this.#complement(bases);
  }

  /** Return the complement of bases of the molecule, which is RNA if it has U and no T. */
  #complement(bases) {
    const other = complement(bases);
    const isRna = /u/i.test(this.bases) && !/t/i.test(this.bases);
    return isRna ? other.replaceAll("T", "U").replaceAll("t", "u") : other;
  }

  /** Return the number of bases in a range. */
  rangeLength(start, end) {
    return end > start ? end - start : end - start + this.length;
  }

  /** Split a range at the origin. */
  splitRange(start, end) {
    if (end > start) return [[start, end]];
    return [
      [start, this.length],
      [0, end],
    ].filter(([from, to]) => to > from);
  }

  /** Return the bases of a range as read on its strand. */
  extract(start, end, strand) {
    const bases = this.splitRange(start, end)
      .map(([from, to]) => this.bases.slice(from, to))
      .join("");
    return strand < 0 ? reverse(this.#complement(bases)) : bases;
  }

  /** Normalize a position: around a circular molecule, clamped to a linear one. */
  normalize(position) {
    if (this.circular) return mod(position, this.length);
    return Math.min(Math.max(position, 0), this.length);
  }

  /**
   * Assign each mark the first lane in which it overlaps no other; return the lanes, their count,
   * and how many marks are over others in the last lane.
   */
  assignLanes(marks, maxLanes) {
    const occupied = [];
    let crowded = 0;
    const lanes = marks.map((mark) => {
      const ranges = this.splitRange(mark.start, mark.end);
      let lane = occupied.findIndex((others) =>
        ranges.every(([a, b]) => others.every(([c, d]) => a >= d || c >= b)),
      );
      if (lane < 0) {
        if (occupied.length === maxLanes) crowded += 1;
        lane = Math.min(occupied.length, maxLanes - 1);
      }
      (occupied[lane] ??= []).push(...ranges);
      return lane;
    });
    return { lanes, count: occupied.length, crowded };
  }
}
