// Canvases of 3Dmol: created with a way to dispose of them, and a limited number of them.
//
// Each canvas holds geometry in graphics memory, and in browsers without OffscreenCanvas a WebGL
// context, of which a page may have about 16. A canvas beyond MAX_CANVASES therefore replaces the
// one that was used least recently, and calls its `onEvicted`.

import { createViewer } from "3dmol/build/3Dmol-min.js";

export const MAX_CANVASES = 12;

const open = new Map(); // Canvas -> called when it is closed to make room; in order of use

const ROOM_DELAY = 500; // ms after a canvas was closed; a gallery may open others meanwhile
const waiting = new Set(); // functions to call when there is room

/** Return whether a canvas can be created without closing another one. */
export const hasRoom = () => open.size < MAX_CANVASES;

/** Call `callback` whenever canvases were closed; return a function that ends that. */
export function onRoom(callback) {
  waiting.add(callback);
  return () => waiting.delete(callback);
}

function announceRoom() {
  for (const callback of waiting) if (hasRoom()) callback();
}

export class Canvas {
  #abort = new AbortController();

  /**
   * Create a canvas that fills `element`, for a structure of `residues` residues.
   *
   * `onEvicted` is called if another canvas replaces it, while its picture can still be copied.
   */
  constructor(element, residues, onEvicted) {
    while (!hasRoom()) {
      const [oldest, evicted] = open.entries().next().value;
      evicted();
      oldest.close();
    }
    this.viewer = this.#withListeners(() =>
      createViewer(element, { backgroundAlpha: 0, ...quality(residues) }),
    );
    if (!this.viewer) throw new Error("this browser offers no WebGL");
    this.element = this.viewer.getCanvas();
    open.set(this, onEvicted);
  }

  /** Mark the canvas as the most recently used one. */
  touch() {
    const onEvicted = open.get(this);
    if (open.delete(this)) open.set(this, onEvicted);
  }

  /** Remove the canvas, its listeners and its WebGL context. */
  close() {
    if (!open.delete(this)) return;
    setTimeout(announceRoom, ROOM_DELAY);
    const { viewer } = this;
    this.#abort.abort();
    viewer.divwatcher?.disconnect();
    viewer.intwatcher?.disconnect();
    viewer.stopAnimate();
    viewer.spin(false);
    viewer.removeAllSurfaces();
    viewer.removeAllLabels();
    viewer.removeAllModels();
    const context = this.element.getContext("webgl2") ?? this.element.getContext("webgl");
    context?.getExtension("WEBGL_lose_context")?.loseContext();
    this.element.remove();
    this.viewer = null;
  }

  /** 3Dmol never removes its listeners on the page; the ones it adds meanwhile end with `close`. */
  #withListeners(create) {
    const { signal } = this.#abort;
    const targets = [document.body, window];
    for (const target of targets) {
      target.addEventListener = (type, listener, options) =>
        EventTarget.prototype.addEventListener.call(target, type, listener, {
          ...(typeof options === "object" ? options : { capture: Boolean(options) }),
          signal,
        });
    }
    try {
      return create();
    } finally {
      for (const target of targets) delete target.addEventListener;
    }
  }
}

const MAX_FINE_RESIDUES = 100; // whose ribbons turn smoothly also without a GPU
let gpu = null;

/** Return 3Dmol's quality settings: without a GPU, smooth motion needs plainer pictures. */
function quality(residues) {
  gpu ??= hasGpu();
  return { antialias: gpu, cartoonQuality: gpu || residues <= MAX_FINE_RESIDUES ? 8 : 4 };
}

function hasGpu() {
  const context = document.createElement("canvas").getContext("webgl2");
  if (!context) return false;
  const information = context.getExtension("WEBGL_debug_renderer_info");
  const name = context.getParameter(information?.UNMASKED_RENDERER_WEBGL ?? context.RENDERER);
  context.getExtension("WEBGL_lose_context")?.loseContext();
  return !/swiftshader|llvmpipe|software|basic render/i.test(name);
}
