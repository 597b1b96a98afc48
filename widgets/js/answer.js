// An answer while it is streamed. A citation mark toggles the cited passage below its paragraph;
// Escape closes it. A button in a citation asks the kernel for the page of its source and shows it
// below.
//
// state: {html, announcement, busy, complete}

import { createElement, focusCell } from "./dom.js";
import { morph } from "./morph.js";

const MARK = ".labext-cite";
const CITATION = ".labext-citation";
const OPEN = ".labext-open";
let passageCount = 0; // for unique ids

export function answer(root, handle) {
  const content = createElement("div");
  const attributes = { role: "status", "aria-live": "polite" };
  const announcement = createElement("div", "labext-visually-hidden", attributes);
  root.append(content, announcement);

  const id = `labext-passage-${++passageCount}`;
  const passage = createElement("div", "labext-passage", { id });
  let openIndex = -1; // index of the mark whose passage is open
  let complete = false;

  const marks = () => [...content.querySelectorAll(MARK)];
  const citations = () => [...content.querySelectorAll(CITATION)];

  const closePassage = () => {
    passage.remove();
    const mark = marks()[openIndex];
    mark?.setAttribute("aria-expanded", "false");
    mark?.removeAttribute("aria-controls");
    openIndex = -1;
    return mark;
  };

  const openPassage = (index) => {
    const mark = marks()[index];
    const citation = citations()[Number(mark?.textContent) - 1];
    if (!citation) return;
    openIndex = index;
    const title = createElement("strong", "", {}, citation.querySelector("summary").textContent);
    const body = [...citation.children].slice(1).map((child) => child.cloneNode(true));
    passage.replaceChildren(title, ...body);
    mark.setAttribute("aria-expanded", "true");
    mark.setAttribute("aria-controls", id);
    const block = mark.closest("li, p, pre, table");
    if (block.matches("li")) block.append(passage);
    else block.after(passage);
  };

  content.addEventListener("click", (event) => {
    const index = marks().indexOf(event.target.closest(MARK));
    if (index < 0) return;
    const previous = openIndex;
    closePassage();
    if (index !== previous) openPassage(index);
  });

  const togglePage = (button) => {
    const container = button.parentElement;
    const isOpen = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!isOpen));
    container.querySelector(".labext-page")?.remove();
    if (isOpen) return;
    const attributes = { "data-citation": button.value, role: "status" };
    container.append(createElement("div", "labext-page", attributes, "Opening…"));
    handle.send({ do: "open", citation: Number(button.value) });
  };

  content.addEventListener(
    "click",
    handle.guarded((event) => {
      const button = event.target.closest(OPEN);
      if (button) togglePage(button);
    }),
  );

  handle.onMessage(({ opened, html }) => {
    for (const page of content.querySelectorAll(`.labext-page[data-citation="${opened}"]`)) {
      page.removeAttribute("role");
      morph(page, html);
    }
  });

  content.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || openIndex < 0) return;
    event.preventDefault(); // keep the focus in the answer
    closePassage()?.focus({ preventScroll: true });
  });

  handle.onState((state) => {
    // Open passages stay open while the answer is streamed; the final answer replaces everything.
    const streaming = state.complete === complete;
    const previous = streaming ? openIndex : -1;
    const expanded = streaming ? citations().map((citation) => citation.open) : [];
    const focused = content.contains(document.activeElement);
    closePassage();
    if (!streaming) content.replaceChildren();
    complete = state.complete;
    morph(content, state.html);
    citations().forEach((citation, i) => (citation.open = expanded[i] ?? false));
    if (previous >= 0) openPassage(previous);
    if (focused && !content.contains(document.activeElement)) focusCell(root);
    root.classList.toggle("labext-busy", state.busy);
    if (announcement.textContent !== state.announcement) {
      announcement.textContent = state.announcement;
    }
  });
}
