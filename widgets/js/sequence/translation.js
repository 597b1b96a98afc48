// Translate coding features, which may consist of several regions.

const ORDER = "TCAG";
const CODE = "FFLLSSSSYY**CC*WLLLLPPPPHHQQRRRRIIIMTTTTNNKKSSRRVVVVAAAADDEEGGGG";

/** Translate a codon by the standard genetic code. */
const aminoAcid = (codon) => {
  const [a, b, c] = Array.from(codon, (base) => ORDER.indexOf(base));
  return a < 0 || b < 0 || c < 0 || c === undefined ? "?" : CODE[16 * a + 4 * b + c];
};

/** Return the codons of a translation in pieces, since a codon may lie in two regions. Each piece has
 * its first position on the upper strand, its length, the number of its codon and, if it contains the
 * middle base, the amino acid: that of the record, which may follow another genetic code, or else
 * that of the standard code. */
export function translate(molecule, { strand, regions, amino_acids: aminoAcids }) {
  const letters = strand < 0 ? molecule.lowerStrand : molecule.bases;
  const positions = regions
    .flatMap(([start, end]) => molecule.splitRange(start, end))
    .flatMap(([from, to]) => Array.from({ length: to - from }, (_, i) => from + i));
  if (strand < 0) positions.reverse();
  const pieces = [];
  for (let i = 0; i + 3 <= positions.length; i += 3) {
    const codon = positions.slice(i, i + 3);
    const middle = codon[1];
    const bases = codon.map((position) => letters[position]).join("");
    const letter = aminoAcids[i / 3] ?? aminoAcid(bases.toUpperCase().replaceAll("U", "T"));
    for (const [from, to] of joinPositions(codon.sort((a, b) => a - b))) {
      const hasMiddle = from <= middle && middle < to;
      pieces.push({
        position: from,
        length: to - from,
        number: i / 3,
        letter: hasMiddle ? letter : "",
      });
    }
  }
  return pieces;
}

/** Join sorted positions to ranges. */
function joinPositions(positions) {
  const ranges = [];
  for (const position of positions) {
    if (ranges.at(-1)?.[1] === position) ranges.at(-1)[1] += 1;
    else ranges.push([position, position + 1]);
  }
  return ranges;
}
