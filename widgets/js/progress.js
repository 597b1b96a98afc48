// A picture that Python draws, followed piece by piece so that it moves calmly, with buttons below.
//
// state: {name, html, spoken, busy, asked, controls: [{do, label, description, question}]}

import { button, element } from "./dom.js";
import { morph } from "./morph.js";

const PATIENCE = 3000; // ms after which a click that had no answer says what it waits for

export function progress(root, view) {
  const picture = element("div", "labext-picture");
  const buttons = element("div", "labext-buttons", { role: "group" });
  const spoken = element("div", "labext-spoken", { role: "status", "aria-live": "polite" });
  root.append(picture, buttons, spoken);

  let shown = null; // the controls that are drawn, as JSON
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
        const act = () => (control.question ? ask(control) : send(control));
        const label = control.question ? `${control.label}…` : control.label;
        const made = button(label, control.description, act);
        made.dataset.do = control.do;
        return made;
      }),
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
