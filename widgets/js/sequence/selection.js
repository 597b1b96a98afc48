// A selection: an anchor, an extent from there (negative for backwards), and a strand. An extent of
// 0 is a cursor before the base at the anchor.

import { formatNumber } from "../format.js";
import { mod } from "./molecule.js";

export const cursorAt = (anchor) => ({ anchor, extent: 0, strand: 1 });

export const selectRange = (molecule, { start, end, strand }) => ({
  anchor: start,
  extent: molecule.rangeLength(start, end),
  strand: strand < 0 ? -1 : 1,
});

/** Return the position of the end that moves. */
export const headOf = (molecule, { anchor, extent }) => molecule.normalize(anchor + extent);

/** Return the start and end of a selection, or null for a cursor. */
export function rangeOf(molecule, { anchor, extent }) {
  if (!extent) return null;
  const { circular, length } = molecule;
  const first = extent > 0 ? anchor : anchor + extent;
  const start = circular ? mod(first, length) : first;
  const end = start + Math.abs(extent);
  return { start, end: end > length ? end - length : end };
}

/** Move the head by a number of bases; without `extend` the result is a cursor. */
export function moveHead(molecule, selection, by, extend) {
  if (!selection) return cursorAt(0);
  if (!extend) return cursorAt(molecule.normalize(headOf(molecule, selection) + by));
  return { ...selection, extent: clampExtent(molecule, selection.anchor, selection.extent + by) };
}

/** Move the head to a position along the shorter way, which may cross the origin. */
export function dragHead(molecule, selection, position) {
  let by = position - headOf(molecule, selection);
  if (molecule.circular && Math.abs(by) > molecule.length / 2)
    by -= Math.sign(by) * molecule.length;
  const extent = clampExtent(molecule, selection.anchor, selection.extent + by);
  return { ...selection, strand: 1, extent };
}

/** Move the head to a position without crossing the origin. */
export const extendTo = (selection, position) => ({
  ...selection,
  strand: 1,
  extent: position - selection.anchor,
});

/** Describe a selection in biological notation: 1-based with an inclusive end. */
export function describeSelection(molecule, selection) {
  if (!selection) return "Nothing selected.";
  const range = rangeOf(molecule, selection);
  if (!range) {
    const position = headOf(molecule, selection);
    if (position === molecule.length) return `Cursor after base ${formatNumber(position)}`;
    return `Cursor before base ${formatNumber(position + 1)}`;
  }
  const size = formatNumber(Math.abs(selection.extent));
  return `Selected ${range.start + 1}-${range.end} (${size} bp, ${selection.strand < 0 ? "−" : "+"})`;
}

function clampExtent(molecule, anchor, extent) {
  const { circular, length } = molecule;
  if (circular) return Math.min(Math.max(extent, -length), length);
  return Math.min(Math.max(extent, -anchor), length - anchor);
}
