// Keyboard shortcuts of the maps: arrow keys move the cursor, with Shift they extend the selection.

import { cursorAt, moveHead } from "./selection.js";

export function handleKey(event, molecule, selection, perRow, select, copy) {
  const { key, shiftKey } = event;
  const command = event.ctrlKey || event.metaKey;
  const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -perRow, ArrowDown: perRow };
  const { length } = molecule;
  if (command && key.toLowerCase() === "c") copy();
  else if (command && key.toLowerCase() === "a") select({ anchor: 0, extent: length, strand: 1 });
  else if (command || event.altKey) return;
  else if (key in steps) select(moveHead(molecule, selection, steps[key], shiftKey));
  else if (key === "Home" || key === "End") {
    const position = key === "Home" ? 0 : length;
    const extending = shiftKey && selection;
    select(extending ? { ...selection, extent: position - selection.anchor } : cursorAt(position));
  } else if (key === "Escape" && selection) select(null);
  else return;
  event.preventDefault();
}
