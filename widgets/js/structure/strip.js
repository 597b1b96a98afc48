// The sequence strip: a letter per residue in its color, to select a range of a chain.

import { createElement } from "../dom.js";

const MAX_RESIDUES = 5000; // letters in the strip; longer sequences are selected by number

/**
 * Return the strip of `chains`. `onSelect({chain, start, end} or null)` is called for a click, a
 * drag, Shift with a click, and the arrow keys.
 */
export function createStrip(chains, onSelect) {
  const strip = createElement("div", "labext-strip");
  const letters = []; // of all chains: {element, chain, number}
  let anchor = null;
  let head = null;
  const total = chains.reduce((sum, { numbers }) => sum + numbers.length, 0);
  if (total > MAX_RESIDUES) {
    strip.update = () => {};
    strip.highlight = () => {};
    strip.textContent = "The sequence is too long to display; select residues by their numbers.";
    return strip;
  }
  for (const { id, numbers, insertions, letters: codes } of chains) {
    const row = createElement("div", "labext-strip-row", {
      tabindex: "0",
      role: "group",
      "aria-label":
        `Sequence of chain ${id}, ${numbers.length} residues. Arrow keys select a residue, ` +
        "with Shift they extend the selection; Escape clears it.",
    });
    row.append(createElement("span", "labext-strip-chain", {}, id || "–"));
    const first = letters.length;
    numbers.forEach((number, i) => {
      const title = `${codes[i]} ${number}${insertions[i]}`;
      const element = createElement("span", "labext-residue", { title }, codes[i]);
      element.dataset.index = letters.length;
      if (number % 10 === 0) element.dataset.number = number;
      letters.push({ element, chain: id, number });
      row.append(element);
    });
    row.addEventListener("keydown", (event) => onKey(event, first, first + numbers.length - 1));
    strip.append(row);
  }
  const indexAt = (event) => Number(event.target.dataset?.index ?? -1);
  const select = (from, to) => {
    if (letters[from].chain !== letters[to].chain) return;
    [anchor, head] = [from, to];
    const [start, end] = [letters[from].number, letters[to].number].sort((a, b) => a - b);
    onSelect({ chain: letters[from].chain, start, end });
  };
  strip.addEventListener("pointerdown", (event) => {
    const index = indexAt(event);
    if (index >= 0) select(event.shiftKey && anchor !== null ? anchor : index, index);
  });
  strip.addEventListener("pointerover", (event) => {
    const index = indexAt(event);
    if (event.buttons === 1 && index >= 0 && anchor !== null) select(anchor, index);
  });

  function onKey(event, first, last) {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
    if (event.key === "Escape" && anchor !== null) {
      [anchor, head] = [null, null];
      onSelect(null);
    } else if (step !== undefined) {
      const inRow = head !== null && head >= first && head <= last;
      const next = inRow ? Math.min(Math.max(head + step, first), last) : first;
      select(event.shiftKey && inRow ? anchor : next, next);
      letters[next].element.scrollIntoView({ block: "nearest", inline: "nearest" });
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Color the letters by a scheme. */
  strip.update = ({ palette, residues }) => {
    letters.forEach(({ element }, i) => {
      element.style.setProperty("--labext-color", palette[residues[i]]);
    });
  };
  /** Mark the residues of a selection, or none. */
  strip.highlight = (selection) => {
    for (const { element, chain, number } of letters) {
      const inside = selection && chain === selection.chain;
      const on = inside && number >= selection.start && number <= selection.end;
      element.classList.toggle("labext-on", Boolean(on));
    }
  };
  return strip;
}
