// A structure in a card of the gallery: drawn in 3D while the card is visible.

import { createElement } from "../dom.js";
import { addStyle } from "../style.js";
import { Canvas } from "./canvas.js";
import { countResidues, Scene } from "./scene.js";
import css from "./style.css";

/** Draw `state` over the picture in `element`; return a function that removes it again. */
export function mountCard(element, state) {
  addStyle("labext-structure-style", css);
  const host = createElement("div", "labext-canvas-host");
  element.append(host);
  let canvas = null;
  const close = () => {
    canvas?.close();
    host.remove();
  };
  canvas = new Canvas(host, countResidues(state.chains), () => host.remove());
  new Scene(canvas.viewer, state);
  return close;
}
