// Translate by the standard genetic code.

const ORDER = "TCAG";
const CODE = "FFLLSSSSYY**CC*WLLLLPPPPHHQQRRRRIIIMTTTTNNKKSSRRVVVVAAAADDEEGGGG";

const aminoAcid = (codon) => {
  const [a, b, c] = Array.from(codon, (base) => ORDER.indexOf(base));
  return a < 0 || b < 0 || c < 0 || c === undefined ? "?" : CODE[16 * a + 4 * b + c];
};

/** Return the codons of a translation: first position on the upper strand, and amino acid. */
export function translate(molecule, { start, end, strand }) {
  const bases = molecule.extract(start, end, strand).toUpperCase().replaceAll("U", "T");
  return Array.from({ length: Math.floor(bases.length / 3) }, (_, i) => ({
    position: molecule.normalize(strand < 0 ? end - 3 * (i + 1) : start + 3 * i),
    letter: aminoAcid(bases.slice(3 * i, 3 * i + 3)),
  }));
}
