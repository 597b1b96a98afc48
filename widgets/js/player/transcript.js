// What is said, turn by turn. The turn that is spoken is marked and kept in view, unless the reader
// has scrolled elsewhere: then nothing moves until that turn is in view again.

import { button, element } from "../dom.js";
import { clock } from "./words.js";

const AT_ONCE = 150; // turns that are drawn before the first frame, and in each one after it
const FRAMES = 6; // after which what came into view has its own height
const ABOVE = 0.2; // of the height: what stays in view above the turn that is spoken
const REST = 200; // milliseconds without a step, after which the wheel has come to rest

export class Transcript {
  node = element("div", "labext-transcript");
  #box = element("ol", "labext-turns", { "aria-label": "Transcript" });
  #back;
  #turns;
  #starts = []; // [seconds, index of the turn], of the turns that have a time
  #at = -1;
  #follows = true;
  #rest = 0;
  #still = 0;
  #frame = 0;
  #jump;

  /** `jump(seconds)` is called for a turn that is chosen. */
  constructor(turns, leftOut, jump) {
    this.#turns = turns;
    this.#jump = jump;
    turns.forEach(([, , , start], i) => start !== null && this.#starts.push([start, i]));
    this.#starts.sort(([a, i], [b, j]) => a - b || i - j);
    this.#back = button("Follow the sound", "Show the turn that is spoken, and follow it", () => {
      this.#follow();
      this.#show();
    });
    this.#back.classList.add("labext-follow");
    this.#back.hidden = true;
    this.node.append(this.#box, this.#back);
    this.#box.addEventListener("click", (event) => this.#clicked(event));
    for (const name of ["wheel", "touchmove", "pointerdown"]) {
      this.#box.addEventListener(name, () => this.#leave(), { passive: true });
    }
    this.#box.addEventListener("keydown", ({ key }) => {
      if (key.startsWith("Page")) this.#leave();
    });
    this.#box.addEventListener("scroll", () => this.#scrolled());
    this.#draw(leftOut);
  }

  /** Mark the turn that is spoken at `seconds`. */
  mark(seconds) {
    const at = this.#starts[this.#place(seconds)]?.[1] ?? -1;
    if (at === this.#at) return;
    this.#item(this.#at)?.removeAttribute("aria-current");
    const focused = this.#box.contains(document.activeElement);
    this.#tab(at < 0 ? 0 : at, focused && this.#follows);
    this.#at = at;
    this.#item(at)?.setAttribute("aria-current", "true");
    if (this.#follows) this.#show();
    else this.#scrolled();
  }

  /** Seconds at which the turn begins that is `by` turns from the one at `seconds`. */
  turn(seconds, by) {
    const place = this.#place(seconds) + by;
    return this.#starts[Math.min(Math.max(place, 0), this.#starts.length - 1)]?.[0];
  }

  get speaker() {
    return this.#turns[this.#at]?.[0] ?? "";
  }

  /** From now on the turn that is spoken is kept in view. */
  follow() {
    this.#follow();
  }

  end() {
    this.#stir();
    cancelAnimationFrame(this.#frame);
  }

  #place(seconds) {
    let [low, high] = [0, this.#starts.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#starts[middle][0] <= seconds + 0.01) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  #draw(leftOut) {
    const next = this.#turns.slice(this.#box.children.length, this.#box.children.length + AT_ONCE);
    const begin = this.#box.children.length;
    this.#box.append(...next.map((each, i) => item(each, begin + i)));
    if (begin === 0) this.#tab(0, false);
    const current = this.#item(this.#at);
    if (current && !current.hasAttribute("aria-current")) {
      current.setAttribute("aria-current", "true");
      if (this.#follows) this.#show();
    }
    if (this.#box.children.length < this.#turns.length) {
      this.#frame = requestAnimationFrame(() => this.#draw(leftOut));
    } else if (leftOut) {
      this.node.append(element("div", "labext-dim", {}, `… and ${leftOut.toLocaleString()} more`));
    }
  }

  #item(index) {
    return this.#box.children[index];
  }

  /** One turn alone is reached by Tab. */
  #tab(index, focus) {
    this.#box.querySelector('.labext-at[tabindex="0"]')?.setAttribute("tabindex", "-1");
    const time = this.#item(index)?.querySelector(".labext-at");
    time?.setAttribute("tabindex", "0");
    if (focus) time?.focus({ preventScroll: true });
  }

  #clicked(event) {
    const index = [...this.#box.children].indexOf(event.target.closest("li"));
    const start = this.#turns[index]?.[3] ?? null;
    const selects = !document.getSelection().isCollapsed && !event.target.closest("button");
    if (start === null || selects) return;
    this.#follow();
    this.#tab(index, true); // so that the next key is the player's, not the notebook's
    this.#jump(start);
  }

  #follow() {
    this.#follows = true;
    this.#back.hidden = true;
  }

  /** Scroll the transcript, and it alone: the notebook stays where it is. */
  #show() {
    const turn = this.#item(this.#at);
    if (!turn || this.#inView(turn)) return;
    const { clientHeight, scrollTop } = this.#box;
    const top = turn.offsetTop - clientHeight * ABOVE;
    const far = Math.abs(top - scrollTop) > 3 * clientHeight;
    const calm = far || matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.#box.scrollTo({ top, behavior: calm ? "auto" : "smooth" });
    if (far) this.#settle(turn, FRAMES);
  }

  /** Turns that were never in view have a guessed height, and push others away once they are. */
  #settle(turn, frames) {
    if (!frames || !this.#follows || turn !== this.#item(this.#at)) return;
    if (!this.#inView(turn)) {
      this.#box.scrollTo({ top: turn.offsetTop - this.#box.clientHeight * ABOVE });
    }
    requestAnimationFrame(() => this.#settle(turn, frames - 1));
  }

  #inView(turn) {
    const { scrollTop, clientHeight } = this.#box;
    const low = turn.offsetTop + Math.min(turn.offsetHeight, clientHeight / 2);
    return turn.offsetTop >= scrollTop && low <= scrollTop + clientHeight;
  }

  /** The reader scrolls: the sound is not followed until it is seen where that has led. */
  #leave() {
    this.#follows = false;
    this.#scrolled();
  }

  /**
   * A wheel scrolls step by step: what is still in view may be out of it with the next. Its steps
   * come with the frames, and where a busy machine draws none no time is a rest.
   */
  #scrolled() {
    if (this.#follows) return;
    this.#back.hidden = this.#seen;
    this.#stir();
    const resume = () => (this.#follows ||= this.#seen);
    this.#rest = setTimeout(() => (this.#still = requestAnimationFrame(resume)), REST);
  }

  #stir() {
    clearTimeout(this.#rest);
    cancelAnimationFrame(this.#still);
  }

  get #seen() {
    const turn = this.#item(this.#at);
    return !turn || this.#inView(turn);
  }
}

function item([speaker, voice, dialogue, start], index) {
  const made = element("li", `labext-turn labext-voice-${voice}`);
  const head = element("div", "labext-who");
  if (start === null) {
    head.append(element("bdi", "labext-name", {}, speaker));
  } else {
    const who = speaker || `turn ${index + 1}`;
    const at = button("", `Play from ${clock(start)}, ${who}`, () => {});
    at.className = "labext-at";
    at.tabIndex = -1;
    at.append(
      element("bdi", "labext-name", {}, speaker),
      element("span", "labext-dim", {}, clock(start)),
    );
    head.append(at);
    made.classList.add("labext-timed");
  }
  made.append(head, element("div", "labext-said", { dir: "auto" }, dialogue));
  return made;
}
