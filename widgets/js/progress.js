// Progress rendered by Python, updated node by node so that bars grow smoothly, with buttons below.
//
// state: {name, html, announcement, busy, pending, controls: [{do, label, description, question}]}

import { createButton, createElement, focusCell } from "./dom.js";
import { morph } from "./morph.js";

const BUSY_AFTER = 3000; // ms without a response after which the kernel is presumed busy

export function progress(root, handle) {
  const content = createElement("div");
  const buttons = createElement("div", "labext-buttons", { role: "group" });
  const attributes = { role: "status", "aria-live": "polite" };
  const announcement = createElement("div", "labext-visually-hidden", attributes);
  root.append(content, buttons, announcement);

  let rendered = null; // the rendered controls as JSON
  let timer = 0;

  const send = (control) => {
    handle.send({ do: control.do });
    showPending(`${control.label}…`);
    timer = setTimeout(() => {
      showPending(`${control.label}: waiting for the kernel, which is running a cell.`);
    }, BUSY_AFTER);
  };

  /** Replace the buttons; if one had the focus, its replacement gets it, or else the cell. */
  const replaceButtons = (...elements) => {
    const focused = buttons.contains(document.activeElement);
    buttons.replaceChildren(...elements);
    if (!focused) return;
    if (elements.length) elements[0].focus({ preventScroll: true });
    else focusCell(root);
  };

  const showPending = (text) => {
    const attributes = { role: "status", tabindex: "-1" };
    replaceButtons(createElement("span", "labext-pending", attributes, text));
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
        const onClick = () => (control.question ? confirm(control) : send(control));
        const label = control.question ? `${control.label}…` : control.label;
        const button = createButton(label, control.description, onClick);
        button.dataset.do = control.do;
        return button;
      }),
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
