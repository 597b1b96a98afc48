// What is selected: an anchor, how far it reaches from there (backwards below 0), and a strand. A
// reach of 0 is a cursor before the anchor's base.

import { mod } from "./molecule.js";
import { digits } from "./words.js";

export const cursor = (anchor) => ({ anchor, reach: 0, strand: 1 });

export const of = (molecule, { start, end, strand }) => ({
  anchor: start,
  reach: molecule.span(start, end),
  strand: strand < 0 ? -1 : 1,
});

export const head = (molecule, { anchor, reach }) => molecule.place(anchor + reach);

/** Start and end of what is selected; null for a cursor. */
export function bounds(molecule, { anchor, reach }) {
  if (!reach) return null;
  const { circular, length } = molecule;
  const first = reach > 0 ? anchor : anchor + reach;
  const start = circular ? mod(first, length) : first;
  const end = start + Math.abs(reach);
  return { start, end: end > length ? end - length : end };
}

/** The selection after its head went `by` bases on; a cursor unless it is extended. */
export function moved(molecule, selection, by, extend) {
  if (!selection) return cursor(0);
  if (!extend) return cursor(molecule.place(head(molecule, selection) + by));
  return { ...selection, reach: held(molecule, selection.anchor, selection.reach + by) };
}

/** The selection from the same anchor to another place, by the way that the pointer took. */
export function dragged(molecule, selection, to) {
  const from = head(molecule, selection);
  let by = to - from;
  if (molecule.circular && Math.abs(by) > molecule.length / 2)
    by -= Math.sign(by) * molecule.length;
  return { ...selection, strand: 1, reach: held(molecule, selection.anchor, selection.reach + by) };
}

/** The selection from the same anchor straight to another place, not over the origin. */
export const straight = (selection, to) => ({
  ...selection,
  strand: 1,
  reach: to - selection.anchor,
});

/** A sentence, counted as biologists do: from 1, with the last base. */
export function told(molecule, selection) {
  if (!selection) return "Nothing is selected.";
  const found = bounds(molecule, selection);
  if (!found) return `Cursor before base ${digits(selection.anchor + 1)}`;
  const size = digits(Math.abs(selection.reach));
  return `Selected ${found.start + 1}-${found.end} (${size} bp, ${selection.strand < 0 ? "−" : "+"})`;
}

function held(molecule, anchor, reach) {
  const { circular, length } = molecule;
  if (circular) return Math.min(Math.max(reach, -length), length);
  return Math.min(Math.max(reach, -anchor), length - anchor);
}
