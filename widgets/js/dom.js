// Create elements with a class, attributes and text; text is never parsed as HTML.

export function createElement(name, className = "", attributes = {}, text = "") {
  const element = document.createElement(name);
  element.className = className;
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.textContent = text;
  return element;
}

export function createButton(label, description, onClick) {
  const attributes = { type: "button", title: description, "aria-label": description };
  const button = createElement("button", "labext-button", attributes, label);
  button.addEventListener("click", (event) => {
    if (button.getAttribute("aria-disabled") !== "true") onClick(event);
  });
  return button;
}

/** Change the label and the description of a button. */
export function setLabel(button, label, description) {
  button.textContent = label;
  button.title = description;
  button.setAttribute("aria-label", description);
}

/** Disable a button that may have the focus, which it would lose by its attribute `disabled`. */
export function setDisabled(button, disabled) {
  button.setAttribute("aria-disabled", String(disabled));
}

/** Move the focus from a view to its cell, so that the keys of the notebook work again. */
export function focusCell(element) {
  element.closest(".jp-Cell, .jp-Notebook, [tabindex]")?.focus({ preventScroll: true });
}
