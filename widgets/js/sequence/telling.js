// The kernel is told what is selected: at once, and then after pauses the last of what came.

const PAUSE = 150; // ms

export class Telling {
  #view;
  #by;
  #timer = 0;
  #next = null;
  #told = JSON.stringify({ start: null });

  constructor(view, by) {
    this.#view = view;
    this.#by = by;
  }

  /** Tell of a range `{start, end, strand}`, or of none by `{start: null}`. */
  tell(range) {
    this.#next = range;
    if (this.#timer) return;
    this.#send();
    this.#timer = setTimeout(() => {
      this.#timer = 0;
      this.#view.guard(() => this.#send());
    }, PAUSE);
  }

  /** The kernel has said this itself: it needs not be told. */
  known({ start, end, strand }) {
    this.#next = start === null ? { start } : { start, end, strand };
    this.#told = JSON.stringify(this.#next);
  }

  end() {
    clearTimeout(this.#timer);
  }

  #send() {
    const said = JSON.stringify(this.#next);
    if (said === this.#told) return;
    this.#told = said;
    this.#view.send({ do: "select", ...this.#next, by: this.#by });
  }
}
