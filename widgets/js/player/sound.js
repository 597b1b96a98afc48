// The sound of an episode: asked of the kernel when it is first played, then a Blob of this page, in
// which a seek costs no request. Of all that can play on a page, one plays at a time.
//
// It asks `{do: "sound", by}`; the kernel says `{fetching: by}` at once, and when it has the sound
// `{sound: by}` with its bytes, or `{refused: by, why}`.

const PLAYS = "labext-plays"; // each kernel has code of its own: they meet at the window
const PATIENCE = 3000; // ms after which a kernel that said nothing is busy with a cell
const FETCHING = "Fetching the sound…";

export class Sound {
  audio = new Audio(); // never on the page: there it would stop whenever it is moved
  position = 0; // seconds; what the audio is at, once there is any
  #view;
  #told;
  #length;
  #embedded;
  #me = Math.random().toString(36).slice(2);
  #wanted = false; // whether it is to play as soon as it is there
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
    return Number.isFinite(this.audio.duration) ? this.audio.duration : (this.#length ?? 0);
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
      // The browser wants a click for a sound, and that was too long ago.
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
    audio.playbackRate = playbackRate; // a new source forgets it
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
    // timeupdate comes four times a second, which is late for a short turn
    if (!audio.paused) this.#ticking = setInterval(() => this.#tick(), 100);
    this.#view.guard(() => this.#told(null));
  }

  #tick() {
    if (!this.audio.seeking) this.position = this.audio.currentTime;
    this.#view.guard(() => this.#told(null));
  }
}
