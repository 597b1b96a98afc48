// Describe targets in words: in the tooltip, and for screen readers.

import { formatNumber, pluralize } from "../format.js";
import { formatValue } from "./values.js";

/** Return the name of a target: a job, a residue, or the description of a bar. */
export function nameOf(panel, { rows, mark, index, box }) {
  if (box && mark.texts[index]) return mark.texts[index];
  return panel.names[rows[0]] ?? `Row ${formatNumber(rows[0] + 1)}`;
}

/** Return the values of a target, as lines `label: value`. */
export function valuesOf(panel, { mark, index, box }) {
  const lines = [];
  if (!box) {
    for (const which of ["x", "y"]) {
      const axis = panel[which];
      const value = formatValue(axis, mark[which][index]);
      lines.push(axis.label ? `${axis.label}: ${value}` : value);
    }
  }
  const value = mark.values?.[index];
  if (panel.scale && value !== undefined && !box) {
    const line = `${panel.scale.label}: ${formatValue(panel.scale, value)}`;
    if (!lines.includes(line)) lines.push(line);
  }
  if (mark.name && !box) lines.push(panel.legend ? `${panel.legend}: ${mark.name}` : mark.name);
  return lines;
}

/** Return how many rows are selected. */
export function describeSelection(isJobs, all, selected) {
  if (!selected) return "";
  return `${formatNumber(selected)} of ${pluralize(all, isJobs ? "job" : "row")} selected`;
}
