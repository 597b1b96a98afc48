// One view in all its placeholders: the same output may be on the page several times.

import { lastChange } from "./handle.js";
import { Mount } from "./mount.js";

const GRACE_PERIOD = 5000; // ms to wait for a removed placeholder to return

export class LiveView {
  #model;
  #render;
  #className;
  #mounts = new Map(); // placeholder element -> Mount
  #timer = 0;

  constructor(model, render) {
    this.#model = model;
    this.#render = render;
    this.#className = model.get("target");
    // The state includes all changes, also while no placeholder with the view is on the page.
    Object.assign(model.get("state"), model.get("changes").parts);
    model.on("change:changes", () => Object.assign(model.get("state"), lastChange(model)));
  }

  /** True if a placeholder with this view has been removed from the page. */
  get detached() {
    for (const element of this.#mounts.keys()) if (!element.isConnected) return true;
    return false;
  }

  /** Mount the view in new placeholders; move it where a placeholder was replaced. */
  scan() {
    for (const element of document.getElementsByClassName(this.#className)) {
      if (this.#mounts.has(element) || element.querySelector(":scope > .labext-live")) continue;
      const removed = this.#findRemoved(element.parentElement);
      const mount = removed ? this.#mounts.get(removed) : new Mount(this.#model, this.#render);
      if (removed) this.#mounts.delete(removed);
      this.#mounts.set(element, mount);
      mount.moveTo(element);
    }
    this.#closeExpired();
  }

  close() {
    clearTimeout(this.#timer);
    for (const mount of this.#mounts.values()) mount.close();
    this.#mounts.clear();
    // JupyterLab keeps the models of closed comms until the kernel ends: free their data.
    for (const data of [this.#model.get("state"), this.#model.get("changes").parts ?? {}]) {
      for (const name of Object.keys(data)) delete data[name];
    }
  }

  /** Return a removed placeholder, preferably one that was in `host`. */
  #findRemoved(host) {
    let removed = null;
    for (const [element, mount] of this.#mounts) {
      if (element.isConnected) continue;
      if (mount.host === host) return element;
      removed ??= element;
    }
    return removed;
  }

  #closeExpired() {
    const now = performance.now();
    let waiting = false;
    for (const [element, mount] of this.#mounts) {
      if (element.isConnected) {
        mount.removedAt = null;
      } else if (now - (mount.removedAt ??= now) >= GRACE_PERIOD) {
        mount.close();
        this.#mounts.delete(element);
      } else {
        waiting = true;
      }
    }
    clearTimeout(this.#timer);
    if (waiting) this.#timer = setTimeout(() => this.#closeExpired(), GRACE_PERIOD);
  }
}
