// The controls of the toolbar: button group, field, select, slider, search.

import { createButton, createElement } from "../dom.js";

/** A group of buttons of which one is pressed; `group.update(value)` changes it. */
export function createButtonGroup(label, options, onChange) {
  const group = createElement("div", "labext-button-group", { role: "group", "aria-label": label });
  const buttons = options.map(([value, text]) => {
    const button = createButton(text, `${label}: ${text}`, () => onChange(value));
    button.setAttribute("aria-label", text);
    button.dataset.value = value;
    return button;
  });
  group.append(...buttons);
  group.update = (value) => {
    for (const button of buttons)
      button.setAttribute("aria-pressed", String(button.dataset.value === value));
  };
  return group;
}

export function createField(text, input) {
  const label = createElement("label", "labext-field");
  label.append(text, input);
  return label;
}

/** A select element; `select.update(options)` replaces its options `[value, text]`. */
export function createSelect(options, onChange) {
  const select = createElement("select", "labext-input");
  select.update = (options) => {
    const selected = select.value;
    select.replaceChildren(
      ...options.map(([value, text]) => createElement("option", "", { value }, text)),
    );
    if (options.some(([value]) => value === selected)) select.value = selected;
  };
  select.update(options);
  select.addEventListener("change", () => onChange(select.value));
  return select;
}

export function createSlider(max, value, onChange) {
  const slider = createElement("input", "labext-zoom", { type: "range", min: 0, max, step: 1 });
  slider.value = value;
  slider.addEventListener("input", () => onChange(Number(slider.value)));
  return slider;
}

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
    previous.disabled = next.disabled = !hasHits;
  };
  group.update("", false);
  return group;
}
