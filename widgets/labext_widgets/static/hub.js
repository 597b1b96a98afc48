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
function setDisabled(button, disabled) {
  button.setAttribute("aria-disabled", String(disabled));
}
function focusCell(element) {
  element.closest(".jp-Cell, .jp-Notebook, [tabindex]")?.focus({ preventScroll: true });
}

// js/morph.js
function morph(element, html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  morphChildren(element, template.content);
}
function morphChildren(node, target) {
  const children = [...target.childNodes];
  children.forEach((child, i) => {
    const current = node.childNodes[i];
    if (!current) node.append(child);
    else if (current.nodeName !== child.nodeName) current.replaceWith(child);
    else if (current.nodeType === Node.TEXT_NODE) {
      if (current.data !== child.data) current.data = child.data;
    } else {
      morphAttributes(current, child);
      morphChildren(current, child);
    }
  });
  while (node.childNodes.length > children.length) node.lastChild.remove();
}
function morphAttributes(node, target) {
  for (const { name } of [...node.attributes]) {
    if (!target.hasAttribute(name)) node.removeAttribute(name);
  }
  for (const { name, value } of target.attributes) {
    if (node.getAttribute(name) !== value) node.setAttribute(name, value);
  }
}

// js/answer.js
var MARK = ".labext-cite";
var CITATION = ".labext-citation";
var OPEN = ".labext-open";
var passageCount = 0;
function answer(root, handle) {
  const content = createElement("div");
  const attributes = { role: "status", "aria-live": "polite" };
  const announcement = createElement("div", "labext-visually-hidden", attributes);
  root.append(content, announcement);
  const id = `labext-passage-${++passageCount}`;
  const passage = createElement("div", "labext-passage", { id });
  let openIndex = -1;
  let complete = false;
  const marks = () => [...content.querySelectorAll(MARK)];
  const citations = () => [...content.querySelectorAll(CITATION)];
  const closePassage = () => {
    passage.remove();
    const mark = marks()[openIndex];
    mark?.setAttribute("aria-expanded", "false");
    mark?.removeAttribute("aria-controls");
    openIndex = -1;
    return mark;
  };
  const openPassage = (index) => {
    const mark = marks()[index];
    const citation = citations()[Number(mark?.textContent) - 1];
    if (!citation) return;
    openIndex = index;
    const title = createElement("strong", "", {}, citation.querySelector("summary").textContent);
    const body = [...citation.children].slice(1).map((child) => child.cloneNode(true));
    passage.replaceChildren(title, ...body);
    mark.setAttribute("aria-expanded", "true");
    mark.setAttribute("aria-controls", id);
    const block = mark.closest("li, p, pre, table");
    if (block.matches("li")) block.append(passage);
    else block.after(passage);
  };
  content.addEventListener("click", (event) => {
    const index = marks().indexOf(event.target.closest(MARK));
    if (index < 0) return;
    const previous = openIndex;
    closePassage();
    if (index !== previous) openPassage(index);
  });
  const togglePage = (button) => {
    const container = button.parentElement;
    const isOpen = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!isOpen));
    container.querySelector(".labext-page")?.remove();
    if (isOpen) return;
    const attributes2 = { "data-citation": button.value, role: "status" };
    container.append(createElement("div", "labext-page", attributes2, "Opening…"));
    handle.send({ do: "open", citation: Number(button.value) });
  };
  content.addEventListener(
    "click",
    handle.guarded((event) => {
      const button = event.target.closest(OPEN);
      if (button) togglePage(button);
    })
  );
  handle.onMessage(({ opened, html }) => {
    for (const page of content.querySelectorAll(`.labext-page[data-citation="${opened}"]`)) {
      page.removeAttribute("role");
      morph(page, html);
    }
  });
  content.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || openIndex < 0) return;
    event.preventDefault();
    closePassage()?.focus({ preventScroll: true });
  });
  handle.onState((state) => {
    const streaming = state.complete === complete;
    const previous = streaming ? openIndex : -1;
    const expanded = streaming ? citations().map((citation) => citation.open) : [];
    const focused = content.contains(document.activeElement);
    closePassage();
    if (!streaming) content.replaceChildren();
    complete = state.complete;
    morph(content, state.html);
    citations().forEach((citation, i) => citation.open = expanded[i] ?? false);
    if (previous >= 0) openPassage(previous);
    if (focused && !content.contains(document.activeElement)) focusCell(root);
    root.classList.toggle("labext-busy", state.busy);
    if (announcement.textContent !== state.announcement) {
      announcement.textContent = state.announcement;
    }
  });
}

// js/document.js
function sourcePages(root, handle) {
  let requested = handle.state.page;
  const go = handle.guarded((page) => {
    const target = Math.min(Math.max(Math.round(page), 1), handle.state.pages);
    if (!target || target === requested) return update();
    requested = target;
    root.setAttribute("aria-busy", "true");
    handle.send({ do: "page", page: target });
    update();
  });
  const previous = createButton("‹ Previous", "Previous page", () => go(requested - 1));
  const next = createButton("Next ›", "Next page", () => go(requested + 1));
  const number = createElement("input", "labext-page-number", {
    type: "number",
    min: "1",
    max: String(handle.state.pages),
    "aria-label": `Page, of ${handle.state.pages}`
  });
  let typing = false;
  const goToTyped = () => {
    typing = false;
    go(number.valueAsNumber);
  };
  number.addEventListener("input", () => typing = true);
  number.addEventListener("change", goToTyped);
  number.addEventListener("keydown", (event) => {
    if (event.key === "Enter") goToTyped();
  });
  const status = createElement("span", "", { role: "status", "aria-live": "polite" });
  const spokenPage = createElement("span", "labext-visually-hidden");
  const count = createElement("span");
  status.append(spokenPage, count);
  const toolbar = createElement("div", "labext-buttons", { role: "toolbar", "aria-label": "Pages" });
  toolbar.append(previous, number, status, next);
  const content = createElement("div");
  root.append(toolbar, content);
  root.addEventListener("keydown", (event) => {
    const step = { PageUp: -1, PageDown: 1 }[event.key];
    if (!step || content.contains(event.target.closest("[role=region]"))) return;
    event.preventDefault();
    typing = false;
    go(requested + step);
  });
  function update() {
    const { pages } = handle.state;
    setDisabled(previous, requested <= 1);
    setDisabled(next, requested >= pages);
    if (!typing) number.value = String(requested);
  }
  handle.onChange(() => {
    const { page, pages, html, error } = handle.state;
    if (page === requested || error) root.removeAttribute("aria-busy");
    if (error || !root.hasAttribute("aria-busy")) requested = page;
    spokenPage.textContent = error ? "" : `Page ${page} `;
    count.textContent = error || `of ${pages}`;
    const open = content.querySelector("details")?.open ?? false;
    morph(content, html);
    const folded = content.querySelector("details");
    if (folded) folded.open = open;
    update();
  });
}

// js/progress.js
var BUSY_AFTER = 3e3;
function progress(root, handle) {
  const content = createElement("div");
  const buttons = createElement("div", "labext-buttons", { role: "group" });
  const attributes = { role: "status", "aria-live": "polite" };
  const announcement = createElement("div", "labext-visually-hidden", attributes);
  root.append(content, buttons, announcement);
  let rendered = null;
  let timer = 0;
  const send = (control) => {
    handle.send({ do: control.do });
    showPending(`${control.label}…`);
    timer = setTimeout(() => {
      showPending(`${control.label}: waiting for the kernel, which is running a cell.`);
    }, BUSY_AFTER);
  };
  const replaceButtons = (...elements) => {
    const focused = buttons.contains(document.activeElement);
    buttons.replaceChildren(...elements);
    if (!focused) return;
    if (elements.length) elements[0].focus({ preventScroll: true });
    else focusCell(root);
  };
  const showPending = (text) => {
    const attributes2 = { role: "status", tabindex: "-1" };
    replaceButtons(createElement("span", "labext-pending", attributes2, text));
  };
  const confirm = (control) => {
    const cancel = () => {
      showControls(handle.state.controls);
      buttons.querySelector(`[data-do="${CSS.escape(control.do)}"]`)?.focus();
    };
    const question = createElement("span", "labext-question", {}, control.question);
    const yes = createButton(control.label, control.description, () => send(control));
    const no = createButton("Keep running", `Do not ${lowerFirst(control.label)}`, cancel);
    yes.classList.add("labext-warning");
    buttons.replaceChildren(question, yes, no);
    buttons.onkeydown = (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      cancel();
    };
    no.focus();
  };
  const showControls = (controls) => {
    buttons.onkeydown = null;
    replaceButtons(
      ...controls.map((control) => {
        const onClick = () => control.question ? confirm(control) : send(control);
        const label = control.question ? `${control.label}…` : control.label;
        const button = createButton(label, control.description, onClick);
        button.dataset.do = control.do;
        return button;
      })
    );
  };
  handle.onState((state) => {
    morph(content, state.html);
    root.classList.toggle("labext-busy", state.busy);
    if (announcement.textContent !== state.announcement) {
      announcement.textContent = state.announcement;
    }
    buttons.setAttribute("aria-label", state.name);
    const current = JSON.stringify([state.controls, state.pending]);
    if (current === rendered) return;
    rendered = current;
    clearTimeout(timer);
    if (state.pending) showPending(state.pending);
    else showControls(state.controls);
  });
  return () => clearTimeout(timer);
}
function lowerFirst(label) {
  return label.charAt(0).toLowerCase() + label.slice(1);
}

// js/views.js
var views = { answer, document: sourcePages, progress };

// js/bundles.js
var imports = /* @__PURE__ */ new Map();
async function resolveRender(model, getModel2) {
  const id = model.get("bundle");
  const available = id ? await importBundle(id, getModel2) : views;
  const name = model.get("view");
  if (!available?.[name]) throw new Error(`there is no view ${name}`);
  return available[name];
}
async function importBundle(id, getModel2) {
  if (!imports.has(id)) imports.set(id, importCode(id, getModel2));
  try {
    return await imports.get(id);
  } catch (error) {
    imports.delete(id);
    throw error;
  }
}
async function importCode(id, getModel2) {
  const code = (await getModel2(id))?.get("code");
  if (!code) throw new Error("its code has not arrived");
  const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  try {
    return (await import(url)).views;
  } finally {
    URL.revokeObjectURL(url);
  }
}

// js/kernel_status.js
var GONE = /* @__PURE__ */ new Set(["restarting", "autorestarting", "terminating", "dead"]);
function onKernelGone(manager, callback) {
  const kernel = manager?.kernel;
  if (!kernel?.statusChanged?.connect) return () => {
  };
  const onStatus = (_, status) => GONE.has(status) && callback();
  kernel.statusChanged.connect(onStatus);
  kernel.disposed?.connect(callback);
  return () => {
    kernel.statusChanged.disconnect(onStatus);
    kernel.disposed?.disconnect(callback);
  };
}

// js/handle.js
function lastChange(model) {
  const { parts, last } = model.get("changes");
  return Object.fromEntries(last.map((name) => [name, parts[name]]));
}
var Handle = class {
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
    this.#model.send(content, void 0, buffers);
  }
  /** Run `callback`; an error closes the view and is reported to the user and the kernel. */
  guard(callback) {
    if (this.#disposed) return;
    try {
      callback();
    } catch (error) {
      console.error("[labext]", error);
      this.send({ kind: "error", message: String(error?.stack ?? error).slice(0, 4e3) });
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
};

// js/mount.js
var MOUNTED = "labext-mounted";
function reserveKey({ target, key, ctrlKey, metaKey, altKey }) {
  if (!target.closest?.(".labext-live")) return;
  const isField = target.matches("input, select");
  const isForNotebook = (ctrlKey || metaKey || altKey) && (isField ? key === "s" : key !== "a");
  target.toggleAttribute("data-lm-suppress-shortcuts", !isForNotebook);
}
var Mount = class {
  element = createElement("div", "labext-live");
  host = null;
  removedAt = null;
  #handle;
  #render;
  #placeholder = null;
  #rendered = false;
  #failed = false;
  #cleanup = null;
  // what the view returned
  #focused = null;
  #scrollPositions = /* @__PURE__ */ new Map();
  constructor(model, render) {
    this.#render = render;
    this.#handle = new Handle(model, (error) => this.#fail(error));
    this.element.addEventListener("focusin", (event) => this.#focused = event.target);
    this.element.addEventListener("focusout", () => setTimeout(() => this.#forgetFocus()));
    this.element.addEventListener("scroll", (event) => this.#saveScroll(event.target), true);
    this.element.addEventListener("keydown", (event) => this.#leaveOnEscape(event));
  }
  moveTo(placeholder) {
    this.#placeholder?.classList.remove(MOUNTED);
    this.#placeholder = placeholder;
    this.host = placeholder.parentElement;
    this.removedAt = null;
    const focused = this.#focused;
    placeholder.append(this.element);
    if (!this.#failed) placeholder.classList.add(MOUNTED);
    if (!this.#rendered) return this.#renderOnce();
    for (const [scrolled, [left, top]] of this.#scrollPositions) scrolled.scrollTo(left, top);
    if (focused && !this.element.contains(document.activeElement)) {
      focused.focus({ preventScroll: true });
    }
  }
  close() {
    this.#dispose();
    if (this.element.contains(document.activeElement)) focusCell(this.element);
    this.element.remove();
    this.#placeholder?.classList.remove(MOUNTED);
  }
  #renderOnce() {
    this.#rendered = true;
    this.#handle.guard(() => {
      this.#cleanup = this.#render(this.element, this.#handle) ?? null;
    });
  }
  #dispose() {
    const cleanup = this.#cleanup;
    this.#cleanup = null;
    this.#handle.dispose();
    try {
      cleanup?.();
    } catch (error) {
      console.warn("[labext] the cleanup of a view failed", error);
    }
  }
  #fail(error) {
    this.#failed = true;
    this.#dispose();
    const message = `The live view failed (${error?.message ?? error}). The static view above is still updated.`;
    this.element.replaceChildren(createElement("div", "labext-failed", { role: "alert" }, message));
    this.#placeholder?.classList.remove(MOUNTED);
  }
  #forgetFocus() {
    if (this.element.isConnected && !this.element.contains(document.activeElement)) {
      this.#focused = null;
    }
  }
  #saveScroll(element) {
    if (!element.isConnected) return;
    this.#scrollPositions.set(element, [element.scrollLeft, element.scrollTop]);
  }
  /** Return the focus to the notebook. */
  #leaveOnEscape(event) {
    if (event.key !== "Escape" || event.defaultPrevented) return;
    this.#focused = null;
    event.target.blur();
    focusCell(this.element);
  }
};

// js/live_view.js
var GRACE_PERIOD = 5e3;
var LiveView = class {
  #model;
  #render;
  #className;
  #mounts = /* @__PURE__ */ new Map();
  // placeholder element -> Mount
  #timer = 0;
  constructor(model, render) {
    this.#model = model;
    this.#render = render;
    this.#className = model.get("target");
    Object.assign(model.get("state"), model.get("changes").parts);
    model.on("change:changes", () => Object.assign(model.get("state"), lastChange(model)));
  }
  /** True if a placeholder with this view has been removed from the page. */
  get detached() {
    for (const element of this.#mounts.keys()) if (!element.isConnected) return true;
    return false;
  }
  /** Mount the view in new placeholders; move it where a placeholder was replaced. */
  scan() {
    for (const element of document.getElementsByClassName(this.#className)) {
      if (this.#mounts.has(element) || element.querySelector(":scope > .labext-live")) continue;
      const removed = this.#findRemoved(element.parentElement);
      const mount = removed ? this.#mounts.get(removed) : new Mount(this.#model, this.#render);
      if (removed) this.#mounts.delete(removed);
      this.#mounts.set(element, mount);
      mount.moveTo(element);
    }
    this.#closeExpired();
  }
  close() {
    clearTimeout(this.#timer);
    for (const mount of this.#mounts.values()) mount.close();
    this.#mounts.clear();
    for (const data of [this.#model.get("state"), this.#model.get("changes").parts ?? {}]) {
      for (const name of Object.keys(data)) delete data[name];
    }
  }
  /** Return a removed placeholder, preferably one that was in `host`. */
  #findRemoved(host) {
    let removed = null;
    for (const [element, mount] of this.#mounts) {
      if (element.isConnected) continue;
      if (mount.host === host) return element;
      removed ??= element;
    }
    return removed;
  }
  #closeExpired() {
    const now = performance.now();
    let waiting = false;
    for (const [element, mount] of this.#mounts) {
      if (element.isConnected) {
        mount.removedAt = null;
      } else if (now - (mount.removedAt ??= now) >= GRACE_PERIOD) {
        mount.close();
        this.#mounts.delete(element);
      } else {
        waiting = true;
      }
    }
    clearTimeout(this.#timer);
    if (waiting) this.#timer = setTimeout(() => this.#closeExpired(), GRACE_PERIOD);
  }
};

// js/saved_output.js
var PATIENCE = 5e3;
var SavedOutputs = class {
  #notebook;
  #messages;
  #updates = /* @__PURE__ */ new Map();
  // name of a display -> its last update, which another page may apply
  constructor(manager) {
    this.#notebook = manager?.context?.model;
    this.#messages = manager?.kernel?.iopubMessage;
    this.#messages?.connect?.(this.#onMessage);
  }
  /**
   * Replace the output of a display.
   *
   * An output that two pages of a shared notebook replace at the same time is doubled. Therefore the
   * page in which the cell ran replaces it, and another one only if that does not happen.
   */
  replace(name, content) {
    if (!this.#notebook?.collaborative) return this.#replaceNow(name, content);
    if (!this.#updates.has(name)) this.#wait(name, this.#savedHtml(name));
    this.#updates.set(name, content);
  }
  /** Stop following the messages of the kernel. */
  close() {
    this.#messages?.disconnect?.(this.#onMessage);
  }
  #onMessage = (_, { header, content }) => {
    const name = header.msg_type === "update_display_data" && content.transient?.display_id;
    if (name && name.startsWith("labext-")) this.replace(name, content);
  };
  /** Apply the last update of a display once no other page has replaced its output for a while. */
  #wait(name, before) {
    const { awareness } = this.#notebook.sharedModel;
    const rank = [...awareness.getStates().keys()].sort().indexOf(awareness.clientID);
    const apply = () => {
      if (this.#notebook.isDisposed) return;
      const now = this.#savedHtml(name);
      if (now !== before) return this.#wait(name, now);
      this.#replaceNow(name, this.#updates.get(name));
      this.#updates.delete(name);
    };
    setTimeout(apply, PATIENCE * (1 + rank));
  }
  #replaceNow(name, { data, metadata = {} }) {
    for (const [outputs, index, html] of this.#outputs(name)) {
      if (html === data["text/html"]) continue;
      outputs.set(index, { output_type: "display_data", data, metadata });
    }
  }
  #savedHtml(name) {
    for (const [, , html] of this.#outputs(name)) return html;
  }
  *#outputs(name) {
    for (const { outputs, sharedModel } of this.#notebook?.cells ?? []) {
      for (let index = 0; index < (outputs?.length ?? 0); index++) {
        const html = outputHtml(outputs.get(index));
        if (!html.slice(0, html.indexOf(">")).includes(name)) continue;
        if (html === outputHtml(sharedModel.outputs[index])) yield [outputs, index, html];
      }
    }
  }
};
function outputHtml(output) {
  const html = output?.data?.["text/html"] ?? "";
  return Array.isArray(html) ? html.join("") : String(html);
}

// js/style.css
var style_default = '.labext-mounted > :not(.labext-live) {\n  display: none !important;\n}\n\n.labext-live {\n  --labext-ink: var(--jp-content-font-color1, #222);\n  --labext-dim: var(--jp-content-font-color2, #666);\n  --labext-accent: var(--jp-brand-color1, #1976d2);\n  --labext-rule: var(--jp-border-color1, #bdbdbd);\n  --labext-ground: var(--jp-layout-color0, #fff);\n  max-width: 700px;\n  color: var(--jp-content-font-color1, inherit);\n  font-family: var(--jp-content-font-family, system-ui, sans-serif);\n  font-size: 13px;\n  line-height: 1.6;\n}\n\n@media (forced-colors: active) {\n  .labext-live {\n    --labext-ink: CanvasText;\n    --labext-dim: CanvasText;\n    --labext-accent: Highlight;\n    --labext-rule: CanvasText;\n    --labext-ground: Canvas;\n  }\n}\n\n.labext-live .labext-bar > div {\n  transition:\n    flex-basis 0.4s ease-out,\n    background-color 0.4s ease-out;\n}\n\n.labext-live .labext-indeterminate > div {\n  background-size: 16.97px 100% !important; /* the period along the bar: 12px / sin 45° */\n  animation: labext-stripes 0.8s linear infinite;\n}\n\n@keyframes labext-stripes {\n  to {\n    background-position-x: 16.97px;\n  }\n}\n\n.labext-busy .labext-phase > span {\n  animation: labext-pulse 2.4s ease-in-out infinite;\n}\n\n@keyframes labext-pulse {\n  50% {\n    opacity: 0.35;\n  }\n}\n\n.labext-buttons {\n  display: flex;\n  flex-wrap: wrap;\n  align-items: center;\n  gap: 6px 8px;\n  padding: 2px 0 6px;\n}\n\n.labext-buttons:empty {\n  display: none;\n}\n\n.labext-button,\n.labext-page-number {\n  font: inherit;\n  color: var(--jp-ui-font-color1, #222);\n  background: var(--jp-layout-color1, #fff);\n  border: 1px solid var(--jp-border-color1, #bdbdbd);\n  border-radius: 4px;\n}\n\n.labext-button {\n  line-height: 1.5;\n  padding: 2px 10px;\n  cursor: pointer;\n}\n\n.labext-button:hover {\n  background: var(--jp-layout-color2, #eee);\n}\n\n.labext-button:focus-visible,\n.labext-page-number:focus-visible,\n.labext-cite:focus-visible,\n.labext-live summary:focus-visible {\n  outline: 2px solid var(--jp-brand-color1, #1976d2);\n  outline-offset: 1px;\n}\n\n.labext-button.labext-warning {\n  color: var(--jp-error-color1, #d32f2f);\n  border-color: var(--jp-error-color1, #d32f2f);\n}\n\n.labext-button[aria-disabled="true"] {\n  opacity: 0.5;\n  cursor: default;\n}\n\n.labext-page-number {\n  width: 5em;\n  padding: 2px 4px;\n}\n\n.labext-live[aria-busy="true"] img {\n  opacity: 0.5;\n}\n\n.labext-cite {\n  font: inherit;\n  font-size: 11px;\n  font-variant-numeric: tabular-nums;\n  line-height: 16px;\n  min-width: 18px;\n  margin: 0 1px 0 3px;\n  padding: 0 4px;\n  vertical-align: 1px;\n  color: var(--jp-content-link-color, #1565c0);\n  background: var(--jp-layout-color2, #eee);\n  border: 1px solid var(--jp-border-color1, #bdbdbd);\n  border-radius: 8px;\n  cursor: pointer;\n}\n\n.labext-cite:hover,\n.labext-cite[aria-expanded="true"] {\n  border-color: currentcolor;\n}\n\n.labext-passage {\n  margin: 4px 0 8px;\n  padding: 4px 10px;\n  max-height: 320px;\n  overflow-y: auto;\n  background: var(--jp-layout-color1, #fff);\n  border: 1px solid var(--jp-border-color1, #bdbdbd);\n  border-radius: 4px;\n}\n\n.labext-page {\n  margin: 6px 0;\n}\n\n.labext-passage:has(.labext-page) {\n  max-height: none;\n}\n\n.labext-passage > strong {\n  display: block;\n}\n\n.labext-passage > div {\n  margin: 2px 0 !important;\n  padding: 0 !important;\n}\n\n.labext-pending {\n  opacity: 0.7;\n  outline: none;\n}\n\n.labext-question {\n  flex-basis: 100%;\n}\n\n.labext-failed {\n  padding: 2px 8px;\n  border-left: 3px solid var(--jp-error-color1, #d32f2f);\n}\n\n.labext-visually-hidden {\n  position: absolute;\n  width: 1px;\n  height: 1px;\n  overflow: hidden;\n  clip-path: inset(50%);\n  white-space: nowrap;\n}\n\n@media (prefers-reduced-motion: reduce) {\n  .labext-live .labext-bar > div {\n    transition: none;\n  }\n\n  .labext-live .labext-indeterminate > div,\n  .labext-busy .labext-phase > span {\n    animation: none;\n  }\n}\n';

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
var ATTEMPTS = 6;
var RETRY_DELAY = 500;
var hub_default = {
  initialize({ model }) {
    addStyle("labext-style", style_default);
    const liveViews = /* @__PURE__ */ new Map();
    let open = true;
    const scan = () => {
      for (const liveView of liveViews.values()) liveView?.scan();
    };
    let frame = 0;
    const observer = new MutationObserver(() => {
      for (const liveView of liveViews.values()) if (liveView?.detached) liveView.scan();
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        scan();
      });
    });
    const remove = (id) => {
      liveViews.get(id)?.close();
      liveViews.delete(id);
    };
    const update = async () => {
      const ids = new Set(model.get("views"));
      for (const id of liveViews.keys()) if (!ids.has(id)) remove(id);
      for (const id of ids) {
        if (liveViews.has(id)) continue;
        liveViews.set(id, null);
        const view = await getModel(model.widget_manager, id);
        const render = view && await load(view);
        if (!open || !liveViews.has(id)) continue;
        if (!render) {
          liveViews.delete(id);
          continue;
        }
        const liveView = new LiveView(view, render);
        liveViews.set(id, liveView);
        view.on("comm:close", () => remove(id));
        view.on("comm_live_update", () => view.comm_live || remove(id));
        liveView.scan();
        view.send({ kind: "loaded" });
      }
    };
    const load = async (view) => {
      try {
        return await resolveRender(view, (id) => getModel(model.widget_manager, id));
      } catch (error) {
        return () => {
          throw error;
        };
      }
    };
    const reportRemoved = (deleted) => {
      const cells = [...model.widget_manager?.context?.model?.cells ?? []].map(({ id }) => id);
      model.send({ removed: deleted.filter((id) => !cells.includes(id)) });
    };
    const onMessage = ({ deleted, updated }) => {
      if (deleted) reportRemoved(deleted);
      if (updated) savedOutputs.replace(updated.name, updated);
    };
    const close = () => {
      open = false;
      observer.disconnect();
      removeEventListener("keydown", reserveKey, true);
      cancelAnimationFrame(frame);
      for (const id of [...liveViews.keys()]) remove(id);
      unsubscribe();
      savedOutputs.close();
    };
    const unsubscribe = onKernelGone(model.widget_manager, close);
    const savedOutputs = new SavedOutputs(model.widget_manager);
    observer.observe(document.body, { childList: true, subtree: true });
    addEventListener("keydown", reserveKey, true);
    model.on("change:views", update);
    model.on("msg:custom", onMessage);
    update();
    return close;
  }
};
async function getModel(manager, id) {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    try {
      return await manager.get_model(id);
    } catch {
      await new Promise((resolve) => setTimeout(resolve, RETRY_DELAY));
    }
  }
  return null;
}
export {
  hub_default as default
};
