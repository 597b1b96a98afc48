// The maps by keyboard: arrows move a cursor, with Shift they extend what is selected.

import { cursor, moved } from "./selection.js";

export function keys(event, molecule, selection, perRow, choose, copy) {
  const { key, shiftKey } = event;
  const command = event.ctrlKey || event.metaKey;
  const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -perRow, ArrowDown: perRow };
  const { length } = molecule;
  if (command && key.toLowerCase() === "c") copy();
  else if (command && key.toLowerCase() === "a") choose({ anchor: 0, reach: length, strand: 1 });
  else if (command || event.altKey) return;
  else if (key in steps) choose(moved(molecule, selection, steps[key], shiftKey));
  else if (key === "Home" || key === "End") {
    const to = key === "Home" ? 0 : length;
    choose(shiftKey && selection ? { ...selection, reach: to - selection.anchor } : cursor(to));
  } else if (key === "Escape" && selection) choose(null);
  else return;
  event.preventDefault();
}
