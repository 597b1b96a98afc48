// The player of an episode, with a transcript that follows playback.
//
// state: {title, facts, duration, speakers, turns: [[speaker, voice, dialogue, start, end, sources]],
// omitted}, times in seconds or null

import { createElement } from "../dom.js";
import { addStyle } from "../style.js";
import { EpisodeAudio } from "./audio.js";
import { Controls } from "./controls.js";
import { handleKey } from "./keyboard.js";
import css from "./style.css";
import { Transcript } from "./transcript.js";

const HINT = "Space plays · ← → 5 s · ↑ ↓ turns";

export function player(root, handle) {
  addStyle("labext-player-style", css);
  const { state } = handle;
  const attributes = { role: "status", "aria-live": "polite" };
  const message = createElement("div", "labext-message", attributes);

  // Embedded audio is in the static view, which is hidden beside this element.
  const embeddedUrl = () =>
    root.parentElement?.querySelector(":scope > :not(.labext-live) audio")?.getAttribute("src");
  const audio = new EpisodeAudio(handle, state.duration, embeddedUrl, {
    onProgress: () => update(),
    onMessage: (text, failed) => {
      message.textContent = text;
      message.classList.toggle("labext-failed", failed);
    },
  });

  const actions = {
    toggle: handle.guarded(() => {
      transcript.follow();
      audio.toggle();
    }),
    seek: handle.guarded((seconds) => audio.seek(seconds)),
    skip: handle.guarded((seconds) => audio.seek(audio.position + seconds)),
    skipTurns: handle.guarded((count) => {
      const seconds = transcript.turnStart(audio.position, count);
      transcript.follow();
      if (seconds !== undefined) audio.seek(seconds);
    }),
    setRate: handle.guarded((factor) => (audio.audio.playbackRate = factor)),
    playFrom: handle.guarded((seconds) => {
      audio.seek(seconds);
      audio.play();
    }),
  };

  const transcript = new Transcript(state.turns, state.omitted, actions.playFrom);
  const controls = new Controls(actions);
  const heading = createElement("div");
  const facts = createElement("div", "labext-dim", { dir: "auto" }, state.facts);
  heading.append(createElement("div", "labext-title", { dir: "auto" }, state.title), facts);
  const side = createElement("div", "labext-side");
  const hint = createElement("div", "labext-dim labext-hint", {}, HINT);
  side.append(heading, controls.element, message, speakerList(state), hint);
  root.classList.add("labext-player");
  root.setAttribute("role", "region");
  root.setAttribute("aria-label", `Podcast ${state.title}`);
  const frame = createElement("div", "labext-frame");
  frame.append(side);
  if (state.turns.length) frame.append(transcript.element);
  root.append(frame);

  function update() {
    controls.update(audio.position, audio.duration, audio.playing);
    transcript.setPosition(audio.position > 0 || audio.playing ? audio.position : -1);
    for (const speaker of side.querySelectorAll(".labext-speaker")) {
      const speaking = audio.playing && speaker.textContent === transcript.speaker;
      speaker.classList.toggle("labext-speaking", speaking);
    }
  }

  root.addEventListener("keydown", (event) => handleKey(event, actions));
  // Releasing the space bar would click a focused button.
  root.addEventListener("keyup", (event) => {
    if (event.key === " " && !event.target.closest("select")) event.preventDefault();
  });
  update();
  return () => {
    audio.close();
    transcript.close();
  };
}

function speakerList(state) {
  const list = createElement("ul", "labext-speakers", { "aria-label": "Speakers" });
  state.speakers.forEach((name, i) => {
    list.append(createElement("li", `labext-speaker labext-voice-${i % 4}`, { dir: "auto" }, name));
  });
  return list;
}
