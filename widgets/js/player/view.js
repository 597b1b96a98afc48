// The player of an episode: the sound, and beside it the transcript that follows it.
//
// state: {title, facts, duration, speakers, turns: [[speaker, voice, dialogue, start, end]],
// left_out}, times in seconds or null

import { element } from "../dom.js";
import { addStyle } from "../style.js";
import { Controls } from "./controls.js";
import { keys } from "./keys.js";
import { Sound } from "./sound.js";
import css from "./style.css";
import { Transcript } from "./transcript.js";

const HINT = "Space plays · ← → 5 s · ↑ ↓ turns";

export function player(root, view) {
  addStyle("labext-player-style", css);
  const { state } = view;
  const said = element("div", "labext-told", { role: "status", "aria-live": "polite" });

  const told = (words, failed = false) => {
    if (words === null) return show();
    said.textContent = words;
    said.classList.toggle("labext-failed", failed);
  };
  // A notebook that keeps the sound has it in the picture, beside this view.
  const embedded = () =>
    root.parentElement?.querySelector(":scope > :not(.labext-live) audio")?.getAttribute("src");
  const sound = new Sound(view, state.duration, embedded, told);

  const safe =
    (act) =>
    (...given) =>
      view.guard(() => act(...given));
  const act = {
    toggle: safe(() => {
      transcript.follow();
      sound.toggle();
    }),
    seek: safe((to) => sound.seek(to)),
    by: safe((seconds) => sound.seek(sound.position + seconds)),
    turn: safe((by) => {
      const to = transcript.turn(sound.position, by);
      transcript.follow();
      if (to !== undefined) sound.seek(to);
    }),
    rate: safe((factor) => (sound.audio.playbackRate = factor)),
    jump: safe((to) => {
      sound.seek(to);
      sound.play();
    }),
  };

  const transcript = new Transcript(state.turns, state.left_out, act.jump);
  const controls = new Controls(act);
  const head = element("div", "labext-head");
  const facts = element("div", "labext-dim", { dir: "auto" }, state.facts);
  head.append(element("div", "labext-title", { dir: "auto" }, state.title), facts);
  const side = element("div", "labext-side");
  const hint = element("div", "labext-dim labext-hint", {}, HINT);
  side.append(head, controls.node, said, speakers(state), hint);
  root.classList.add("labext-player");
  root.setAttribute("role", "region");
  root.setAttribute("aria-label", `Podcast ${state.title}`);
  const frame = element("div", "labext-frame");
  frame.append(side);
  if (state.turns.length) frame.append(transcript.node);
  root.append(frame);

  function show() {
    controls.show(sound.position, sound.duration, sound.playing);
    transcript.mark(sound.position > 0 || sound.playing ? sound.position : -1);
    for (const each of side.querySelectorAll(".labext-speaker")) {
      const speaks = sound.playing && each.textContent === transcript.speaker;
      each.classList.toggle("labext-speaks", speaks);
    }
  }

  root.addEventListener("keydown", (event) => keys(event, act));
  // A button would be clicked once more when the key is let go.
  root.addEventListener("keyup", (event) => {
    if (event.key === " " && !event.target.closest("select")) event.preventDefault();
  });
  show();
  return () => {
    sound.end();
    transcript.end();
  };
}

function speakers(state) {
  const list = element("ul", "labext-speakers", { "aria-label": "Speakers" });
  state.speakers.forEach((name, i) => {
    list.append(element("li", `labext-speaker labext-voice-${i % 4}`, { dir: "auto" }, name));
  });
  return list;
}
