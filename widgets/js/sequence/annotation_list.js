// The annotations as buttons, so that they can be selected without a pointer.

import { createButton, createElement } from "../dom.js";
import { pluralize } from "../format.js";
import { MAX_LANES } from "./circular_map.js";

export function annotationList(molecule, pick) {
  const { annotations, circular } = molecule;
  const details = createElement("details", "labext-annotations");
  const list = createElement("div", "labext-list");
  list.append(
    ...annotations.map((mark, i) => annotationButton(mark, () => pick(`annotation:${i}`))),
  );
  const crowded = circular ? molecule.assignLanes(annotations, MAX_LANES).crowded : 0;
  const note = crowded ? `, ${crowded} drawn over others in the innermost ring` : "";
  const count = pluralize(annotations.length, "annotation");
  const summary = createElement("summary", "", {}, count + note);
  details.append(summary, list);
  return details;
}

function annotationButton({ name, start, end, strand, color }, onClick) {
  const sign = strand > 0 ? " +" : strand < 0 ? " −" : "";
  const range = `${start + 1}-${end}${sign}`;
  const button = createButton("", `Select ${name}, ${range}`, onClick);
  const dot = createElement("span", "labext-dot");
  dot.style.backgroundColor = color;
  button.append(dot, name, createElement("span", "labext-range", {}, range));
  return button;
}
