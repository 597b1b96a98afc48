// The structure viewer: toolbar, legend, canvas and sequence strip, with a selection shared with the
// kernel.
//
// state: {name, summary, format, content, models, trace_only, orientation, chains: [{id, numbers, insertions, letters,
// secondary}], schemes: {name: {label, palette, residues, legend}}, scheme, styles, style, sender,
// selection: {chain, start, end, sender}, compared: null or {name, format, content, rotation,
// translation, color, chains}}

import { createButton, createElement, setDisabled } from "../dom.js";
import { addStyle } from "../style.js";
import {
  createButtonGroup,
  createField,
  createSelect,
  createStatus,
  createToolbar,
} from "../toolbar.js";
import { observeTheme } from "../theme.js";
import { createAnimation } from "./animation.js";
import { Canvas, hasRoom, MAX_CANVASES, onRoom } from "./canvas.js";
import { copyPicture, sendPicture } from "./picture.js";
import { countResidues, Scene } from "./scene.js";
import css from "./style.css";
import { createStrip } from "./strip.js";

const LABELS = { cartoon: "Cartoon", stick: "Stick", surface: "Surface" };
const RANGE = /^(?:(\S+?):)?(-?\d+)(?:\s*(?:-|to|–)\s*(-?\d+))?$/;
const ROTATION = 10; // degrees per arrow key
const PICTURE_DELAY = 700; // ms after the last change

export function structure(root, handle) {
  addStyle("labext-structure-style", css);
  const { state } = handle;
  const viewId = Math.random().toString(36).slice(2);
  let selection = null;
  let canvas = null;
  let scene = null;
  let animation = null;
  let measuring = false;
  let hovered = "";
  let measured = "";
  let pictureTimer = 0;
  let moved = false; // by the user, who chose another part or direction
  let evictedView = null; // of a canvas that was closed to make room, to restore it
  const resizes = new ResizeObserver(() => {
    if (moved || !stage.clientWidth) return; // a hidden view can't be measured
    handle.guard(() => {
      canvas?.viewer?.resize(); // 3Dmol observes its size too, but is called after this
      scene?.reset();
    });
  });

  const styles = state.styles.map((value) => [value, LABELS[value]]);
  const styleButtons = createButtonGroup("Style", styles, handle.guarded(setStyle));
  const schemes = Object.entries(state.schemes).map(([value, { label }]) => [value, label]);
  const schemeSelect = createSelect(schemes, handle.guarded(setScheme));
  const { chain, first, last } = exampleResidues(state.chains);
  const exampleRange = `${chain}${first}-${last}`;
  const rangeInput = createInput("labext-range-input", exampleRange, handle.guarded(selectTyped));
  const exampleAtoms = `${chain}${first} ${chain}${last}`;
  const atomsInput = createInput("labext-atoms-input", exampleAtoms, handle.guarded(measureTyped));
  const atomsField = createField("Atoms", atomsInput);
  atomsField.hidden = true;
  const measureButton = createButton("Measure", "Measure the distance of two atoms", toggleMeasure);
  measureButton.setAttribute("aria-pressed", "false");
  const resetButton = createButton("Reset view", "Show the whole molecule", () =>
    handle.guard(() => {
      moved = false;
      scene?.reset();
      schedulePicture();
    }),
  );
  const zoomButton = createButton("Zoom to selection", "Zoom to the selected residues", () =>
    handle.guard(() => {
      moved = true;
      scene?.zoomTo(selection);
      schedulePicture();
    }),
  );
  const rangeField = createField("Residues", rangeInput);
  const controls = [
    styleButtons,
    ...(schemes.length > 1 ? [createField("Color", schemeSelect)] : []),
    ...(state.chains.length ? [rangeField, zoomButton] : []),
    measureButton,
    atomsField,
    resetButton,
  ];
  const toolbar = createToolbar(root, ...controls);
  const legend = createElement("div", "labext-legend", { role: "list", "aria-label": "Legend" });
  const stage = createElement("div", "labext-stage", {
    tabindex: "0",
    role: "application",
    "aria-label":
      `${state.summary}. Arrow keys rotate, plus and minus zoom, 0 resets the view. ` +
      "The mouse wheel zooms while the picture has the focus.",
  });
  const status = createStatus();
  const title = createElement("strong", "labext-title", {}, state.summary);
  const statusLine = createElement("div", "labext-status-line");
  statusLine.append(title, status);
  const strip = createStrip(state.chains, handle.guarded((range) => select(range)));
  const resume = createButton("Show in 3D", "Show the molecule in 3D again", () => {
    open();
    stage.focus({ preventScroll: true });
  });
  let isVisible = false;
  const reopen = () => {
    if (isVisible && !scene && hasRoom()) open();
  };
  const visible = new IntersectionObserver((entries) => {
    isVisible = entries.at(-1).isIntersecting;
    reopen();
  });
  const stopWaiting = onRoom(reopen);
  root.classList.add("labext-structure");
  root.append(statusLine, toolbar, legend, stage);
  if (state.chains.length) root.append(strip);

  const playback = {
    setFrame: (index) => {
      if (!scene) open();
      return scene.setFrame(index);
    },
    isVisible: () => isVisible,
    onStop: schedulePicture,
  };

  function open() {
    handle.guard(() => {
      stage.replaceChildren();
      const host = createElement("div", "labext-canvas-host");
      stage.append(host);
      canvas = new Canvas(host, countResidues(state.chains), evict);
      const pointer = { onHover: handle.guarded(hover), onClick: handle.guarded(click) };
      const onError = (error) =>
        handle.guard(() => {
          throw error;
        });
      const surface = { onSurface: schedulePicture, onError };
      const onMeasure = handle.guarded(showMeasurement);
      scene = new Scene(canvas.viewer, state, { selection, onMeasure, ...surface, ...pointer });
      if (moved && evictedView) scene.view = evictedView;
      if (scene.animated) {
        animation ??= toolbar.appendChild(createAnimation(scene.frames, handle, playback));
        if (animation.index) scene.setFrame(animation.index).catch(onError);
      }
      root.dataset.ready = "true";
      schedulePicture();
    });
  }

  /** The browser needs the canvas for another view: show its last picture until there is room. */
  function evict() {
    animation?.pause();
    evictedView = scene?.view;
    scene = null;
    const picture = copyPicture(canvas.element);
    picture.className = "labext-evicted-picture";
    const note = `A picture: a page has room for ${MAX_CANVASES} molecules in 3D.`;
    const message = createElement("div", "labext-evicted", {}, note);
    message.append(resume);
    stage.replaceChildren(picture, message);
  }

  function draw() {
    styleButtons.update(state.style);
    schemeSelect.value = state.scheme;
    const scheme = state.schemes[state.scheme];
    legend.replaceChildren(
      ...scheme.legend.map(([label, color]) => {
        const item = createElement("span", "labext-legend-item", { role: "listitem" }, label);
        item.style.setProperty("--labext-color", color);
        return item;
      }),
    );
    strip.update(scheme);
    strip.highlight(selection);
    scene?.applyStyle(selection);
    schedulePicture();
  }

  function setStyle(value) {
    state.style = value;
    sendAppearance();
    draw();
    if (!moved) scene?.reset();
  }

  function setScheme(value) {
    state.scheme = value;
    sendAppearance();
    draw();
  }

  function sendAppearance() {
    const { style, scheme } = state;
    handle.send({ do: "appearance", style, scheme, sender: viewId });
  }

  function select(range, send = true) {
    selection = range;
    hovered = measured = "";
    strip.highlight(range);
    scene?.applyStyle(range);
    setDisabled(zoomButton, !range);
    rangeInput.value = range ? formatRange(range) : "";
    rangeInput.removeAttribute("aria-invalid");
    report();
    if (send) handle.send({ do: "select", chain: null, ...range, sender: viewId });
  }

  function selectTyped() {
    const text = rangeInput.value.trim();
    if (!text) return select(null);
    const match = RANGE.exec(text);
    const chain = match && (match[1] ?? state.chains[0].id);
    const [start, end] = match ? [match[2], match[3] ?? match[2]].map(Number) : [];
    const known = state.chains.find(({ id }) => id === chain);
    if (!known?.numbers.some((number) => number >= start && number <= end)) {
      rangeInput.setAttribute("aria-invalid", "true");
      status.textContent = `No residues ${text}; write a range, such as ${exampleRange}.`;
      return;
    }
    select({ chain, start, end });
  }

  function hover(atom) {
    hovered = atom ? describeAtom(atom) : "";
    report();
  }

  function click(atom) {
    stage.focus({ preventScroll: true });
    if (measuring) {
      scene.measureWith(atom);
    } else if (scene.residueOf(atom) !== undefined) {
      select({ chain: atom.chain, start: atom.resi, end: atom.resi });
    }
  }

  function toggleMeasure() {
    handle.guard(() => {
      measuring = !measuring;
      measureButton.setAttribute("aria-pressed", String(measuring));
      atomsField.hidden = !measuring;
      if (!scene) open();
      scene.measure([]);
    });
  }

  function measureTyped() {
    const words = atomsInput.value.split(/\s+/).filter(Boolean);
    if (!scene) open();
    const atoms = words.map((word) => scene.findAtom(word));
    const unknown = words[atoms.indexOf(null)];
    if (!unknown && atoms.length <= 2) return scene.measure(atoms);
    const problem = unknown ? `No atom ${unknown}` : "Too many atoms";
    const atom = state.chains.length ? `, or ${chain}${last}:CB for an atom` : "";
    atomsInput.setAttribute("aria-invalid", "true");
    status.textContent = `${problem}; write two, such as ${exampleAtoms}${atom}.`;
  }

  function showMeasurement(atoms, distance) {
    hovered = "";
    const names = atoms.map(describeAtom).join(" – ");
    if (distance !== null) measured = `Distance ${distance.toFixed(2)} Å: ${names}`;
    else if (atoms.length) measured = `${names}; click or type a second atom`;
    else measured = measuring ? "Click or type two atoms to measure their distance." : "";
    if (document.activeElement !== atomsInput) atomsInput.value = atoms.map(formatAtom).join(" ");
    atomsInput.removeAttribute("aria-invalid");
    report();
    schedulePicture();
  }

  function report() {
    const count = selection ? countSelected(state.chains, selection) : 0;
    const selected = selection
      ? `Selected ${formatRange(selection)} (${count} residue${count === 1 ? "" : "s"})`
      : "Nothing selected.";
    status.setAttribute("aria-live", isPlaying() ? "off" : "polite");
    status.textContent = hovered || measured || (state.chains.length ? selected : "");
  }

  function schedulePicture() {
    clearTimeout(pictureTimer);
    pictureTimer = setTimeout(() => {
      if (!scene || isPlaying()) return;
      scene.completeSurface();
      void sendPicture(canvas.element, handle);
    }, PICTURE_DELAY);
  }

  function isPlaying() {
    return root.querySelector(".labext-animation [aria-label^=Pause]") !== null;
  }

  const keys = {
    ArrowLeft: () => scene.rotate(-ROTATION, "y"),
    ArrowRight: () => scene.rotate(ROTATION, "y"),
    ArrowUp: () => scene.rotate(-ROTATION, "x"),
    ArrowDown: () => scene.rotate(ROTATION, "x"),
    "+": () => scene.zoom(1.2),
    "=": () => scene.zoom(1.2),
    "-": () => scene.zoom(1 / 1.2),
    0: () => scene.reset(),
  };
  stage.addEventListener("keydown", (event) => {
    if (!scene || !(event.key in keys) || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    moved = event.key !== "0";
    handle.guard(keys[event.key]);
    schedulePicture();
  });
  // Without the focus the wheel scrolls the page.
  const onWheel = (event) => {
    if (!stage.contains(document.activeElement)) event.stopPropagation();
  };
  stage.addEventListener("wheel", onWheel, { capture: true });
  stage.addEventListener("pointerdown", () => {
    stage.focus({ preventScroll: true });
    moved = true;
    canvas?.touch();
  });
  stage.addEventListener("pointerup", schedulePicture);
  const onThemeChange = handle.guarded(() => {
    scene?.setBackground();
    scene?.applyStyle(selection);
  });
  const stopTheme = observeTheme(onThemeChange);

  handle.onChange((change) => {
    if ((change.style || change.scheme) && change.sender !== viewId) draw();
    if (change.selection && change.selection.sender !== viewId) {
      select(change.selection.chain === null ? null : change.selection, false);
    }
  });
  open();
  resizes.observe(stage);
  visible.observe(stage);
  return () => {
    animation?.pause();
    clearTimeout(pictureTimer);
    resizes.disconnect();
    visible.disconnect();
    stopWaiting();
    stopTheme();
    canvas?.close();
  };
}

function createInput(className, placeholder, onEnter) {
  const attributes = { type: "text", placeholder, spellcheck: "false", autocomplete: "off" };
  const input = createElement("input", `labext-input ${className}`, attributes);
  input.addEventListener("change", onEnter);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") onEnter();
  });
  return input;
}

/** Return the first residues of a structure, at most ten; without residues, the first two atoms. */
function exampleResidues([first]) {
  if (!first) return { chain: "", first: 1, last: 2 };
  const { id, numbers } = first;
  return { chain: id && `${id}:`, first: numbers[0], last: numbers[9] ?? numbers.at(-1) };
}

function formatRange({ chain, start, end }) {
  return `${chain ? `${chain}:` : ""}${start}${end === start ? "" : `-${end}`}`;
}

function countSelected(chains, { chain, start, end }) {
  const numbers = chains.find(({ id }) => id === chain)?.numbers ?? [];
  return numbers.filter((number) => number >= start && number <= end).length;
}

/** Return an atom as it is typed: `A:12:CB`, or its number in a file without residues. */
function formatAtom({ chain, resi, icode, atom, index }) {
  if (resi === undefined) return String(index + 1);
  return `${chain ? `${chain}:` : ""}${resi}${(icode ?? "").trim()}:${atom.trim()}`;
}

function describeAtom(atom) {
  if (atom.resi === undefined) return `atom ${atom.elem}${formatAtom(atom)}`;
  const chain = atom.chain ? `${atom.chain}:` : "";
  const insertion = (atom.icode ?? "").trim();
  const residue = atom.resn ? `${atom.resn} ${chain}${atom.resi}${insertion}, ` : "";
  const name = (atom.atom ?? "").trim() || atom.elem;
  return `${residue}atom ${name}`;
}
