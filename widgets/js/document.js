// A source page by page. Buttons, a number and the keys Page Up and Page Down ask the kernel for
// another page.
//
// state: {page, pages, html, error}

import { createButton, createElement, setDisabled } from "./dom.js";
import { morph } from "./morph.js";

export function sourcePages(root, handle) {
  let requested = handle.state.page;
  const go = handle.guarded((page) => {
    const target = Math.min(Math.max(Math.round(page), 1), handle.state.pages);
    if (!target || target === requested) return update();
    requested = target;
    root.setAttribute("aria-busy", "true");
    handle.send({ do: "page", page: target });
    update();
  });

  const previous = createButton("‹ Previous", "Previous page", () => go(requested - 1));
  const next = createButton("Next ›", "Next page", () => go(requested + 1));
  const number = createElement("input", "labext-page-number", {
    type: "number",
    min: "1",
    max: String(handle.state.pages),
    "aria-label": `Page, of ${handle.state.pages}`,
  });
  let typing = false; // a number that was typed and not yet requested
  const goToTyped = () => {
    typing = false;
    go(number.valueAsNumber); // NaN if the field is empty
  };
  number.addEventListener("input", () => (typing = true));
  number.addEventListener("change", goToTyped);
  number.addEventListener("keydown", (event) => {
    // Chromium fires no change event if the view was moved to a new placeholder after the typing.
    if (event.key === "Enter") goToTyped();
  });
  const status = createElement("span", "", { role: "status", "aria-live": "polite" });
  const spokenPage = createElement("span", "labext-visually-hidden"); // the number is in the field
  const count = createElement("span");
  status.append(spokenPage, count);
  const toolbar = createElement("div", "labext-buttons", { role: "toolbar", "aria-label": "Pages" });
  toolbar.append(previous, number, status, next);
  const content = createElement("div");
  root.append(toolbar, content);

  root.addEventListener("keydown", (event) => {
    const step = { PageUp: -1, PageDown: 1 }[event.key];
    if (!step || content.contains(event.target.closest("[role=region]"))) return; // text scrolls
    event.preventDefault();
    typing = false;
    go(requested + step);
  });

  function update() {
    const { pages } = handle.state;
    setDisabled(previous, requested <= 1);
    setDisabled(next, requested >= pages);
    if (!typing) number.value = String(requested);
  }

  handle.onChange(() => {
    const { page, pages, html, error } = handle.state;
    if (page === requested || error) root.removeAttribute("aria-busy");
    if (error || !root.hasAttribute("aria-busy")) requested = page;
    spokenPage.textContent = error ? "" : `Page ${page} `;
    count.textContent = error || `of ${pages}`;
    const open = content.querySelector("details")?.open ?? false;
    morph(content, html);
    const folded = content.querySelector("details");
    if (folded) folded.open = open;
    update();
  });
}
