// js/dom.js
function element(name, className = "", attributes = {}, text = "") {
  const made = document.createElement(name);
  made.className = className;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}
function button(label, description, act) {
  const made = element("button", "labext-button", { type: "button", title: description }, label);
  made.setAttribute("aria-label", description);
  made.addEventListener("click", act);
  return made;
}

// js/style.js
function addStyle(id, css) {
  let style = document.getElementById(id);
  if (!style) {
    style = Object.assign(document.createElement("style"), { id });
    document.head.append(style);
  }
  if (style.textContent !== css) style.textContent = css;
}

// js/player/words.js
function clock(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  const [hours, minutes, rest] = [whole / 3600, whole / 60 % 60, whole % 60].map(Math.floor);
  const two = (number) => String(number).padStart(2, "0");
  return hours ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

// js/player/controls.js
var RATES = [0.75, 1, 1.25, 1.5, 1.75, 2];
var SVG = "http://www.w3.org/2000/svg";
var PLAY = "M8 5.2v13.6a.8.8 0 0 0 1.2.7l11-6.8a.8.8 0 0 0 0-1.4l-11-6.8A.8.8 0 0 0 8 5.2z";
var PAUSE = "M7 5h3.4v14H7zM13.6 5H17v14h-3.4z";
var Controls = class {
  node = element("div", "labext-controls");
  #play;
  #icon;
  #slider;
  #time = element("span", "labext-time");
  #held = false;
  // while the thumb is held, it is not moved
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
    this.#slider.addEventListener("pointerdown", () => this.#held = true);
    this.#slider.addEventListener("lostpointercapture", () => this.#held = false);
    this.#slider.addEventListener("change", () => this.#held = false);
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
    this.#slider.style.setProperty("--labext-way", `${100 * position / (duration || 1)}%`);
    this.#slider.setAttribute("aria-valuetext", `${clock(position)} of ${whole}`);
  }
};

// js/player/keys.js
var STEP = 5;
function keys(event, act) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("select")) return;
  const steps = {
    " ": act.toggle,
    k: act.toggle,
    ArrowLeft: () => act.by(-STEP),
    ArrowRight: () => act.by(STEP),
    ArrowUp: () => act.turn(-1),
    p: () => act.turn(-1),
    ArrowDown: () => act.turn(1),
    n: () => act.turn(1),
    Home: () => act.seek(0),
    End: () => act.seek(Infinity)
  };
  const step = steps[event.key];
  if (!step) return;
  event.preventDefault();
  if (!(event.repeat && step === act.toggle)) step();
}

// js/player/sound.js
var PLAYS = "labext-plays";
var PATIENCE = 3e3;
var FETCHING = "Fetching the sound…";
var Sound = class {
  audio = new Audio();
  // never on the page: there it would stop whenever it is moved
  position = 0;
  // seconds; what the audio is at, once there is any
  #view;
  #told;
  #length;
  #embedded;
  #me = Math.random().toString(36).slice(2);
  #wanted = false;
  // whether it is to play as soon as it is there
  #asked = false;
  #address = "";
  #timer = 0;
  #ticking = 0;
  /** `told(words, failed)` is called with what there is to say, and with null when it moves. */
  constructor(view, length, embedded, told) {
    this.#view = view;
    this.#length = length;
    this.#embedded = embedded;
    this.#told = told;
    const { audio } = this;
    audio.preload = "auto";
    for (const name of ["play", "pause", "ended", "seeked", "timeupdate", "durationchange"]) {
      audio.addEventListener(name, () => this.#moved());
    }
    audio.addEventListener("error", () => audio.src && this.#broken());
    addEventListener(PLAYS, this.#other);
    view.onMessage((content, buffers) => this.#receive(content, buffers));
  }
  get playing() {
    return this.#wanted || !this.audio.paused;
  }
  get duration() {
    return Number.isFinite(this.audio.duration) ? this.audio.duration : this.#length ?? 0;
  }
  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }
  pause() {
    this.#wanted = false;
    this.audio.pause();
    this.#told("");
    this.#moved();
  }
  async play() {
    dispatchEvent(new CustomEvent(PLAYS, { detail: this.#me }));
    this.#wanted = true;
    this.#moved();
    if (!this.audio.src) return this.#ask();
    if (this.duration && this.position >= this.duration - 0.05) this.seek(0);
    try {
      await this.audio.play();
    } catch (error) {
      if (error.name === "NotAllowedError") this.#told("The sound is here: press play.");
    }
    this.#wanted = false;
    this.#moved();
  }
  seek(to) {
    this.position = Math.min(Math.max(to, 0), this.duration || Infinity);
    if (this.audio.readyState > 0) this.audio.currentTime = this.position;
    this.#moved();
  }
  end() {
    clearTimeout(this.#timer);
    clearInterval(this.#ticking);
    removeEventListener(PLAYS, this.#other);
    this.#wanted = false;
    this.audio.pause();
    this.audio.removeAttribute("src");
    if (this.#address) URL.revokeObjectURL(this.#address);
  }
  #other = ({ detail }) => {
    if (detail !== this.#me && this.playing) this.pause();
  };
  #ask() {
    const kept = this.#embedded();
    if (kept) return this.#open(kept);
    this.#told(FETCHING);
    if (this.#asked) return;
    this.#asked = true;
    this.#view.send({ do: "sound", by: this.#me });
    const busy = `${FETCHING.slice(0, -1)}: waiting for the kernel, which is busy with a cell.`;
    this.#timer = setTimeout(() => this.#wanted && this.#told(busy), PATIENCE);
  }
  #receive(content, buffers) {
    if (content.fetching === this.#me) {
      clearTimeout(this.#timer);
      if (this.#wanted) this.#told(FETCHING);
    } else if (content.refused === this.#me) {
      clearTimeout(this.#timer);
      this.#asked = this.#wanted = false;
      this.#told(content.why, true);
      this.#moved();
    } else if (content.sound === this.#me) {
      clearTimeout(this.#timer);
      this.#address = URL.createObjectURL(new Blob(buffers, { type: "audio/mpeg" }));
      this.#open(this.#address);
    }
  }
  #open(address) {
    const { audio } = this;
    const begin = () => {
      if (this.position) audio.currentTime = this.position;
      this.#told("");
      if (this.#wanted) this.play();
    };
    const { playbackRate } = audio;
    audio.addEventListener("loadedmetadata", () => this.#view.guard(begin), { once: true });
    audio.src = address;
    audio.playbackRate = playbackRate;
  }
  #broken() {
    this.#asked = this.#wanted = false;
    this.audio.removeAttribute("src");
    this.#told("This browser can't play the sound.", true);
    this.#moved();
  }
  #moved() {
    const { audio } = this;
    if (audio.readyState > 0 && !audio.seeking) this.position = audio.currentTime;
    clearInterval(this.#ticking);
    if (!audio.paused) this.#ticking = setInterval(() => this.#tick(), 100);
    this.#view.guard(() => this.#told(null));
  }
  #tick() {
    if (!this.audio.seeking) this.position = this.audio.currentTime;
    this.#view.guard(() => this.#told(null));
  }
};

// js/player/style.css
var style_default = '.labext-live.labext-player {\n  max-width: 860px;\n  container-type: inline-size;\n}\n\n.labext-player [hidden] {\n  display: none !important;\n}\n\n.labext-frame {\n  display: grid;\n  gap: 14px 20px;\n  margin: 4px 0;\n  padding: 16px;\n  background: var(--jp-layout-color1, #fff);\n  border: 1px solid var(--jp-border-color2, #e0e0e0);\n  border-radius: 10px;\n}\n\n@container (min-width: 560px) {\n  .labext-frame:has(> .labext-transcript) {\n    grid-template-columns: minmax(220px, 2fr) 3fr;\n  }\n}\n\n.labext-side {\n  display: flex;\n  flex-direction: column;\n  gap: 12px;\n  min-width: 0;\n}\n\n.labext-player .labext-title {\n  font-size: 16px;\n  font-weight: 600;\n  line-height: 1.35;\n  overflow-wrap: anywhere;\n}\n\n.labext-dim {\n  color: var(--jp-content-font-color2, #616161);\n  font-size: 12px;\n}\n\n.labext-controls {\n  display: flex;\n  align-items: center;\n  gap: 14px;\n}\n\n.labext-player .labext-play {\n  flex: none;\n  width: 48px;\n  height: 48px;\n  padding: 0;\n  color: #fff;\n  background: var(--jp-brand-color1, #1976d2);\n  border: 0;\n  border-radius: 50%;\n  cursor: pointer;\n}\n\n[data-jp-theme-light="false"] .labext-player .labext-play {\n  color: #0d1b2a;\n}\n\n.labext-play:hover {\n  filter: brightness(1.1);\n}\n\n.labext-play svg {\n  display: block;\n  width: 26px;\n  height: 26px;\n  margin: auto;\n  fill: currentcolor;\n}\n\n.labext-play:focus-visible,\n.labext-at:focus-visible,\n.labext-rate:focus-visible,\n.labext-position:focus-visible {\n  outline: 2px solid var(--jp-brand-color1, #1976d2);\n  outline-offset: 2px;\n}\n\n.labext-way {\n  flex: 1;\n  min-width: 0;\n}\n\n.labext-position {\n  -webkit-appearance: none;\n  appearance: none;\n  display: block;\n  width: 100%;\n  height: 18px;\n  margin: 0;\n  background: none;\n  border-radius: 4px;\n  cursor: pointer;\n}\n\n.labext-position::-webkit-slider-runnable-track {\n  height: 4px;\n  border-radius: 2px;\n  background: linear-gradient(\n    to right,\n    var(--jp-brand-color1, #1976d2) var(--labext-way, 0%),\n    var(--jp-border-color1, #bdbdbd) var(--labext-way, 0%)\n  );\n}\n\n.labext-position::-webkit-slider-thumb {\n  -webkit-appearance: none;\n  width: 14px;\n  height: 14px;\n  margin-top: -5px;\n  background: var(--jp-brand-color1, #1976d2);\n  border: 0;\n  border-radius: 50%;\n}\n\n.labext-position::-moz-range-track {\n  height: 4px;\n  border-radius: 2px;\n  background: var(--jp-border-color1, #bdbdbd);\n}\n\n.labext-position::-moz-range-progress {\n  height: 4px;\n  border-radius: 2px;\n  background: var(--jp-brand-color1, #1976d2);\n}\n\n.labext-position::-moz-range-thumb {\n  width: 14px;\n  height: 14px;\n  background: var(--jp-brand-color1, #1976d2);\n  border: 0;\n  border-radius: 50%;\n}\n\n.labext-below {\n  display: flex;\n  align-items: center;\n  justify-content: space-between;\n  font-size: 12px;\n  font-variant-numeric: tabular-nums;\n}\n\n.labext-rate {\n  font: inherit;\n  padding: 1px 2px;\n  color: var(--jp-ui-font-color1, #222);\n  background: var(--jp-layout-color1, #fff);\n  border: 1px solid var(--jp-border-color1, #bdbdbd);\n  border-radius: 4px;\n  cursor: pointer;\n}\n\n.labext-told:empty,\n.labext-speakers:empty {\n  display: none;\n}\n\n.labext-voice-0 {\n  --labext-voice: var(--jp-brand-color1, #1976d2);\n}\n\n.labext-voice-1 {\n  --labext-voice: var(--jp-warn-color1, #ef6c00);\n}\n\n.labext-voice-2 {\n  --labext-voice: var(--jp-success-color1, #388e3c);\n}\n\n.labext-voice-3 {\n  --labext-voice: var(--jp-info-color1, #00838f);\n}\n\n.labext-live.labext-player ul.labext-speakers,\n.labext-live.labext-player ol.labext-turns {\n  margin: 0;\n  padding: 0;\n  list-style: none;\n}\n\n.labext-speakers {\n  display: flex;\n  flex-wrap: wrap;\n  gap: 6px;\n}\n\n.labext-player .labext-speaker {\n  margin: 0;\n  padding: 1px 10px 1px 8px;\n  font-size: 12px;\n  border: 1px solid var(--jp-border-color2, #e0e0e0);\n  border-radius: 12px;\n  overflow-wrap: anywhere;\n}\n\n.labext-speaker::before,\n.labext-who::before {\n  content: "";\n  flex: none;\n  display: inline-block;\n  width: 8px;\n  height: 8px;\n  margin-inline-end: 7px;\n  background: var(--labext-voice);\n  border-radius: 50%;\n}\n\n.labext-speaks {\n  border-color: var(--labext-voice) !important;\n}\n\n.labext-hint {\n  margin-top: auto;\n}\n\n.labext-transcript {\n  position: relative;\n  min-width: 0;\n}\n\n.labext-player .labext-turns {\n  position: relative;\n  max-height: 340px;\n  overflow-y: auto;\n  overscroll-behavior: contain;\n}\n\n.labext-player .labext-turn {\n  margin: 0;\n  padding: 6px 10px;\n  border-left: 3px solid transparent;\n  border-radius: 4px;\n  content-visibility: auto;\n  contain-intrinsic-size: auto 64px;\n}\n\n.labext-timed {\n  cursor: pointer;\n}\n\n.labext-timed:hover {\n  background: var(--jp-layout-color2, #f2f2f2);\n}\n\n.labext-player .labext-turn[aria-current] {\n  background: var(--jp-layout-color2, #eee);\n  border-left-color: var(--labext-voice);\n}\n\n.labext-turn[aria-current] .labext-dim,\n.labext-timed:hover .labext-dim {\n  color: inherit;\n}\n\n.labext-at {\n  display: inline-flex;\n  align-items: baseline;\n  gap: 8px;\n  max-width: 100%;\n  padding: 0;\n  font: inherit;\n  text-align: start;\n  color: inherit;\n  background: none;\n  border: 0;\n  border-radius: 2px;\n  cursor: pointer;\n}\n\n.labext-at .labext-dim {\n  font-variant-numeric: tabular-nums;\n}\n\n.labext-who:has(> .labext-name:empty)::before,\n.labext-who:has(> .labext-at > .labext-name:empty)::before {\n  display: none;\n}\n\n.labext-name {\n  font-weight: 600;\n  overflow-wrap: anywhere;\n}\n\n.labext-name:empty {\n  display: none;\n}\n\n.labext-said {\n  white-space: pre-line;\n  overflow-wrap: anywhere;\n}\n\n.labext-player .labext-follow {\n  position: absolute;\n  left: 50%;\n  bottom: 8px;\n  transform: translateX(-50%);\n  padding: 2px 14px;\n  border-radius: 14px;\n  box-shadow: 0 1px 4px rgb(0 0 0 / 30%);\n}\n';

// js/player/transcript.js
var AT_ONCE = 150;
var FRAMES = 6;
var ABOVE = 0.2;
var REST = 200;
var Transcript = class {
  node = element("div", "labext-transcript");
  #box = element("ol", "labext-turns", { "aria-label": "Transcript" });
  #back;
  #turns;
  #starts = [];
  // [seconds, index of the turn], of the turns that have a time
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
      const middle = low + high >> 1;
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
    this.#tab(index, true);
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
    const resume = () => this.#follows ||= this.#seen;
    this.#rest = setTimeout(() => this.#still = requestAnimationFrame(resume), REST);
  }
  #stir() {
    clearTimeout(this.#rest);
    cancelAnimationFrame(this.#still);
  }
  get #seen() {
    const turn = this.#item(this.#at);
    return !turn || this.#inView(turn);
  }
};
function item([speaker, voice, dialogue, start], index) {
  const made = element("li", `labext-turn labext-voice-${voice}`);
  const head = element("div", "labext-who");
  if (start === null) {
    head.append(element("bdi", "labext-name", {}, speaker));
  } else {
    const who = speaker || `turn ${index + 1}`;
    const at = button("", `Play from ${clock(start)}, ${who}`, () => {
    });
    at.className = "labext-at";
    at.tabIndex = -1;
    at.append(
      element("bdi", "labext-name", {}, speaker),
      element("span", "labext-dim", {}, clock(start))
    );
    head.append(at);
    made.classList.add("labext-timed");
  }
  made.append(head, element("div", "labext-said", { dir: "auto" }, dialogue));
  return made;
}

// js/player/view.js
var HINT = "Space plays · ← → 5 s · ↑ ↓ turns";
function player(root, view) {
  addStyle("labext-player-style", style_default);
  const { state } = view;
  const said = element("div", "labext-told", { role: "status", "aria-live": "polite" });
  const told = (words, failed = false) => {
    if (words === null) return show();
    said.textContent = words;
    said.classList.toggle("labext-failed", failed);
  };
  const embedded = () => root.parentElement?.querySelector(":scope > :not(.labext-live) audio")?.getAttribute("src");
  const sound = new Sound(view, state.duration, embedded, told);
  const safe = (act2) => (...given) => view.guard(() => act2(...given));
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
      if (to !== void 0) sound.seek(to);
    }),
    rate: safe((factor) => sound.audio.playbackRate = factor),
    jump: safe((to) => {
      sound.seek(to);
      sound.play();
    })
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

// js/player.js
var views = { player };
export {
  views
};
