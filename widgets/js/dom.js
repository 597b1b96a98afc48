// Elements with a class, attributes and text; text is never taken for HTML.

export function element(name, className = "", attributes = {}, text = "") {
  const made = document.createElement(name);
  made.className = className;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}

export function button(label, description, act) {
  const made = element("button", "labext-button", { type: "button", title: description }, label);
  made.setAttribute("aria-label", description);
  made.addEventListener("click", act);
  return made;
}
