// Controls of toolbars: button group, field, select, slider; and a status line.

import { createButton, createElement } from "./dom.js";
import { addStyle } from "./style.js";
import css from "./toolbar.css";

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

/** Make `root` a view with a toolbar: its class gives the controls their style. */
export function createToolbar(root, ...controls) {
  addStyle("labext-toolbar-style", css);
  root.classList.add("labext-viewer");
  const toolbar = createElement("div", "labext-toolbar");
  toolbar.append(...controls);
  return toolbar;
}

/** An element whose text screen readers announce when it changes. */
export function createStatus() {
  return createElement("div", "labext-status", { role: "status", "aria-live": "polite" });
}
