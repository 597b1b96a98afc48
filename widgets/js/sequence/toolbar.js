// What stands above the maps: which of them, how large, whose sites, a search.

import { button, element } from "../dom.js";

export function choice(label, options, act) {
  const group = element("div", "labext-choice", { role: "group", "aria-label": label });
  const buttons = options.map(([value, words]) => {
    const made = button(words, `${label}: ${words}`, () => act(value));
    made.setAttribute("aria-label", words);
    made.dataset.value = value;
    return made;
  });
  group.append(...buttons);
  group.show = (value) => {
    for (const each of buttons)
      each.setAttribute("aria-pressed", String(each.dataset.value === value));
  };
  return group;
}

export function field(words, input) {
  const label = element("label", "labext-field");
  label.append(words, input);
  return label;
}

export function select(options, act) {
  const made = element("select", "labext-input");
  made.show = (offered) => {
    const chosen = made.value;
    made.replaceChildren(
      ...offered.map(([value, words]) => element("option", "", { value }, words)),
    );
    if (offered.some(([value]) => value === chosen)) made.value = chosen;
  };
  made.show(options);
  made.addEventListener("change", () => act(made.value));
  return made;
}

export function slider(most, value, act) {
  const made = element("input", "labext-zoom", { type: "range", min: 0, max: most, step: 1 });
  made.value = value;
  made.addEventListener("input", () => act(Number(made.value)));
  return made;
}

/** A search field with its count and two buttons: `act.find(words)`, `act.go(by)`. */
export function finder(act) {
  const input = element("input", "labext-input labext-search", {
    type: "search",
    spellcheck: "false",
    autocomplete: "off",
    placeholder: "GAATTC, RNNY…",
  });
  const count = element("span", "labext-count", { role: "status", "aria-live": "polite" });
  const back = button("‹", "Previous hit", () => act.go(-1));
  const on = button("›", "Next hit", () => act.go(1));
  input.addEventListener("input", () => act.find(input.value));
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") act.go(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape" && input.value) {
      input.value = "";
      act.find("");
    } else return;
    event.preventDefault();
  });
  const group = element("div", "labext-finder", { role: "search" });
  group.append(field("Search", input), back, on, count);
  group.show = (words, some) => {
    count.textContent = words;
    back.disabled = on.disabled = !some;
  };
  group.show("", false);
  return group;
}
