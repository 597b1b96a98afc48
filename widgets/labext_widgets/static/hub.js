// js/dom.js
function element(name, className = "", attributes2 = {}, text = "") {
  const made2 = document.createElement(name);
  made2.className = className;
  for (const [key, value] of Object.entries(attributes2)) made2.setAttribute(key, value);
  made2.textContent = text;
  return made2;
}
function button(label, description, act) {
  const made2 = element("button", "labext-button", { type: "button", title: description }, label);
  made2.setAttribute("aria-label", description);
  made2.addEventListener("click", act);
  return made2;
}

// js/morph.js
function morph(element2, html) {
  const wanted = document.createElement("template");
  wanted.innerHTML = html;
  children(element2, wanted.content);
}
function children(node, wanted) {
  const to = [...wanted.childNodes];
  to.forEach((child, i) => {
    const old = node.childNodes[i];
    if (!old) node.append(child);
    else if (old.nodeName !== child.nodeName) old.replaceWith(child);
    else if (old.nodeType === Node.TEXT_NODE) {
      if (old.data !== child.data) old.data = child.data;
    } else {
      attributes(old, child);
      children(old, child);
    }
  });
  while (node.childNodes.length > to.length) node.lastChild.remove();
}
function attributes(node, wanted) {
  for (const { name } of [...node.attributes]) {
    if (!wanted.hasAttribute(name)) node.removeAttribute(name);
  }
  for (const { name, value } of wanted.attributes) {
    if (node.getAttribute(name) !== value) node.setAttribute(name, value);
  }
}

// js/answer.js
var MARK = ".labext-cite";
var CITATION = ".labext-citation";
var made = 0;
function answer(root, view) {
  const picture = element("div", "labext-picture");
  const spoken = element("div", "labext-spoken", { role: "status", "aria-live": "polite" });
  root.append(picture, spoken);
  const passage = element("div", "labext-passage", { id: `labext-passage-${++made}` });
  let opened = -1;
  let whole = false;
  const marks = () => [...picture.querySelectorAll(MARK)];
  const citations = () => [...picture.querySelectorAll(CITATION)];
  const fold = () => {
    passage.remove();
    const mark = marks()[opened];
    mark?.setAttribute("aria-expanded", "false");
    mark?.removeAttribute("aria-controls");
    opened = -1;
    return mark;
  };
  const unfold = (index) => {
    const mark = marks()[index];
    const cited = citations()[Number(mark?.textContent) - 1];
    if (!cited) return;
    opened = index;
    const title = element("strong", "", {}, cited.querySelector("summary").textContent);
    const body = [...cited.children].slice(1).map((each) => each.cloneNode(true));
    passage.replaceChildren(title, ...body);
    mark.setAttribute("aria-expanded", "true");
    mark.setAttribute("aria-controls", passage.id);
    const item = mark.closest("li");
    if (item) item.append(passage);
    else mark.closest("p, pre").after(passage);
  };
  picture.addEventListener("click", (event) => {
    const index = marks().indexOf(event.target.closest(MARK));
    if (index < 0) return;
    const before = opened;
    fold();
    if (index !== before) unfold(index);
  });
  picture.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || opened < 0) return;
    event.preventDefault();
    fold()?.focus({ preventScroll: true });
  });
  view.onState((state) => {
    const goesOn = state.whole === whole;
    const before = goesOn ? opened : -1;
    const unfolded = goesOn ? citations().map((each) => each.open) : [];
    fold();
    if (!goesOn) picture.replaceChildren();
    whole = state.whole;
    morph(picture, state.html);
    citations().forEach((each, i) => each.open = unfolded[i] ?? false);
    if (before >= 0) unfold(before);
    root.classList.toggle("labext-busy", state.busy);
    if (spoken.textContent !== state.spoken) spoken.textContent = state.spoken;
  });
}

// js/progress.js
var PATIENCE = 3e3;
function progress(root, view) {
  const picture = element("div", "labext-picture");
  const buttons = element("div", "labext-buttons", { role: "group" });
  const spoken = element("div", "labext-spoken", { role: "status", "aria-live": "polite" });
  root.append(picture, buttons, spoken);
  let shown = null;
  let timer = 0;
  const send = (control) => {
    view.send({ do: control.do });
    wait(`${control.label}…`);
    timer = setTimeout(() => {
      wait(`${control.label}: waiting for the kernel, which is busy with a cell.`);
    }, PATIENCE);
  };
  const wait = (words) => {
    const focused = buttons.contains(document.activeElement);
    const said = element("span", "labext-asked", { role: "status", tabindex: "-1" }, words);
    buttons.replaceChildren(said);
    if (focused) said.focus({ preventScroll: true });
  };
  const ask = (control) => {
    const back = () => {
      offer(view.state.controls);
      buttons.querySelector(`[data-do="${CSS.escape(control.do)}"]`)?.focus();
    };
    const question = element("span", "labext-question", {}, control.question);
    const yes = button(control.label, control.description, () => send(control));
    const no = button("Keep it running", `Do not ${lowered(control.label)}`, back);
    yes.classList.add("labext-warning");
    buttons.replaceChildren(question, yes, no);
    buttons.onkeydown = (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      back();
    };
    no.focus();
  };
  const offer = (controls) => {
    buttons.onkeydown = null;
    buttons.replaceChildren(
      ...controls.map((control) => {
        const act = () => control.question ? ask(control) : send(control);
        const label = control.question ? `${control.label}…` : control.label;
        const made2 = button(label, control.description, act);
        made2.dataset.do = control.do;
        return made2;
      })
    );
  };
  view.onState((state) => {
    morph(picture, state.html);
    root.classList.toggle("labext-busy", state.busy);
    if (spoken.textContent !== state.spoken) spoken.textContent = state.spoken;
    buttons.setAttribute("aria-label", state.name);
    const now = JSON.stringify([state.controls, state.asked]);
    if (now === shown) return;
    shown = now;
    clearTimeout(timer);
    if (state.asked) wait(state.asked);
    else offer(state.controls);
  });
  return () => clearTimeout(timer);
}
function lowered(label) {
  return label.charAt(0).toLowerCase() + label.slice(1);
}

// js/views.js
var views = { answer, progress };

// js/bundles.js
var imported = /* @__PURE__ */ new Map();
async function drawing(model, found2) {
  const id = model.get("bundle");
  const among = id ? await bundle(id, found2) : views;
  return among[model.get("view")];
}
async function bundle(id, found2) {
  if (!imported.has(id)) imported.set(id, take(id, found2));
  try {
    return await imported.get(id);
  } catch (error) {
    imported.delete(id);
    throw error;
  }
}
async function take(id, found2) {
  const code = (await found2(id)).get("code");
  const address = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  try {
    return (await import(address)).views;
  } finally {
    URL.revokeObjectURL(address);
  }
}

// js/kernel.js
var GONE = /* @__PURE__ */ new Set(["restarting", "autorestarting", "terminating", "dead"]);
function kernelGone(manager, gone) {
  const kernel = manager?.kernel;
  if (!kernel?.statusChanged?.connect) return () => {
  };
  const onStatus = (_, status) => GONE.has(status) && gone();
  kernel.statusChanged.connect(onStatus);
  kernel.disposed?.connect(gone);
  return () => {
    kernel.statusChanged.disconnect(onStatus);
    kernel.disposed?.disconnect(gone);
  };
}

// js/handle.js
var Handle = class {
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
      Object.assign(this.state, change);
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
    this.#model.send(content, void 0, buffers);
  }
  /** Run `act`; an error ends the view, and the user and the kernel are told. */
  guard(act) {
    if (this.#ended) return;
    try {
      act();
    } catch (error) {
      console.error("[labext]", error);
      this.send({ kind: "error", message: String(error?.stack ?? error).slice(0, 4e3) });
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
};

// js/mount.js
var MOUNTED = "labext-mounted";
var Mount = class {
  node = document.createElement("div");
  host = null;
  lostAt = null;
  #handle;
  #view;
  #placeholder = null;
  #started = false;
  #failed = false;
  #end = null;
  #focused = null;
  #scrolled = /* @__PURE__ */ new Map();
  constructor(model, view) {
    this.#view = view;
    this.#handle = new Handle(model, (error) => this.#fail(error));
    this.node.className = "labext-live";
    this.node.dataset.lmSuppressShortcuts = "true";
    this.node.addEventListener("focusin", (event) => this.#focused = event.target);
    this.node.addEventListener("focusout", () => setTimeout(() => this.#forgetFocus()));
    this.node.addEventListener("scroll", (event) => this.#keepScroll(event.target), true);
    this.node.addEventListener("keydown", (event) => this.#leave(event));
  }
  into(element2) {
    this.#placeholder?.classList.remove(MOUNTED);
    this.#placeholder = element2;
    this.host = element2.parentElement;
    this.lostAt = null;
    const focused = this.#focused;
    element2.append(this.node);
    if (!this.#failed) element2.classList.add(MOUNTED);
    if (!this.#started) return this.#start();
    for (const [scrolled, [left, top]] of this.#scrolled) scrolled.scrollTo(left, top);
    if (focused && !this.node.contains(document.activeElement)) {
      focused.focus({ preventScroll: true });
    }
    this.#handle.guard(() => this.#end?.moved?.());
  }
  close() {
    this.#stop();
    this.node.remove();
    this.#placeholder?.classList.remove(MOUNTED);
  }
  #start() {
    this.#started = true;
    this.#handle.guard(() => {
      this.#end = this.#view(this.node, this.#handle) ?? null;
    });
  }
  #stop() {
    const end = this.#end;
    this.#end = null;
    this.#handle.dispose();
    try {
      if (typeof end === "function") end();
      else end?.unmount?.();
    } catch (error) {
      console.warn("[labext] a view could not be ended", error);
    }
  }
  #fail(error) {
    this.#failed = true;
    this.#stop();
    const words = `The live view failed (${error?.message ?? error}). The picture above keeps up.`;
    const said = Object.assign(document.createElement("div"), { textContent: words });
    said.className = "labext-failed";
    said.setAttribute("role", "alert");
    this.node.replaceChildren(said);
    this.#placeholder?.classList.remove(MOUNTED);
  }
  #forgetFocus() {
    if (this.node.isConnected && !this.node.contains(document.activeElement)) this.#focused = null;
  }
  #keepScroll(element2) {
    if (element2.isConnected) this.#scrolled.set(element2, [element2.scrollLeft, element2.scrollTop]);
  }
  /** Escape gives the keys back to the notebook. */
  #leave(event) {
    if (event.key !== "Escape" || event.defaultPrevented) return;
    const cell = this.node.closest(".jp-Cell, .jp-Notebook, [tabindex]");
    this.#focused = null;
    event.target.blur();
    cell?.focus({ preventScroll: true });
  }
};

// js/live.js
var GRACE = 5e3;
var Live = class {
  #model;
  #view;
  #class;
  #mounts = /* @__PURE__ */ new Map();
  // placeholder element -> Mount
  #timer = 0;
  constructor(model, view) {
    this.#model = model;
    this.#view = view;
    this.#class = model.get("target");
  }
  /** Whether a placeholder that had a view has left the page. */
  get adrift() {
    for (const element2 of this.#mounts.keys()) if (!element2.isConnected) return true;
    return false;
  }
  /** Mount where there is a new placeholder; where it took the place of another, move over. */
  scan() {
    for (const element2 of document.getElementsByClassName(this.#class)) {
      if (this.#mounts.has(element2) || element2.querySelector(":scope > .labext-live")) continue;
      const lost = this.#lost(element2.parentElement);
      const mount = lost ? this.#mounts.get(lost) : new Mount(this.#model, this.#view);
      if (lost) this.#mounts.delete(lost);
      this.#mounts.set(element2, mount);
      mount.into(element2);
    }
    this.#endLost();
  }
  close() {
    clearTimeout(this.#timer);
    for (const mount of this.#mounts.values()) mount.close();
    this.#mounts.clear();
  }
  /** The placeholder that left and was in `host`, or else any that left. */
  #lost(host) {
    let any = null;
    for (const [element2, mount] of this.#mounts) {
      if (element2.isConnected) continue;
      if (mount.host === host) return element2;
      any ??= element2;
    }
    return any;
  }
  #endLost() {
    const now = performance.now();
    let waiting = false;
    for (const [element2, mount] of this.#mounts) {
      if (element2.isConnected) {
        mount.lostAt = null;
      } else if (now - (mount.lostAt ??= now) >= GRACE) {
        mount.close();
        this.#mounts.delete(element2);
      } else {
        waiting = true;
      }
    }
    clearTimeout(this.#timer);
    if (waiting) this.#timer = setTimeout(() => this.#endLost(), GRACE);
  }
};

// js/style.css
var style_default = '.labext-mounted > :not(.labext-live) {\n  display: none !important;\n}\n\n.labext-live {\n  max-width: 700px;\n  color: var(--jp-content-font-color1, inherit);\n  font-family: var(--jp-content-font-family, system-ui, sans-serif);\n  font-size: 13px;\n  line-height: 1.6;\n}\n\n.labext-live .labext-bar > div {\n  transition:\n    flex-basis 0.4s ease-out,\n    background-color 0.4s ease-out;\n}\n\n.labext-live .labext-indeterminate > div {\n  background-size: 16.97px 100% !important; /* the period along the bar: 12px / sin 45° */\n  animation: labext-stripes 0.8s linear infinite;\n}\n\n@keyframes labext-stripes {\n  to {\n    background-position-x: 16.97px;\n  }\n}\n\n.labext-busy .labext-now > span {\n  animation: labext-breath 2.4s ease-in-out infinite;\n}\n\n@keyframes labext-breath {\n  50% {\n    opacity: 0.35;\n  }\n}\n\n.labext-buttons {\n  display: flex;\n  flex-wrap: wrap;\n  align-items: center;\n  gap: 6px 8px;\n  padding: 2px 0 6px;\n}\n\n.labext-buttons:empty {\n  display: none;\n}\n\n.labext-button {\n  font: inherit;\n  line-height: 1.5;\n  padding: 2px 10px;\n  color: var(--jp-ui-font-color1, #222);\n  background: var(--jp-layout-color1, #fff);\n  border: 1px solid var(--jp-border-color1, #bdbdbd);\n  border-radius: 4px;\n  cursor: pointer;\n}\n\n.labext-button:hover {\n  background: var(--jp-layout-color2, #eee);\n}\n\n.labext-button:focus-visible {\n  outline: 2px solid var(--jp-brand-color1, #1976d2);\n  outline-offset: 1px;\n}\n\n.labext-button.labext-warning {\n  color: var(--jp-error-color1, #d32f2f);\n  border-color: var(--jp-error-color1, #d32f2f);\n}\n\n.labext-cite {\n  font: inherit;\n  font-size: 11px;\n  font-variant-numeric: tabular-nums;\n  line-height: 16px;\n  min-width: 18px;\n  margin: 0 1px 0 3px;\n  padding: 0 4px;\n  vertical-align: 1px;\n  color: var(--jp-content-link-color, #1565c0);\n  background: var(--jp-layout-color2, #eee);\n  border: 1px solid var(--jp-border-color1, #bdbdbd);\n  border-radius: 8px;\n  cursor: pointer;\n}\n\n.labext-cite:hover,\n.labext-cite[aria-expanded="true"] {\n  border-color: currentcolor;\n}\n\n.labext-cite:focus-visible,\n.labext-live summary:focus-visible {\n  outline: 2px solid var(--jp-brand-color1, #1976d2);\n  outline-offset: 1px;\n}\n\n.labext-passage {\n  margin: 4px 0 8px;\n  padding: 4px 10px;\n  max-height: 320px;\n  overflow-y: auto;\n  background: var(--jp-layout-color1, #fff);\n  border: 1px solid var(--jp-border-color1, #bdbdbd);\n  border-radius: 4px;\n}\n\n.labext-passage > strong {\n  display: block;\n}\n\n.labext-passage > div {\n  margin: 2px 0 !important;\n  padding: 0 !important;\n}\n\n.labext-asked {\n  opacity: 0.7;\n  outline: none;\n}\n\n.labext-question {\n  flex-basis: 100%;\n}\n\n.labext-failed {\n  padding: 2px 8px;\n  border-left: 3px solid var(--jp-error-color1, #d32f2f);\n}\n\n.labext-spoken {\n  position: absolute;\n  width: 1px;\n  height: 1px;\n  overflow: hidden;\n  clip-path: inset(50%);\n  white-space: nowrap;\n}\n\n@media (prefers-reduced-motion: reduce) {\n  .labext-live .labext-bar > div {\n    transition: none;\n  }\n\n  .labext-live .labext-indeterminate > div,\n  .labext-busy .labext-now > span {\n    animation: none;\n  }\n}\n';

// js/style.js
function addStyle(id, css) {
  let style = document.getElementById(id);
  if (!style) {
    style = Object.assign(document.createElement("style"), { id });
    document.head.append(style);
  }
  if (style.textContent !== css) style.textContent = css;
}

// js/hub.js
var TRIES = 6;
var hub_default = {
  initialize({ model }) {
    addStyle("labext-style", style_default);
    const lives = /* @__PURE__ */ new Map();
    let open = true;
    const scan = () => {
      for (const live of lives.values()) live?.scan();
    };
    let frame = 0;
    const observer = new MutationObserver(() => {
      for (const live of lives.values()) if (live?.adrift) live.scan();
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        scan();
      });
    });
    const drop = (id) => {
      lives.get(id)?.close();
      lives.delete(id);
    };
    const follow = async () => {
      const wanted = new Set(model.get("views"));
      for (const id of lives.keys()) if (!wanted.has(id)) drop(id);
      for (const id of wanted) {
        if (lives.has(id)) continue;
        lives.set(id, null);
        const view = await found(model.widget_manager, id);
        const draw = view && await drawn(view);
        if (!open || !lives.has(id)) continue;
        if (!draw) {
          lives.delete(id);
          continue;
        }
        const live = new Live(view, draw);
        lives.set(id, live);
        view.on("comm:close", () => drop(id));
        view.on("comm_live_update", () => view.comm_live || drop(id));
        live.scan();
      }
    };
    const drawn = async (view) => {
      try {
        return await drawing(view, (id) => found(model.widget_manager, id));
      } catch (error) {
        console.error("[labext]", error);
        view.send({ kind: "error", message: String(error?.stack ?? error).slice(0, 4e3) });
        return null;
      }
    };
    const close = () => {
      open = false;
      observer.disconnect();
      cancelAnimationFrame(frame);
      for (const id of [...lives.keys()]) drop(id);
      forget();
    };
    const forget = kernelGone(model.widget_manager, close);
    observer.observe(document.body, { childList: true, subtree: true });
    model.on("change:views", follow);
    follow();
    return close;
  }
};
async function found(manager, id) {
  for (let tried = 0; tried < TRIES; tried++) {
    try {
      return await manager.get_model(id);
    } catch {
      await new Promise((wait) => setTimeout(wait, 500));
    }
  }
  return null;
}
export {
  hub_default as default
};
