// The annotations as buttons: the way to select one without a pointer.

import { button, element } from "../dom.js";
import { number } from "./words.js";

export function list(annotations, pick) {
  const made = element("details", "labext-annotations");
  const inner = element("div", "labext-list");
  inner.append(...annotations.map((mark, i) => entry(mark, () => pick(`annotation:${i}`))));
  made.append(element("summary", "", {}, number(annotations.length, "annotation")), inner);
  return made;
}

function entry({ name, start, end, strand, color }, act) {
  const sign = strand > 0 ? " +" : strand < 0 ? " −" : "";
  const where = `${start + 1}-${end}${sign}`;
  const made = button("", `Select ${name}, ${where}`, act);
  const dot = element("span", "labext-dot");
  dot.style.backgroundColor = color;
  made.append(dot, name, element("span", "labext-where", {}, where));
  return made;
}
