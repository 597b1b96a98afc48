// The transcript. The current turn is highlighted and kept in view, unless the reader has scrolled
// away: then scrolling resumes once the current turn is in view again.

import { createButton, createElement } from "../dom.js";
import { formatNumber, formatTime } from "../format.js";

const BATCH_SIZE = 150; // turns rendered before the first frame, and in each later one
const SETTLE_FRAMES = 6; // after which turns that came into view have their real height
const OFFSET = 0.2; // fraction of the height that stays visible above the current turn
const SCROLL_END_DELAY = 200; // ms without a scroll event after which scrolling has ended

export class Transcript {
  element = createElement("div", "labext-transcript");
  #list = createElement("ol", "labext-turns", { "aria-label": "Transcript" });
  #followButton;
  #turns;
  #starts = []; // [seconds, index] of the turns with a known start, sorted
  #current = -1;
  #following = true;
  #scrollTimer = 0;
  #scrollFrame = 0;
  #renderFrame = 0;
  #onSelect;

  /** `onSelect(seconds)` is called when a turn is clicked. */
  constructor(turns, omitted, onSelect) {
    this.#turns = turns;
    this.#onSelect = onSelect;
    turns.forEach(([, , , start], i) => start !== null && this.#starts.push([start, i]));
    this.#starts.sort(([a, i], [b, j]) => a - b || i - j);
    const description = "Scroll to the current turn and follow playback";
    this.#followButton = createButton("Follow playback", description, () => {
      this.follow();
      this.#scrollToCurrent();
      this.#setTabStop(this.#current, true); // the button is hidden now
    });
    this.#followButton.classList.add("labext-follow");
    this.#followButton.hidden = true;
    this.element.append(this.#list, this.#followButton);
    this.#list.addEventListener("click", (event) => this.#onClick(event));
    for (const name of ["wheel", "touchmove", "pointerdown"]) {
      this.#list.addEventListener(name, () => this.#stopFollowing(), { passive: true });
    }
    this.#list.addEventListener("keydown", ({ key }) => {
      if (key.startsWith("Page")) this.#stopFollowing();
    });
    this.#list.addEventListener("scroll", () => this.#onScroll());
    this.#render(omitted);
  }

  /** Highlight the turn spoken at `seconds`. */
  setPosition(seconds) {
    const index = this.#starts[this.#startIndex(seconds)]?.[1] ?? -1;
    if (index === this.#current) return;
    this.#item(this.#current)?.removeAttribute("aria-current");
    const focused = this.#list.contains(document.activeElement);
    this.#setTabStop(index < 0 ? 0 : index, focused && this.#following);
    this.#current = index;
    this.#item(index)?.setAttribute("aria-current", "true");
    if (this.#following) this.#scrollToCurrent();
    else this.#onScroll();
  }

  /** Return the start of the turn that is `count` turns after the one at `seconds`. */
  turnStart(seconds, count) {
    const index = this.#startIndex(seconds) + count;
    return this.#starts[Math.min(Math.max(index, 0), this.#starts.length - 1)]?.[0];
  }

  get speaker() {
    return this.#turns[this.#current]?.[0] ?? "";
  }

  /** Keep the current turn in view from now on. */
  follow() {
    this.#following = true;
    this.#followButton.hidden = true;
  }

  close() {
    this.#cancelResume();
    cancelAnimationFrame(this.#renderFrame);
  }

  #startIndex(seconds) {
    let [low, high] = [0, this.#starts.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#starts[middle][0] <= seconds + 0.01) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  #render(omitted) {
    const { length } = this.#list.children;
    const batch = this.#turns.slice(length, length + BATCH_SIZE);
    this.#list.append(...batch.map((turn, i) => turnItem(turn, length + i)));
    if (length === 0) this.#setTabStop(0, false);
    const current = this.#item(this.#current);
    if (current && !current.hasAttribute("aria-current")) {
      current.setAttribute("aria-current", "true");
      if (this.#following) this.#scrollToCurrent();
    }
    if (this.#list.children.length < this.#turns.length) {
      this.#renderFrame = requestAnimationFrame(() => this.#render(omitted));
    } else if (omitted) {
      const text = `… and ${formatNumber(omitted)} more`;
      this.element.append(createElement("div", "labext-dim", {}, text));
    }
  }

  #item(index) {
    return this.#list.children[index];
  }

  /** Make one turn the only one that is reached by Tab. */
  #setTabStop(index, focus) {
    this.#list.querySelector('.labext-timestamp[tabindex="0"]')?.setAttribute("tabindex", "-1");
    const timestamp = this.#item(index)?.querySelector(".labext-timestamp");
    timestamp?.setAttribute("tabindex", "0");
    if (focus) timestamp?.focus({ preventScroll: true });
  }

  #onClick(event) {
    const index = [...this.#list.children].indexOf(event.target.closest("li"));
    const start = this.#turns[index]?.[3] ?? null;
    const selecting = !document.getSelection().isCollapsed && !event.target.closest("button");
    if (start === null || selecting) return;
    this.follow();
    this.#setTabStop(index, true); // so that the next key goes to the player, not the notebook
    this.#onSelect(start);
  }

  /** Scroll the transcript without scrolling the notebook. */
  #scrollToCurrent() {
    const turn = this.#item(this.#current);
    if (!turn || this.#inView(turn)) return;
    const { clientHeight, scrollTop } = this.#list;
    const top = turn.offsetTop - clientHeight * OFFSET;
    const far = Math.abs(top - scrollTop) > 3 * clientHeight;
    const instant = far || matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.#list.scrollTo({ top, behavior: instant ? "auto" : "smooth" });
    if (far) this.#settle(turn, SETTLE_FRAMES);
  }

  /** Correct the position: turns that were never in view have an estimated height until then. */
  #settle(turn, frames) {
    if (!frames || !this.#following || turn !== this.#item(this.#current)) return;
    if (!this.#inView(turn)) {
      this.#list.scrollTo({ top: turn.offsetTop - this.#list.clientHeight * OFFSET });
    }
    requestAnimationFrame(() => this.#settle(turn, frames - 1));
  }

  #inView(turn) {
    const { scrollTop, clientHeight } = this.#list;
    const bottom = turn.offsetTop + Math.min(turn.offsetHeight, clientHeight / 2);
    return turn.offsetTop >= scrollTop && bottom <= scrollTop + clientHeight;
  }

  #stopFollowing() {
    this.#following = false;
    this.#onScroll();
  }

  /**
   * Resume following when scrolling has ended with the current turn in view. Scroll events arrive
   * with frames, so the delay is followed by one frame, which a busy machine may draw late.
   */
  #onScroll() {
    if (this.#following) return;
    this.#followButton.hidden = this.#currentInView;
    this.#cancelResume();
    const resume = () => (this.#following ||= this.#currentInView);
    this.#scrollTimer = setTimeout(
      () => (this.#scrollFrame = requestAnimationFrame(resume)),
      SCROLL_END_DELAY,
    );
  }

  #cancelResume() {
    clearTimeout(this.#scrollTimer);
    cancelAnimationFrame(this.#scrollFrame);
  }

  get #currentInView() {
    const turn = this.#item(this.#current);
    return !turn || this.#inView(turn);
  }
}

function turnItem([speaker, voice, dialogue, start, , sources], index) {
  const item = createElement("li", `labext-turn labext-voice-${voice}`);
  const heading = createElement("div", "labext-turn-heading");
  if (start === null) {
    heading.append(createElement("bdi", "labext-name", {}, speaker));
  } else {
    const time = formatTime(start);
    const description = `Play from ${time}, ${speaker || `turn ${index + 1}`}`;
    const timestamp = createButton("", description, () => {});
    timestamp.className = "labext-timestamp";
    timestamp.tabIndex = -1;
    timestamp.append(
      createElement("bdi", "labext-name", {}, speaker),
      createElement("span", "labext-dim", {}, time),
    );
    heading.append(timestamp);
    item.classList.add("labext-timed");
  }
  item.append(heading, createElement("div", "labext-dialogue", { dir: "auto" }, dialogue));
  if (sources) item.append(createElement("div", "labext-dim", { dir: "auto" }, sources));
  return item;
}
