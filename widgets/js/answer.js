// An answer as it comes. A mark in its text opens the passage that it stands for below its
// paragraph, and closes it again; Escape closes it too.
//
// state: {html, spoken, busy, whole}

import { element } from "./dom.js";
import { morph } from "./morph.js";

const MARK = ".labext-cite";
const CITATION = ".labext-citation";
let made = 0; // passages, for their ids

export function answer(root, view) {
  const picture = element("div", "labext-picture");
  const spoken = element("div", "labext-spoken", { role: "status", "aria-live": "polite" });
  root.append(picture, spoken);

  const passage = element("div", "labext-passage", { id: `labext-passage-${++made}` });
  let opened = -1; // which of the marks has its passage open
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
    event.preventDefault(); // the keys stay with the answer
    fold()?.focus({ preventScroll: true });
  });

  view.onState((state) => {
    // While more comes, what is open stays open; the answer itself begins anew.
    const goesOn = state.whole === whole;
    const before = goesOn ? opened : -1;
    const unfolded = goesOn ? citations().map((each) => each.open) : [];
    fold();
    if (!goesOn) picture.replaceChildren();
    whole = state.whole;
    morph(picture, state.html);
    citations().forEach((each, i) => (each.open = unfolded[i] ?? false));
    if (before >= 0) unfold(before);
    root.classList.toggle("labext-busy", state.busy);
    if (spoken.textContent !== state.spoken) spoken.textContent = state.spoken;
  });
}
