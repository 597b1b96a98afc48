// One view, in every placeholder of its class: the same output may be on the page several times.

import { Mount } from "./mount.js";

const GRACE = 5000; // ms that a view waits for its placeholder to come back before it is ended

export class Live {
  #model;
  #view;
  #class;
  #mounts = new Map(); // placeholder element -> Mount
  #timer = 0;

  constructor(model, view) {
    this.#model = model;
    this.#view = view;
    this.#class = model.get("target");
  }

  /** Whether a placeholder that had a view has left the page. */
  get adrift() {
    for (const element of this.#mounts.keys()) if (!element.isConnected) return true;
    return false;
  }

  /** Mount where there is a new placeholder; where it took the place of another, move over. */
  scan() {
    for (const element of document.getElementsByClassName(this.#class)) {
      if (this.#mounts.has(element) || element.querySelector(":scope > .labext-live")) continue;
      const lost = this.#lost(element.parentElement);
      const mount = lost ? this.#mounts.get(lost) : new Mount(this.#model, this.#view);
      if (lost) this.#mounts.delete(lost);
      this.#mounts.set(element, mount);
      mount.into(element);
    }
    this.#endLost();
  }

  close() {
    clearTimeout(this.#timer);
    for (const mount of this.#mounts.values()) mount.close();
    this.#mounts.clear();
  }

  /** The placeholder that left and was in `host`, or else any that left. */
  #lost(host) {
    let any = null;
    for (const [element, mount] of this.#mounts) {
      if (element.isConnected) continue;
      if (mount.host === host) return element;
      any ??= element;
    }
    return any;
  }

  #endLost() {
    const now = performance.now();
    let waiting = false;
    for (const [element, mount] of this.#mounts) {
      if (element.isConnected) {
        mount.lostAt = null;
      } else if (now - (mount.lostAt ??= now) >= GRACE) {
        mount.close();
        this.#mounts.delete(element);
      } else {
        waiting = true;
      }
    }
    clearTimeout(this.#timer);
    if (waiting) this.#timer = setTimeout(() => this.#endLost(), GRACE);
  }
}
