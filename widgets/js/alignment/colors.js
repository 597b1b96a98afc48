// Color schemes: a function from row and column to a packed RGBA color, 0 for none.

export const SCHEMES = [
  ["class", "By class"],
  ["conservation", "By conservation"],
  ["none", "None"],
];

const SHADES = [
  [0.8, "#77aadd"],
  [0.6, "#a5c8e8"],
  [0.4, "#d2e4f4"],
];
const GAPS = "-.";

/** Return `colorOf(row, column)` for a scheme; the letters on a color are black. */
export function colorScheme(name, alignment) {
  const { rows, consensus, conservation } = alignment;
  if (name === "none") return () => 0;
  if (name === "conservation") {
    const shades = conservation.map((share) => {
      const shade = SHADES.find(([least]) => share >= least);
      return shade ? pack(shade[1]) : 0;
    });
    return (row, column) =>
      rows[row][column].toUpperCase() === consensus[column] ? shades[column] : 0;
  }
  const table = new Uint32Array(128).fill(pack(alignment.other));
  for (const [letter, color] of Object.entries(alignment.colors)) {
    table[letter.charCodeAt(0)] = table[letter.toLowerCase().charCodeAt(0)] = pack(color);
  }
  for (const gap of GAPS) table[gap.charCodeAt(0)] = 0;
  return (row, column) => table[rows[row].charCodeAt(column)];
}

export const isGap = (letter) => GAPS.includes(letter);

/** Pack `#rrggbb` as the pixels of ImageData are on little-endian machines. */
function pack(color) {
  const [red, green, blue] = [1, 3, 5].map((i) => parseInt(color.slice(i, i + 2), 16));
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}
