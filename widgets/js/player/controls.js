// The playback controls: play button, seek bar and speed.

import { createButton, createElement } from "../dom.js";
import { formatTime } from "../format.js";

const RATES = [0.75, 1, 1.25, 1.5, 1.75, 2];
const SVG = "http://www.w3.org/2000/svg";
const PLAY = "M8 5.2v13.6a.8.8 0 0 0 1.2.7l11-6.8a.8.8 0 0 0 0-1.4l-11-6.8A.8.8 0 0 0 8 5.2z";
const PAUSE = "M7 5h3.4v14H7zM13.6 5H17v14h-3.4z";

export class Controls {
  element = createElement("div", "labext-controls");
  #play;
  #icon;
  #slider;
  #time = createElement("span");
  #dragging = false; // while the user drags the thumb, playback does not move it

  /** `actions` has `toggle()`, `seek(seconds)` and `setRate(factor)`. */
  constructor(actions) {
    this.#play = createButton("", "Play", actions.toggle);
    this.#play.className = "labext-play";
    this.#play.setAttribute("aria-keyshortcuts", "Space k");
    this.#icon = document.createElementNS(SVG, "path");
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", "0 0 24 24");
    svg.setAttribute("aria-hidden", "true");
    svg.append(this.#icon);
    this.#play.append(svg);
    const range = { type: "range", min: "0", step: "0.1", value: "0", "aria-label": "Position" };
    this.#slider = createElement("input", "labext-position", range);
    this.#slider.addEventListener("pointerdown", () => (this.#dragging = true));
    this.#slider.addEventListener("lostpointercapture", () => (this.#dragging = false));
    this.#slider.addEventListener("change", () => (this.#dragging = false));
    this.#slider.addEventListener("input", () => actions.seek(Number(this.#slider.value)));
    const rates = createElement("select", "labext-rate", { "aria-label": "Speed", title: "Speed" });
    for (const rate of RATES) {
      const option = createElement("option", "", { value: rate }, `${rate}×`);
      option.selected = rate === 1;
      rates.append(option);
    }
    rates.addEventListener("change", () => actions.setRate(Number(rates.value)));
    const timeAndRate = createElement("div", "labext-time-and-rate");
    timeAndRate.append(this.#time, rates);
    const seekBar = createElement("div", "labext-seek-bar");
    seekBar.append(this.#slider, timeAndRate);
    this.element.append(this.#play, seekBar);
  }

  update(position, duration, playing) {
    const label = playing ? "Pause" : "Play";
    this.#icon.setAttribute("d", playing ? PAUSE : PLAY);
    this.#play.setAttribute("aria-label", label);
    this.#play.title = label;
    const total = duration ? formatTime(duration) : "–:––";
    this.#time.textContent = `${formatTime(position)} / ${total}`;
    this.#slider.max = duration || 1;
    this.#slider.disabled = !duration;
    if (!this.#dragging) this.#slider.value = position;
    this.#slider.style.setProperty("--labext-played", `${(100 * position) / (duration || 1)}%`);
    this.#slider.setAttribute("aria-valuetext", `${formatTime(position)} of ${total}`);
  }
}
