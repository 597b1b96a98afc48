// Search both strands by the rules of `labext_widgets.sequence.search`; a test compares the two.

import { reverseComplement } from "./molecule.js";

/** The bases of each IUPAC code as bits: A = 1, C = 2, G = 4, T = 8. */
const IUPAC = Object.fromEntries(Array.from("ACMGRSVTWYHKDBN", (code, i) => [code, i + 1]));
const INVALID = 16;

/** Return all hits by start, or null if the pattern contains a letter that is not an IUPAC code. */
export function search({ bases, circular }, pattern) {
  const forward = pattern.replace(/\s/g, "").toUpperCase().replaceAll("U", "T");
  const reverse = reverseComplement(forward);
  if (!forward || [...forward].some((letter) => !IUPAC[letter])) return null;
  const text = bases.toUpperCase().replaceAll("U", "T");
  const hits = findMatches(text, circular, forward).map((hit) => ({ ...hit, strand: 1 }));
  if (reverse !== forward) {
    for (const hit of findMatches(text, circular, reverse)) hits.push({ ...hit, strand: -1 });
  }
  return hits.sort((a, b) => a.start - b.start || b.strand - a.strand);
}

function findMatches(text, circular, pattern) {
  const matches = [];
  const { length } = text;
  const size = pattern.length;
  if (size > length) return matches;
  const searched = circular ? text + text.slice(0, size - 1) : text;
  const masks = Array.from(pattern, (letter) => IUPAC[letter]);
  const codes = Uint8Array.from(searched, (letter) => IUPAC[letter] ?? INVALID);
  for (let start = 0; start + size <= codes.length; start++) {
    let i = 0;
    // A base matches a pattern letter that allows all its bases; no letter allows INVALID.
    while (i < size && !(codes[start + i] & ~masks[i])) i++;
    if (i === size) {
      const end = start + size;
      matches.push({ start, end: end > length ? end - length : end });
    }
  }
  return matches;
}
