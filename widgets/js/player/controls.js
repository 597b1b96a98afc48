// The controls: play, where it is, and how fast.

import { button, element } from "../dom.js";
import { clock } from "./words.js";

const RATES = [0.75, 1, 1.25, 1.5, 1.75, 2];
const SVG = "http://www.w3.org/2000/svg";
const PLAY = "M8 5.2v13.6a.8.8 0 0 0 1.2.7l11-6.8a.8.8 0 0 0 0-1.4l-11-6.8A.8.8 0 0 0 8 5.2z";
const PAUSE = "M7 5h3.4v14H7zM13.6 5H17v14h-3.4z";

export class Controls {
  node = element("div", "labext-controls");
  #play;
  #icon;
  #slider;
  #time = element("span", "labext-time");
  #held = false; // while the thumb is held, it is not moved

  /** `act` has `toggle()`, `seek(seconds)` and `rate(factor)`. */
  constructor(act) {
    this.#play = button("", "Play", act.toggle);
    this.#play.className = "labext-play";
    this.#play.setAttribute("aria-keyshortcuts", "Space k");
    this.#icon = document.createElementNS(SVG, "path");
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", "0 0 24 24");
    svg.setAttribute("aria-hidden", "true");
    svg.append(this.#icon);
    this.#play.append(svg);
    const range = { type: "range", min: "0", step: "0.1", value: "0", "aria-label": "Position" };
    this.#slider = element("input", "labext-position", range);
    this.#slider.addEventListener("pointerdown", () => (this.#held = true));
    this.#slider.addEventListener("lostpointercapture", () => (this.#held = false));
    this.#slider.addEventListener("change", () => (this.#held = false));
    this.#slider.addEventListener("input", () => act.seek(Number(this.#slider.value)));
    const rates = element("select", "labext-rate", { "aria-label": "Speed", title: "Speed" });
    for (const rate of RATES) {
      const option = element("option", "", { value: rate }, `${rate}×`);
      option.selected = rate === 1;
      rates.append(option);
    }
    rates.addEventListener("change", () => act.rate(Number(rates.value)));
    const below = element("div", "labext-below");
    below.append(this.#time, rates);
    const beside = element("div", "labext-way");
    beside.append(this.#slider, below);
    this.node.append(this.#play, beside);
  }

  show(position, duration, playing) {
    const label = playing ? "Pause" : "Play";
    this.#icon.setAttribute("d", playing ? PAUSE : PLAY);
    this.#play.setAttribute("aria-label", label);
    this.#play.title = label;
    const whole = duration ? clock(duration) : "–:––";
    this.#time.textContent = `${clock(position)} / ${whole}`;
    this.#slider.max = duration || 1;
    this.#slider.disabled = !duration;
    if (!this.#held) this.#slider.value = position;
    this.#slider.style.setProperty("--labext-way", `${(100 * position) / (duration || 1)}%`);
    this.#slider.setAttribute("aria-valuetext", `${clock(position)} of ${whole}`);
  }
}
