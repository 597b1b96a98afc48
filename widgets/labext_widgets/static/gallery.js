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

// js/format.js
var formatNumber = (value) => value.toLocaleString("en");
var pluralize = (count, noun) => `${formatNumber(count)} ${noun}${count === 1 ? "" : "s"}`;

// js/gallery.css
var gallery_default = '.labext-live:has(> .labext-grid) {\n  max-width: 1200px;\n}\n\n.labext-grid {\n  display: grid;\n  grid-template-columns: repeat(auto-fill, minmax(min(220px, 100%), 1fr));\n  gap: 12px;\n  margin-top: 8px;\n}\n\n.labext-grid[aria-busy="true"] {\n  opacity: 0.6;\n}\n\n.labext-card {\n  min-width: 0;\n  padding: 8px;\n  border: 1px solid var(--jp-border-color2, #e0e0e0);\n  border-radius: 4px;\n}\n\n.labext-details {\n  min-height: 1.6em;\n  color: var(--labext-dim);\n  font-variant-numeric: tabular-nums;\n}\n\n.labext-card-picture {\n  position: relative;\n  height: 180px;\n  margin: 4px 0;\n  overflow: hidden;\n  background: #fff;\n  border-radius: 4px;\n  forced-color-adjust: none;\n}\n\n.labext-card-picture img {\n  width: 100%;\n  height: 100%;\n  object-fit: contain;\n}\n\n.labext-card-picture:has(canvas) {\n  background: var(--labext-ground);\n}\n\n.labext-card-picture:has(canvas) img {\n  visibility: hidden;\n}\n\n.labext-card-error {\n  color: var(--jp-error-color1, #d32f2f);\n  overflow-wrap: anywhere;\n}\n';

// js/style.js
function addStyle(id, css) {
  let style = document.getElementById(id);
  if (!style) {
    style = Object.assign(document.createElement("style"), { id });
    document.head.append(style);
  }
  if (style.textContent !== css) style.textContent = css;
}

// js/toolbar.css
var toolbar_default = '.labext-viewer [hidden] {\n  display: none;\n}\n\n.labext-toolbar,\n.labext-field,\n.labext-status-line {\n  display: flex;\n  flex-wrap: wrap;\n  align-items: center;\n  gap: 4px 8px;\n}\n\n.labext-toolbar {\n  gap: 6px 16px;\n}\n\n.labext-field {\n  flex-wrap: nowrap;\n  min-width: 0;\n}\n\n.labext-status-line {\n  min-height: 30px;\n  font-variant-numeric: tabular-nums;\n}\n\n.labext-status {\n  padding-left: 8px;\n  border-left: 1px solid var(--labext-rule);\n}\n\n.labext-status-line > .labext-status {\n  min-width: min(18em, 50%); /* what follows keeps its place */\n}\n\n.labext-input {\n  font: inherit;\n  min-width: 0;\n  box-sizing: border-box;\n  height: 26px;\n  padding: 2px 6px;\n  color: var(--labext-ink);\n  background: var(--jp-layout-color1, #fff);\n  border: 1px solid var(--labext-rule);\n  border-radius: 4px;\n}\n\n.labext-title {\n  overflow-wrap: anywhere;\n}\n\n.labext-button-group {\n  display: flex;\n}\n\n.labext-button-group .labext-button {\n  border-radius: 0;\n  margin-left: -1px;\n}\n\n.labext-button-group .labext-button:first-child {\n  border-radius: 4px 0 0 4px;\n  margin-left: 0;\n}\n\n.labext-button-group .labext-button:last-child {\n  border-radius: 0 4px 4px 0;\n}\n\n.labext-viewer .labext-button[aria-pressed="true"] {\n  color: var(--jp-ui-inverse-font-color1, #fff);\n  background: var(--labext-accent);\n  border-color: var(--labext-accent);\n}\n\n@media (forced-colors: active) {\n  .labext-viewer .labext-button[aria-pressed="true"] {\n    forced-color-adjust: none;\n    color: HighlightText;\n    background: Highlight;\n  }\n}\n\n.labext-viewer .labext-button:focus-visible {\n  z-index: 1;\n}\n\n.labext-zoom {\n  width: 90px;\n  accent-color: var(--labext-accent);\n}\n\n.labext-input:focus-visible {\n  outline: 2px solid var(--labext-accent);\n  outline-offset: 1px;\n}\n';

// js/toolbar.js
function createField(text, input) {
  const label = createElement("label", "labext-field");
  label.append(text, input);
  return label;
}
function createSelect(options, onChange) {
  const select = createElement("select", "labext-input");
  select.update = (options2) => {
    const selected = select.value;
    select.replaceChildren(
      ...options2.map(([value, text]) => createElement("option", "", { value }, text))
    );
    if (options2.some(([value]) => value === selected)) select.value = selected;
  };
  select.update(options);
  select.addEventListener("change", () => onChange(select.value));
  return select;
}
function createToolbar(root, ...controls) {
  addStyle("labext-toolbar-style", toolbar_default);
  root.classList.add("labext-viewer");
  const toolbar = createElement("div", "labext-toolbar");
  toolbar.append(...controls);
  return toolbar;
}
function createStatus() {
  return createElement("div", "labext-status", { role: "status", "aria-live": "polite" });
}

// js/gallery.js
var views = { gallery: (root, handle) => gallery(root, handle) };
function gallery(root, handle, mountCard = null) {
  addStyle("labext-gallery-style", gallery_default);
  let { state } = handle;
  const live = /* @__PURE__ */ new Map();
  const requested = /* @__PURE__ */ new Set();
  const visible = new IntersectionObserver(handle.guarded(onVisible), { threshold: 0.2 });
  const previous = createButton("‹ Previous", "Previous page", () => showPage(state.page - 1));
  const next = createButton("Next ›", "Next page", () => showPage(state.page + 1));
  const status = createStatus();
  const options = [["", "Batch order"], ...state.scores.map((score) => [score, score])];
  const sort = createSelect(options, handle.guarded(() => requestOrder(state.ascending)));
  const order = createButton("", "", () => handle.guard(() => requestOrder(!state.ascending)));
  const sortField = createField("Sort by", sort);
  const title = createElement("strong", "labext-title", {}, state.name);
  const toolbar = createToolbar(root, title, ...state.scores.length ? [sortField, order] : []);
  toolbar.append(previous, next, status);
  const grid = createElement("div", "labext-grid", { role: "list", "aria-label": state.name });
  root.classList.add("labext-gallery");
  root.append(toolbar, grid);
  function request(message) {
    grid.setAttribute("aria-busy", "true");
    handle.send(message);
  }
  function requestOrder(ascending) {
    request({ do: "sort", score: sort.value, ascending });
  }
  function showPage(page) {
    handle.guard(() => request({ do: "page", page }));
  }
  function render(newState) {
    const focused = grid.contains(document.activeElement) ? state.cards[document.activeElement.closest(".labext-card").dataset.index].name : null;
    state = newState;
    endAll();
    grid.removeAttribute("aria-busy");
    setDisabled(previous, state.page <= 1);
    setDisabled(next, state.page >= state.pages);
    previous.hidden = next.hidden = state.pages <= 1;
    sort.value = state.sort;
    order.hidden = !state.sort;
    order.textContent = state.ascending ? "↑ Lowest first" : "↓ Highest first";
    order.setAttribute("aria-label", `${order.textContent.slice(2)}; reverse the order`);
    const jobs = pluralize(state.count, "job");
    status.textContent = state.pages > 1 ? `Page ${state.page} of ${state.pages}, ${jobs}` : jobs;
    grid.replaceChildren(...state.cards.map(createCard));
    if (focused !== null) {
      const index = state.cards.findIndex(({ name }) => name === focused);
      grid.children[Math.max(index, 0)].querySelector("button")?.focus({ preventScroll: true });
    }
    for (const [index, card] of [...grid.children].entries()) {
      if (mountCard && state.cards[index].loads) visible.observe(card);
    }
  }
  function createCard({ name, details, picture, alt, error }, index) {
    const card = createElement("div", "labext-card", { role: "listitem" });
    card.dataset.index = index;
    card.append(createElement("strong", "labext-title", {}, name));
    card.append(createElement("div", "labext-details", {}, details));
    if (error) {
      card.append(createElement("div", "labext-card-error", {}, error));
      return card;
    }
    const frame = createElement("div", "labext-card-picture");
    frame.append(createElement("img", "", { src: picture, alt }));
    const open = createButton(
      "Open",
      `Open ${name} below`,
      () => handle.guard(() => {
        revealOutputBelow();
        handle.send({ do: "open", name });
      })
    );
    card.append(frame, open);
    return card;
  }
  function revealOutputBelow() {
    const below = root.closest(".jp-OutputArea-child")?.nextElementSibling;
    const observer = new MutationObserver(() => {
      observer.disconnect();
      requestAnimationFrame(() => below.scrollIntoView({ block: "nearest" }));
    });
    if (below) observer.observe(below, { childList: true, subtree: true });
  }
  function onVisible(entries) {
    for (const { target, isIntersecting } of entries) {
      const index = Number(target.dataset.index);
      if (!isIntersecting) end(index);
      else if (!live.has(index) && !requested.has(index)) {
        requested.add(index);
        handle.send({ do: "load", index, page: state.page, sort: state.sort });
      }
    }
  }
  function end(index) {
    requested.delete(index);
    live.get(index)?.();
    live.delete(index);
  }
  function endAll() {
    visible.disconnect();
    for (const index of [...live.keys()]) end(index);
    requested.clear();
  }
  handle.onMessage(({ loaded }, buffers) => {
    if (!loaded || !requested.has(loaded.index) || live.has(loaded.index)) return;
    if (loaded.page !== state.page || loaded.sort !== state.sort) return;
    const frame = grid.children[loaded.index].querySelector(".labext-card-picture");
    live.set(loaded.index, mountCard(frame, { ...loaded.state, content: buffers[0] }));
  });
  handle.onState(render);
  return endAll;
}
export {
  gallery,
  views
};
