// js/dom.js
function createElement(name, className = "", attributes = {}, text = "") {
  const element = document.createElement(name);
  element.className = className;
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.textContent = text;
  return element;
}
function createButton(label, description, onClick) {
  const attributes = { type: "button", title: description, "aria-label": description };
  const button = createElement("button", "labext-button", attributes, label);
  button.addEventListener("click", (event) => {
    if (button.getAttribute("aria-disabled") !== "true") onClick(event);
  });
  return button;
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

// js/player/audio.js
var PLAY_EVENT = "labext-play";
var BUSY_AFTER = 3e3;
var LOADING = "Loading the audio…";
var EpisodeAudio = class {
  audio = new Audio();
  // not in the page, where moving it would stop it
  position = 0;
  // seconds; kept until the audio is loaded
  #handle;
  #callbacks;
  #duration;
  #embeddedUrl;
  #id = Math.random().toString(36).slice(2);
  #playWhenReady = false;
  #requested = false;
  #loaded = false;
  // until then the audio is at its start, whatever the position
  #blobUrl = "";
  #timer = 0;
  #interval = 0;
  /**
   * `embeddedUrl()` returns the URL of audio embedded in the notebook, if any. `callbacks` has
   * `onMessage(text, failed)` and `onProgress()`, called when position or playback change.
   */
  constructor(handle, duration, embeddedUrl, callbacks) {
    this.#handle = handle;
    this.#duration = duration;
    this.#embeddedUrl = embeddedUrl;
    this.#callbacks = callbacks;
    const { audio } = this;
    audio.preload = "auto";
    for (const name of ["play", "pause", "ended", "seeked", "timeupdate", "durationchange"]) {
      audio.addEventListener(name, () => this.#update());
    }
    audio.addEventListener("error", () => audio.src && this.#onError());
    addEventListener(PLAY_EVENT, this.#onOtherPlays);
    handle.onMessage((content, buffers) => this.#onReply(content, buffers));
  }
  get playing() {
    return this.#playWhenReady || !this.audio.paused;
  }
  get duration() {
    return Number.isFinite(this.audio.duration) ? this.audio.duration : this.#duration ?? 0;
  }
  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }
  pause() {
    this.#playWhenReady = false;
    this.audio.pause();
    this.#showMessage("");
    this.#update();
  }
  async play() {
    dispatchEvent(new CustomEvent(PLAY_EVENT, { detail: this.#id }));
    this.#playWhenReady = true;
    this.#update();
    if (!this.audio.src) return this.#load();
    if (this.duration && this.position >= this.duration - 0.05) this.seek(0);
    try {
      await this.audio.play();
    } catch (error) {
      if (error.name === "NotAllowedError") this.#showMessage("The audio is ready: press play.");
    }
    this.#playWhenReady = false;
    this.#update();
  }
  seek(seconds) {
    if (seconds === Infinity && !this.duration) return;
    this.position = Math.min(Math.max(seconds, 0), this.duration || Infinity);
    if (this.#loaded) this.audio.currentTime = this.position;
    this.#update();
  }
  close() {
    clearTimeout(this.#timer);
    clearInterval(this.#interval);
    removeEventListener(PLAY_EVENT, this.#onOtherPlays);
    this.#playWhenReady = false;
    this.audio.pause();
    this.audio.removeAttribute("src");
    if (this.#blobUrl) URL.revokeObjectURL(this.#blobUrl);
  }
  #onOtherPlays = ({ detail }) => {
    if (detail !== this.#id && this.playing) this.pause();
  };
  #load() {
    const embedded = this.#embeddedUrl();
    if (embedded) return this.#open(embedded);
    this.#showMessage(LOADING);
    if (this.#requested) return;
    this.#requested = true;
    this.#handle.send({ do: "audio", player: this.#id });
    const busy = `${LOADING.slice(0, -1)}: waiting for the kernel, which is running a cell.`;
    this.#timer = setTimeout(() => this.#playWhenReady && this.#showMessage(busy), BUSY_AFTER);
  }
  #onReply(content, buffers) {
    if (content.loading === this.#id) {
      clearTimeout(this.#timer);
      if (this.#playWhenReady) this.#showMessage(LOADING);
    } else if (content.failed === this.#id) {
      clearTimeout(this.#timer);
      this.#requested = this.#playWhenReady = false;
      this.#showMessage(content.reason, true);
      this.#update();
    } else if (content.audio === this.#id) {
      clearTimeout(this.#timer);
      this.#blobUrl = URL.createObjectURL(new Blob(buffers, { type: "audio/mpeg" }));
      this.#open(this.#blobUrl);
    }
  }
  #open(url) {
    const { audio } = this;
    this.#loaded = false;
    const onLoaded = () => {
      this.#loaded = true;
      if (this.position) audio.currentTime = this.position;
      this.#showMessage("");
      if (this.#playWhenReady) this.play();
    };
    const { playbackRate } = audio;
    audio.addEventListener("loadedmetadata", this.#handle.guarded(onLoaded), { once: true });
    audio.src = url;
    audio.playbackRate = playbackRate;
  }
  #onError() {
    this.#requested = this.#playWhenReady = false;
    this.audio.removeAttribute("src");
    this.#showMessage("This browser cannot play the audio.", true);
    this.#update();
  }
  #showMessage(text, failed = false) {
    this.#callbacks.onMessage(text, failed);
  }
  #update() {
    const { audio } = this;
    if (this.#loaded && !audio.seeking) this.position = audio.currentTime;
    clearInterval(this.#interval);
    if (!audio.paused) this.#interval = setInterval(() => this.#tick(), 100);
    this.#handle.guard(() => this.#callbacks.onProgress());
  }
  #tick() {
    if (!this.audio.seeking) this.position = this.audio.currentTime;
    this.#handle.guard(() => this.#callbacks.onProgress());
  }
};

// js/format.js
function formatTime(seconds) {
  const total = Math.max(0, Math.floor(seconds));
  const [hours, minutes, rest] = [total / 3600, total / 60 % 60, total % 60].map(Math.floor);
  const pad = (number) => String(number).padStart(2, "0");
  return hours ? `${hours}:${pad(minutes)}:${pad(rest)}` : `${minutes}:${pad(rest)}`;
}
var formatNumber = (value) => value.toLocaleString("en");

// js/player/controls.js
var RATES = [0.75, 1, 1.25, 1.5, 1.75, 2];
var SVG = "http://www.w3.org/2000/svg";
var PLAY = "M8 5.2v13.6a.8.8 0 0 0 1.2.7l11-6.8a.8.8 0 0 0 0-1.4l-11-6.8A.8.8 0 0 0 8 5.2z";
var PAUSE = "M7 5h3.4v14H7zM13.6 5H17v14h-3.4z";
var Controls = class {
  element = createElement("div", "labext-controls");
  #play;
  #icon;
  #slider;
  #time = createElement("span");
  #dragging = false;
  // while the user drags the thumb, playback does not move it
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
    this.#slider.addEventListener("pointerdown", () => this.#dragging = true);
    this.#slider.addEventListener("lostpointercapture", () => this.#dragging = false);
    this.#slider.addEventListener("change", () => this.#dragging = false);
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
    this.#slider.style.setProperty("--labext-played", `${100 * position / (duration || 1)}%`);
    this.#slider.setAttribute("aria-valuetext", `${formatTime(position)} of ${total}`);
  }
};

// js/player/keyboard.js
var SEEK_STEP = 5;
function handleKey(event, actions) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("select")) return;
  const shortcuts = {
    " ": actions.toggle,
    k: actions.toggle,
    ArrowLeft: () => actions.skip(-SEEK_STEP),
    ArrowRight: () => actions.skip(SEEK_STEP),
    ArrowUp: () => actions.skipTurns(-1),
    p: () => actions.skipTurns(-1),
    ArrowDown: () => actions.skipTurns(1),
    n: () => actions.skipTurns(1),
    Home: () => actions.seek(0),
    End: () => actions.seek(Infinity)
  };
  const action = shortcuts[event.key];
  if (!action) return;
  event.preventDefault();
  if (!(event.repeat && action === actions.toggle)) action();
}

// js/player/style.css
var style_default = '.labext-live.labext-player {\n  max-width: 860px;\n  container-type: inline-size;\n}\n\n.labext-player [hidden] {\n  display: none !important;\n}\n\n.labext-frame {\n  display: grid;\n  gap: 14px 20px;\n  margin: 4px 0;\n  padding: 16px;\n  background: var(--jp-layout-color1, #fff);\n  border: 1px solid var(--jp-border-color2, #e0e0e0);\n  border-radius: 10px;\n}\n\n@container (min-width: 560px) {\n  .labext-frame:has(> .labext-transcript) {\n    grid-template-columns: minmax(220px, 2fr) 3fr;\n  }\n}\n\n.labext-side {\n  display: flex;\n  flex-direction: column;\n  gap: 12px;\n  min-width: 0;\n}\n\n.labext-player .labext-title {\n  font-size: 16px;\n  font-weight: 600;\n  line-height: 1.35;\n  overflow-wrap: anywhere;\n}\n\n.labext-dim {\n  color: var(--jp-content-font-color2, #616161);\n  font-size: 12px;\n}\n\n.labext-controls {\n  display: flex;\n  align-items: center;\n  gap: 14px;\n}\n\n.labext-player .labext-play {\n  flex: none;\n  width: 48px;\n  height: 48px;\n  padding: 0;\n  color: #fff;\n  background: var(--jp-brand-color1, #1976d2);\n  border: 1px solid transparent; /* drawn with forced colors */\n  border-radius: 50%;\n  cursor: pointer;\n}\n\n[data-jp-theme-light="false"] .labext-player .labext-play {\n  color: #0d1b2a;\n}\n\n.labext-play:hover {\n  filter: brightness(1.1);\n}\n\n.labext-play svg {\n  display: block;\n  width: 26px;\n  height: 26px;\n  margin: auto;\n  fill: currentcolor;\n}\n\n.labext-play:focus-visible,\n.labext-timestamp:focus-visible,\n.labext-rate:focus-visible,\n.labext-position:focus-visible {\n  outline: 2px solid var(--jp-brand-color1, #1976d2);\n  outline-offset: 2px;\n}\n\n.labext-seek-bar {\n  flex: 1;\n  min-width: 0;\n}\n\n.labext-position {\n  -webkit-appearance: none;\n  appearance: none;\n  display: block;\n  width: 100%;\n  height: 18px;\n  margin: 0;\n  background: none;\n  border-radius: 4px;\n  cursor: pointer;\n  forced-color-adjust: none;\n}\n\n.labext-position::-webkit-slider-runnable-track {\n  height: 4px;\n  border-radius: 2px;\n  background: linear-gradient(\n    to right,\n    var(--jp-brand-color1, #1976d2) var(--labext-played, 0%),\n    var(--jp-border-color1, #bdbdbd) var(--labext-played, 0%)\n  );\n}\n\n.labext-position::-webkit-slider-thumb {\n  -webkit-appearance: none;\n  width: 14px;\n  height: 14px;\n  margin-top: -5px;\n  background: var(--jp-brand-color1, #1976d2);\n  border: 0;\n  border-radius: 50%;\n}\n\n.labext-position::-moz-range-track {\n  height: 4px;\n  border-radius: 2px;\n  background: var(--jp-border-color1, #bdbdbd);\n}\n\n.labext-position::-moz-range-progress {\n  height: 4px;\n  border-radius: 2px;\n  background: var(--jp-brand-color1, #1976d2);\n}\n\n.labext-position::-moz-range-thumb {\n  width: 14px;\n  height: 14px;\n  background: var(--jp-brand-color1, #1976d2);\n  border: 0;\n  border-radius: 50%;\n}\n\n.labext-time-and-rate {\n  display: flex;\n  align-items: center;\n  justify-content: space-between;\n  font-size: 12px;\n  font-variant-numeric: tabular-nums;\n}\n\n.labext-rate {\n  font: inherit;\n  padding: 1px 2px;\n  color: var(--jp-ui-font-color1, #222);\n  background: var(--jp-layout-color1, #fff);\n  border: 1px solid var(--jp-border-color1, #bdbdbd);\n  border-radius: 4px;\n  cursor: pointer;\n}\n\n.labext-message:empty,\n.labext-speakers:empty {\n  display: none;\n}\n\n.labext-voice-0 {\n  --labext-voice: var(--jp-brand-color1, #1976d2);\n}\n\n.labext-voice-1 {\n  --labext-voice: var(--jp-warn-color1, #ef6c00);\n}\n\n.labext-voice-2 {\n  --labext-voice: var(--jp-success-color1, #388e3c);\n}\n\n.labext-voice-3 {\n  --labext-voice: var(--jp-info-color1, #00838f);\n}\n\n.labext-live.labext-player ul.labext-speakers,\n.labext-live.labext-player ol.labext-turns {\n  margin: 0;\n  padding: 0;\n  list-style: none;\n}\n\n.labext-speakers {\n  display: flex;\n  flex-wrap: wrap;\n  gap: 6px;\n}\n\n.labext-player .labext-speaker {\n  margin: 0;\n  padding: 1px 10px 1px 8px;\n  font-size: 12px;\n  border: 1px solid var(--jp-border-color2, #e0e0e0);\n  border-radius: 12px;\n  overflow-wrap: anywhere;\n}\n\n.labext-speaker::before,\n.labext-turn-heading::before {\n  content: "";\n  flex: none;\n  display: inline-block;\n  width: 8px;\n  height: 8px;\n  margin-inline-end: 7px;\n  background: var(--labext-voice);\n  border-radius: 50%;\n  forced-color-adjust: none;\n}\n\n.labext-speaking {\n  border-color: var(--labext-voice) !important;\n}\n\n.labext-hint {\n  margin-top: auto;\n}\n\n.labext-transcript {\n  position: relative;\n  min-width: 0;\n}\n\n.labext-player .labext-turns {\n  position: relative;\n  max-height: 340px;\n  overflow-y: auto;\n  overscroll-behavior: contain;\n}\n\n.labext-player .labext-turn {\n  margin: 0;\n  padding: 6px 10px;\n  border-left: 3px solid transparent;\n  border-radius: 4px;\n  content-visibility: auto;\n  contain-intrinsic-size: auto 64px;\n}\n\n.labext-timed {\n  cursor: pointer;\n}\n\n.labext-timed:hover {\n  background: var(--jp-layout-color2, #f2f2f2);\n}\n\n.labext-player .labext-turn[aria-current] {\n  background: var(--jp-layout-color2, #eee);\n  border-left-color: var(--labext-voice);\n}\n\n.labext-turn[aria-current] .labext-dim,\n.labext-timed:hover .labext-dim {\n  color: inherit;\n}\n\n.labext-timestamp {\n  display: inline-flex;\n  align-items: baseline;\n  gap: 8px;\n  max-width: 100%;\n  padding: 0;\n  font: inherit;\n  text-align: start;\n  color: inherit;\n  background: none;\n  border: 0;\n  border-radius: 2px;\n  cursor: pointer;\n}\n\n.labext-timestamp .labext-dim {\n  font-variant-numeric: tabular-nums;\n}\n\n.labext-turn-heading:has(> .labext-name:empty)::before,\n.labext-turn-heading:has(> .labext-timestamp > .labext-name:empty)::before {\n  display: none;\n}\n\n.labext-name {\n  font-weight: 600;\n  overflow-wrap: anywhere;\n}\n\n.labext-name:empty {\n  display: none;\n}\n\n.labext-dialogue {\n  white-space: pre-line;\n  overflow-wrap: anywhere;\n}\n\n.labext-player .labext-follow {\n  position: absolute;\n  left: 50%;\n  bottom: 8px;\n  transform: translateX(-50%);\n  padding: 2px 14px;\n  border-radius: 14px;\n  box-shadow: 0 1px 4px rgb(0 0 0 / 30%);\n}\n\n@media (forced-colors: active) {\n  .labext-player .labext-turn {\n    border-left-color: Canvas;\n  }\n\n  .labext-player .labext-turn[aria-current],\n  .labext-speaking {\n    border-color: Highlight !important;\n  }\n}\n';

// js/player/transcript.js
var BATCH_SIZE = 150;
var SETTLE_FRAMES = 6;
var OFFSET = 0.2;
var SCROLL_END_DELAY = 200;
var Transcript = class {
  element = createElement("div", "labext-transcript");
  #list = createElement("ol", "labext-turns", { "aria-label": "Transcript" });
  #followButton;
  #turns;
  #starts = [];
  // [seconds, index] of the turns with a known start, sorted
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
      this.#setTabStop(this.#current, true);
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
      const middle = low + high >> 1;
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
    this.#setTabStop(index, true);
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
    const resume = () => this.#following ||= this.#currentInView;
    this.#scrollTimer = setTimeout(
      () => this.#scrollFrame = requestAnimationFrame(resume),
      SCROLL_END_DELAY
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
};
function turnItem([speaker, voice, dialogue, start, , sources], index) {
  const item = createElement("li", `labext-turn labext-voice-${voice}`);
  const heading = createElement("div", "labext-turn-heading");
  if (start === null) {
    heading.append(createElement("bdi", "labext-name", {}, speaker));
  } else {
    const time = formatTime(start);
    const description = `Play from ${time}, ${speaker || `turn ${index + 1}`}`;
    const timestamp = createButton("", description, () => {
    });
    timestamp.className = "labext-timestamp";
    timestamp.tabIndex = -1;
    timestamp.append(
      createElement("bdi", "labext-name", {}, speaker),
      createElement("span", "labext-dim", {}, time)
    );
    heading.append(timestamp);
    item.classList.add("labext-timed");
  }
  item.append(heading, createElement("div", "labext-dialogue", { dir: "auto" }, dialogue));
  if (sources) item.append(createElement("div", "labext-dim", { dir: "auto" }, sources));
  return item;
}

// js/player/view.js
var HINT = "Space plays · ← → 5 s · ↑ ↓ turns";
function player(root, handle) {
  addStyle("labext-player-style", style_default);
  const { state } = handle;
  const attributes = { role: "status", "aria-live": "polite" };
  const message = createElement("div", "labext-message", attributes);
  const embeddedUrl = () => root.parentElement?.querySelector(":scope > :not(.labext-live) audio")?.getAttribute("src");
  const audio = new EpisodeAudio(handle, state.duration, embeddedUrl, {
    onProgress: () => update(),
    onMessage: (text, failed) => {
      message.textContent = text;
      message.classList.toggle("labext-failed", failed);
    }
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
      if (seconds !== void 0) audio.seek(seconds);
    }),
    setRate: handle.guarded((factor) => audio.audio.playbackRate = factor),
    playFrom: handle.guarded((seconds) => {
      audio.seek(seconds);
      audio.play();
    })
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

// js/player.js
var views = { player };
export {
  views
};
