// A view mounted in one placeholder: its element hides the static view beside it. If the placeholder
// is replaced, the element is moved to the new one, keeping focus and scroll positions.

import { createElement, focusCell } from "./dom.js";
import { Handle } from "./handle.js";

const MOUNTED = "labext-mounted"; // style.css hides the static view of such a placeholder

/**
 * Keep a key pressed in a view from the notebook, whose shortcuts would move to another cell or delete
 * this one; shortcuts with Ctrl, such as saving, still work.
 *
 * The attribute must be on the target itself, and before the listeners of the document: those of
 * Notebook 7 are called before those of a view.
 */
export function reserveKey({ target, key, ctrlKey, metaKey, altKey }) {
  if (!target.closest?.(".labext-live")) return;
  const isField = target.matches("input, select");
  const isForNotebook = (ctrlKey || metaKey || altKey) && (isField ? key === "s" : key !== "a");
  target.toggleAttribute("data-lm-suppress-shortcuts", !isForNotebook);
}

export class Mount {
  element = createElement("div", "labext-live");
  host = null;
  removedAt = null;
  #handle;
  #render;
  #placeholder = null;
  #rendered = false;
  #failed = false;
  #cleanup = null; // what the view returned
  #focused = null;
  #scrollPositions = new Map();

  constructor(model, render) {
    this.#render = render;
    this.#handle = new Handle(model, (error) => this.#fail(error));
    this.element.addEventListener("focusin", (event) => (this.#focused = event.target));
    this.element.addEventListener("focusout", () => setTimeout(() => this.#forgetFocus()));
    this.element.addEventListener("scroll", (event) => this.#saveScroll(event.target), true);
    this.element.addEventListener("keydown", (event) => this.#leaveOnEscape(event));
  }

  moveTo(placeholder) {
    this.#placeholder?.classList.remove(MOUNTED);
    this.#placeholder = placeholder;
    this.host = placeholder.parentElement;
    this.removedAt = null;
    const focused = this.#focused;
    placeholder.append(this.element);
    if (!this.#failed) placeholder.classList.add(MOUNTED);
    if (!this.#rendered) return this.#renderOnce();
    for (const [scrolled, [left, top]] of this.#scrollPositions) scrolled.scrollTo(left, top);
    if (focused && !this.element.contains(document.activeElement)) {
      focused.focus({ preventScroll: true });
    }
  }

  close() {
    this.#dispose();
    if (this.element.contains(document.activeElement)) focusCell(this.element);
    this.element.remove();
    this.#placeholder?.classList.remove(MOUNTED);
  }

  #renderOnce() {
    this.#rendered = true;
    this.#handle.guard(() => {
      this.#cleanup = this.#render(this.element, this.#handle) ?? null;
    });
  }

  #dispose() {
    const cleanup = this.#cleanup;
    this.#cleanup = null;
    this.#handle.dispose();
    try {
      cleanup?.();
    } catch (error) {
      console.warn("[labext] the cleanup of a view failed", error);
    }
  }

  #fail(error) {
    this.#failed = true;
    this.#dispose();
    const message = `The live view failed (${error?.message ?? error}). The static view above is still updated.`;
    this.element.replaceChildren(createElement("div", "labext-failed", { role: "alert" }, message));
    this.#placeholder?.classList.remove(MOUNTED);
  }

  #forgetFocus() {
    if (this.element.isConnected && !this.element.contains(document.activeElement)) {
      this.#focused = null;
    }
  }

  #saveScroll(element) {
    if (!element.isConnected) return;
    this.#scrollPositions.set(element, [element.scrollLeft, element.scrollTop]);
  }

  /** Return the focus to the notebook. */
  #leaveOnEscape(event) {
    if (event.key !== "Escape" || event.defaultPrevented) return;
    this.#focused = null;
    event.target.blur();
    focusCell(this.element);
  }
}
