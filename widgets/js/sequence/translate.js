// The standard genetic code.

const ORDER = "TCAG";
const CODE = "FFLLSSSSYY**CC*WLLLLPPPPHHQQRRRRIIIMTTTTNNKKSSRRVVVVAAAADDEEGGGG";

const amino = (codon) => {
  const [a, b, c] = Array.from(codon, (base) => ORDER.indexOf(base));
  return a < 0 || b < 0 || c < 0 || c === undefined ? "?" : CODE[16 * a + 4 * b + c];
};

/** The codons of a translation: their first place on the upper strand, and the amino acid. */
export function codons(molecule, { start, end, strand }) {
  const read = molecule.part(start, end, strand).toUpperCase().replaceAll("U", "T");
  const size = Math.floor(read.length / 3);
  return Array.from({ length: size }, (_, i) => ({
    at: strand < 0 ? molecule.place(end - 3 * (i + 1)) : molecule.place(start + 3 * i),
    letter: amino(read.slice(3 * i, 3 * i + 3)),
  }));
}
