// Search on both strands by the rules of `labext_widgets.sequence.search`; a test compares the two.

import { turned } from "./molecule.js";

const IUPAC = {
  A: 1,
  C: 2,
  G: 4,
  T: 8,
  M: 3,
  R: 5,
  W: 9,
  S: 6,
  Y: 10,
  K: 12,
  V: 7,
  H: 11,
  D: 13,
  B: 14,
  N: 15,
};

/** Every hit, by its start; null where the pattern has a letter that IUPAC doesn't have. */
export function search({ bases, circular }, pattern) {
  const wanted = pattern.replace(/\s/g, "").toUpperCase().replaceAll("U", "T");
  const other = turned(wanted);
  if (!wanted || [...wanted].some((letter) => !IUPAC[letter])) return null;
  const read = bases.toUpperCase().replaceAll("U", "T");
  const found = places(read, circular, wanted).map((hit) => ({ ...hit, strand: 1 }));
  if (other !== wanted) {
    for (const hit of places(read, circular, other)) found.push({ ...hit, strand: -1 });
  }
  return found.sort((one, two) => one.start - two.start || two.strand - one.strand);
}

function places(read, circular, wanted) {
  const found = [];
  const { length } = read;
  const size = wanted.length;
  if (size > length) return found;
  const whole = circular ? read + read.slice(0, size - 1) : read;
  const masks = Array.from(wanted, (letter) => IUPAC[letter]);
  const codes = Uint8Array.from(whole, (letter) => IUPAC[letter] ?? 16);
  for (let start = 0; start + size <= codes.length; start++) {
    let i = 0;
    // A base is met by a letter that allows all it may be; 16 is allowed by none.
    while (i < size && !(codes[start + i] & ~masks[i])) i++;
    if (i === size) {
      const end = start + size;
      found.push({ start, end: end > length ? end - length : end });
    }
  }
  return found;
}
