// The audio of an episode: requested from the kernel when it is first played, then kept as a Blob,
// so that seeking needs no request. Only one player on a page plays at a time.
//
// Sends `{do: "audio", player}`. The kernel replies `{loading: player}` at once, then
// `{audio: player}` with the bytes, or `{failed: player, reason}`.

const PLAY_EVENT = "labext-play"; // on the window, since each kernel has its own copy of this code
const BUSY_AFTER = 3000; // ms without a response after which the kernel is presumed busy
const LOADING = "Loading the audio…";

export class EpisodeAudio {
  audio = new Audio(); // not in the page, where moving it would stop it
  position = 0; // seconds; kept until the audio is loaded
  #handle;
  #callbacks;
  #duration;
  #embeddedUrl;
  #id = Math.random().toString(36).slice(2);
  #playWhenReady = false;
  #requested = false;
  #loaded = false; // until then the audio is at its start, whatever the position
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
    return Number.isFinite(this.audio.duration) ? this.audio.duration : (this.#duration ?? 0);
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
      // Browsers require a recent click before they play audio.
      if (error.name === "NotAllowedError") this.#showMessage("The audio is ready: press play.");
    }
    this.#playWhenReady = false;
    this.#update();
  }

  seek(seconds) {
    if (seconds === Infinity && !this.duration) return; // the end is not known yet
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
    audio.playbackRate = playbackRate; // reset by a new source
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
    // timeupdate fires four times per second, too rarely for short turns
    if (!audio.paused) this.#interval = setInterval(() => this.#tick(), 100);
    this.#handle.guard(() => this.#callbacks.onProgress());
  }

  #tick() {
    if (!this.audio.seeking) this.position = this.audio.currentTime;
    this.#handle.guard(() => this.#callbacks.onProgress());
  }
}
