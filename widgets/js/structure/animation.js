// The controls of a structure with several models: play, speed and the current model.

import { createButton, createElement, setLabel } from "../dom.js";
import { createField, createSelect, createSlider } from "../toolbar.js";

const INTERVAL = 90; // ms per model at normal speed
const PLAY = ["Play", "Play the models as an animation"];
const SPEEDS = [
  ["0.25", "¼×"],
  ["0.5", "½×"],
  ["1", "1×"],
  ["2", "2×"],
];

/**
 * Return the controls of `count` models; `controls.pause()` stops them, `controls.index` is the
 * current model.
 *
 * @param {object} options `setFrame(index)`: shows a model; `isVisible()`: the animation waits while
 *   it returns false; `onStop()`: called when the animation was paused or a model was chosen.
 */
export function createAnimation(count, handle, { setFrame, isVisible, onStop }) {
  let timer = 0;
  let frame = 0;
  let direction = 1;
  const advance = handle.guarded(() => {
    if (!isVisible()) return;
    if (frame + direction < 0 || frame + direction >= count) direction = -direction;
    show(frame + direction);
  });
  const show = async (index) => {
    frame = index;
    slider.value = index;
    position.textContent = `${index + 1} of ${count}`;
    slider.setAttribute("aria-valuetext", `model ${position.textContent}`);
    try {
      await setFrame(index);
    } catch (error) {
      handle.guard(() => {
        throw error;
      });
    }
  };
  const play = () => {
    clearInterval(timer);
    timer = setInterval(advance, INTERVAL / Number(speed.value));
    setLabel(button, "Pause", "Pause the animation");
  };
  const pause = () => {
    clearInterval(timer);
    timer = 0;
    setLabel(button, ...PLAY);
    onStop();
  };
  const toggle = handle.guarded(() => (timer ? pause() : play()));
  const button = createButton(...PLAY, toggle);
  const speed = createSelect(SPEEDS, handle.guarded(() => timer && play()));
  speed.value = "1";
  const seek = handle.guarded((value) => {
    pause();
    show(value);
  });
  const slider = createSlider(count - 1, 0, seek);
  slider.setAttribute("aria-label", "Model");
  const position = createElement("span", "labext-count", {}, `1 of ${count}`);
  const controls = createElement("div", "labext-animation");
  controls.append(button, createField("Speed", speed), slider, position);
  controls.pause = pause;
  Object.defineProperty(controls, "index", { get: () => frame });
  return controls;
}
