// A view's access to its model: state, messages, error handling.

/** Return the part of a view model's state that the kernel changed last. */
export function lastChange(model) {
  const { parts, last } = model.get("changes");
  return Object.fromEntries(last.map((name) => [name, parts[name]]));
}

export class Handle {
  #model;
  #onError;
  #listeners = [];
  #disposed = false;

  constructor(model, onError) {
    this.#model = model;
    this.#onError = onError;
  }

  /** The current state. */
  get state() {
    return this.#model.get("state") ?? {};
  }

  /** Call `render(state)` now and whenever the state is replaced. */
  onState(render) {
    this.#listen("change:state", () => render(this.state));
    render(this.state);
  }

  /** Call `apply(change)` with the full state now, then with each part that the kernel changes. */
  onChange(apply) {
    this.#listen("change:state", () => apply(this.state));
    this.#listen("change:changes", () => apply(lastChange(this.#model)));
    apply(this.state);
  }

  /** Call `callback(content, buffers)` for each message from the kernel. */
  onMessage(callback) {
    this.#listen("msg:custom", callback);
  }

  /** Send a message to the kernel. */
  send(content, buffers) {
    this.#model.send(content, undefined, buffers);
  }

  /** Run `callback`; an error closes the view and is reported to the user and the kernel. */
  guard(callback) {
    if (this.#disposed) return;
    try {
      callback();
    } catch (error) {
      console.error("[labext]", error);
      this.send({ kind: "error", message: String(error?.stack ?? error).slice(0, 4000) });
      this.#onError(error);
    }
  }

  /** Return a function that runs `callback` under `guard`. */
  guarded(callback) {
    return (...args) => this.guard(() => callback(...args));
  }

  dispose() {
    this.#disposed = true;
    for (const [name, listener] of this.#listeners) this.#model.off(name, listener);
    this.#listeners = [];
  }

  #listen(name, callback) {
    const listener = this.guarded(callback);
    this.#listeners.push([name, listener]);
    this.#model.on(name, listener);
  }
}
