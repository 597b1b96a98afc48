// What a view gets of its model: its state, its messages, and an end to both.

export class Handle {
  #model;
  #failed;
  #listening = [];
  #ended = false;

  constructor(model, failed) {
    this.#model = model;
    this.#failed = failed;
  }

  /** What the kernel last said. */
  get state() {
    return this.#model.get("state") ?? {};
  }

  /** Call `draw(state)` now and whenever the kernel gives a new state. */
  onState(draw) {
    this.#listen("change:state", () => draw(this.state));
    draw(this.state);
  }

  /** Call `apply(change)` with the whole state, and then with each part that the kernel changes. */
  onChange(apply) {
    this.#listen("change:state", () => apply(this.state));
    this.#listen("msg:custom", ({ change }) => {
      if (!change) return;
      Object.assign(this.state, change); // for a copy of the view that opens later
      apply(change);
    });
    apply(this.state);
  }

  /** Call `receive(content, buffers)` for what the kernel sends. */
  onMessage(receive) {
    this.#listen("msg:custom", receive);
  }

  /** Send the kernel a message. */
  send(content, buffers) {
    this.#model.send(content, undefined, buffers);
  }

  /** Run `act`; an error ends the view, and the user and the kernel are told. */
  guard(act) {
    if (this.#ended) return;
    try {
      act();
    } catch (error) {
      console.error("[labext]", error);
      this.send({ kind: "error", message: String(error?.stack ?? error).slice(0, 4000) });
      this.#failed(error);
    }
  }

  dispose() {
    this.#ended = true;
    for (const [name, listener] of this.#listening) this.#model.off(name, listener);
    this.#listening = [];
  }

  #listen(name, act) {
    const listener = (...given) => this.guard(() => act(...given));
    this.#listening.push([name, listener]);
    this.#model.on(name, listener);
  }
}
