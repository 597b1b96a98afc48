// A view in one placeholder: its element stands beside the static picture and hides it. When the
// placeholder is replaced, the element is moved over with its focus and its scrolled places.

import { Handle } from "./handle.js";

const MOUNTED = "labext-mounted"; // style.css hides the picture of such a placeholder

export class Mount {
  node = document.createElement("div");
  host = null;
  lostAt = null;
  #handle;
  #view;
  #placeholder = null;
  #started = false;
  #failed = false;
  #end = null;
  #focused = null;
  #scrolled = new Map();

  constructor(model, view) {
    this.#view = view;
    this.#handle = new Handle(model, (error) => this.#fail(error));
    this.node.className = "labext-live";
    // JupyterLab must not take the keys of a button or a field for shortcuts of the notebook.
    this.node.dataset.lmSuppressShortcuts = "true";
    this.node.addEventListener("focusin", (event) => (this.#focused = event.target));
    this.node.addEventListener("focusout", () => setTimeout(() => this.#forgetFocus()));
    this.node.addEventListener("scroll", (event) => this.#keepScroll(event.target), true);
    this.node.addEventListener("keydown", (event) => this.#leave(event));
  }

  into(element) {
    this.#placeholder?.classList.remove(MOUNTED);
    this.#placeholder = element;
    this.host = element.parentElement;
    this.lostAt = null;
    const focused = this.#focused;
    element.append(this.node);
    if (!this.#failed) element.classList.add(MOUNTED);
    if (!this.#started) return this.#start();
    for (const [scrolled, [left, top]] of this.#scrolled) scrolled.scrollTo(left, top);
    if (focused && !this.node.contains(document.activeElement)) {
      focused.focus({ preventScroll: true });
    }
    this.#handle.guard(() => this.#end?.moved?.());
  }

  close() {
    this.#stop();
    this.node.remove();
    this.#placeholder?.classList.remove(MOUNTED);
  }

  #start() {
    this.#started = true;
    this.#handle.guard(() => {
      this.#end = this.#view(this.node, this.#handle) ?? null;
    });
  }

  #stop() {
    const end = this.#end;
    this.#end = null;
    this.#handle.dispose();
    try {
      if (typeof end === "function") end();
      else end?.unmount?.();
    } catch (error) {
      console.warn("[labext] a view could not be ended", error);
    }
  }

  #fail(error) {
    this.#failed = true;
    this.#stop();
    const words = `The live view failed (${error?.message ?? error}). The picture above keeps up.`;
    const said = Object.assign(document.createElement("div"), { textContent: words });
    said.className = "labext-failed";
    said.setAttribute("role", "alert");
    this.node.replaceChildren(said);
    this.#placeholder?.classList.remove(MOUNTED);
  }

  #forgetFocus() {
    if (this.node.isConnected && !this.node.contains(document.activeElement)) this.#focused = null;
  }

  #keepScroll(element) {
    if (element.isConnected) this.#scrolled.set(element, [element.scrollLeft, element.scrollTop]);
  }

  /** Escape gives the keys back to the notebook. */
  #leave(event) {
    if (event.key !== "Escape" || event.defaultPrevented) return;
    const cell = this.node.closest(".jp-Cell, .jp-Notebook, [tabindex]");
    this.#focused = null;
    event.target.blur();
    cell?.focus({ preventScroll: true });
  }
}
