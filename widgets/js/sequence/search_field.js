// The search field of the sequence viewer.

import { createButton, createElement, setDisabled } from "../dom.js";
import { createField } from "../toolbar.js";

/**
 * A search field with a hit count and buttons for the previous and next hit; `actions` has
 * `search(pattern)` and `goToHit(offset)`.
 */
export function createSearch(actions) {
  const input = createElement("input", "labext-input labext-search-input", {
    type: "search",
    spellcheck: "false",
    autocomplete: "off",
    placeholder: "GAATTC, RNNY…",
  });
  const count = createElement("span", "labext-count", { role: "status", "aria-live": "polite" });
  const previous = createButton("‹", "Previous hit", () => actions.goToHit(-1));
  const next = createButton("›", "Next hit", () => actions.goToHit(1));
  input.addEventListener("input", () => actions.search(input.value));
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") actions.goToHit(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape" && input.value) {
      input.value = "";
      actions.search("");
    } else return;
    event.preventDefault();
  });
  const group = createElement("div", "labext-search", { role: "search" });
  group.append(createField("Search", input), previous, next, count);
  group.update = (text, hasHits) => {
    count.textContent = text;
    for (const button of [previous, next]) setDisabled(button, !hasHits);
  };
  group.update("", false);
  return group;
}
