// A gallery of the jobs of a batch: cards with pictures, sorted and paged by the kernel.
//
// state: {name, count, page, pages, scores: [name], sort, ascending, cards: [{name, details, picture, alt,
// error, loads}]}; `loads` is true for a card that can be drawn live.

import { createButton, createElement, setDisabled } from "./dom.js";
import { pluralize } from "./format.js";
import css from "./gallery.css";
import { addStyle } from "./style.js";
import { createField, createSelect, createStatus, createToolbar } from "./toolbar.js";

export const views = { gallery: (root, handle) => gallery(root, handle) };

/** `mountCard(element, state)` draws a card live and returns a function that ends that. */
export function gallery(root, handle, mountCard = null) {
  addStyle("labext-gallery-style", css);
  let { state } = handle;
  const live = new Map(); // index of a card -> function that ends it
  const requested = new Set();
  const visible = new IntersectionObserver(handle.guarded(onVisible), { threshold: 0.2 });
  const previous = createButton("‹ Previous", "Previous page", () => showPage(state.page - 1));
  const next = createButton("Next ›", "Next page", () => showPage(state.page + 1));
  const status = createStatus();
  const options = [["", "Batch order"], ...state.scores.map((score) => [score, score])];
  const sort = createSelect(options, handle.guarded(() => requestOrder(state.ascending)));
  const order = createButton("", "", () => handle.guard(() => requestOrder(!state.ascending)));
  const sortField = createField("Sort by", sort);
  const title = createElement("strong", "labext-title", {}, state.name);
  const toolbar = createToolbar(root, title, ...(state.scores.length ? [sortField, order] : []));
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
    const focused = grid.contains(document.activeElement)
      ? state.cards[document.activeElement.closest(".labext-card").dataset.index].name
      : null;
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
    const open = createButton("Open", `Open ${name} below`, () =>
      handle.guard(() => {
        revealOutputBelow();
        handle.send({ do: "open", name });
      }),
    );
    card.append(frame, open);
    return card;
  }

  /** Scroll the output below the gallery into view, once the kernel has changed it. */
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
