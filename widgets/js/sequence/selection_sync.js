// Send the selection to the kernel: at once, then at most once per interval.

const INTERVAL = 150; // ms

export class SelectionSync {
  #handle;
  #sender;
  #timer = 0;
  #range = null;
  #sent = JSON.stringify({ start: null });

  constructor(handle, sender) {
    this.#handle = handle;
    this.#sender = sender;
  }

  /** Send a range `{start, end, strand}`, or `{start: null}` for none. */
  send(range) {
    this.#range = range;
    if (this.#timer) return;
    this.#sendNow();
    this.#timer = setTimeout(() => {
      this.#timer = 0;
      this.#handle.guard(() => this.#sendNow());
    }, INTERVAL);
  }

  /** Record a range that the kernel has sent itself. */
  received({ start, end, strand }) {
    this.#range = start === null ? { start } : { start, end, strand };
    this.#sent = JSON.stringify(this.#range);
  }

  close() {
    clearTimeout(this.#timer);
  }

  #sendNow() {
    const range = JSON.stringify(this.#range);
    if (range === this.#sent) return;
    this.#sent = range;
    this.#handle.send({ do: "select", ...this.#range, sender: this.#sender });
  }
}
