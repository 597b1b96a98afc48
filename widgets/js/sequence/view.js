// The sequence viewer: toolbar, maps, list of annotations, and a selection shared with the kernel.
//
// state: {name, bases, circular, annotations, translations: [{name, type, start, end, strand,
// color}], sites, unique: [{enzyme, start, end, strand, cut, lower_cut}], selection: {start, end,
// strand, sender}}, positions 0-based with exclusive ends

import { createButton, createElement, setDisabled } from "../dom.js";
import { formatNumber, pluralize } from "../format.js";
import { addStyle } from "../style.js";
import {
  createButtonGroup,
  createField,
  createSelect,
  createSlider,
  createStatus,
  createToolbar,
} from "../toolbar.js";
import { annotationList } from "./annotation_list.js";
import { CircularMap } from "./circular_map.js";
import { copyText } from "./clipboard.js";
import { handleKey } from "./keyboard.js";
import { LinearMap } from "./linear_map.js";
import { Molecule } from "./molecule.js";
import { search } from "./search.js";
import { createSearch } from "./search_field.js";
import { describeSelection, headOf, rangeOf, selectRange } from "./selection.js";
import { SelectionSync } from "./selection_sync.js";
import css from "./style.css";

const SIDE_BY_SIDE_WIDTH = 640; // pixels from which on both maps are side by side
const SHORT_SEQUENCE = 60; // bases up to which no overview is needed
const MAP_HEIGHT = 340; // pixels of the linear map
const MAX_ZOOM = 11;
const zoomToScale = (zoom) => 1.3 ** zoom; // pixels per base
const MAX_HITS = 2000;
const MODES = [
  ["circular", "Circular"],
  ["linear", "Linear"],
  ["both", "Both"],
];

export function sequence(root, handle) {
  addStyle("labext-sequence-style", css);
  const { state } = handle;
  const molecule = new Molecule(state);
  const viewId = Math.random().toString(36).slice(2);
  const sync = new SelectionSync(handle, viewId);
  const siteSets = { displayed: state.sites, unique: state.unique, none: [] };
  let mode = molecule.circular ? "both" : "linear";
  let zoom = 8;
  let siteSet = "displayed";
  let selection = null;
  let hits = [];
  let hitIndex = -1;
  let width = 0;

  const actions = {
    selection: () => selection,
    select: handle.guarded((newSelection) => select(newSelection)),
    pick: handle.guarded((target) => {
      const [kind, i] = target.split(":");
      if (kind === "site") {
        return select(selectRange(molecule, { ...siteSets[siteSet][i], strand: 1 }), true);
      }
      const { annotations, translations } = molecule;
      select(selectRange(molecule, (kind === "annotation" ? annotations : translations)[i]), true);
    }),
    trackPointer(target, event, onMove) {
      event.preventDefault();
      maps.focus({ preventScroll: true });
      target.setPointerCapture(event.pointerId);
      const listener = handle.guarded(onMove);
      target.addEventListener("pointermove", listener);
      const stop = () => target.removeEventListener("pointermove", listener);
      target.addEventListener("lostpointercapture", stop, { once: true });
    },
    search: handle.guarded((pattern) => {
      const found = pattern.trim() ? search(molecule, pattern) : [];
      const more = found?.length > MAX_HITS ? "more than " : "";
      hits = (found ?? []).slice(0, MAX_HITS);
      hitIndex = -1;
      const text = found === null ? "invalid base" : `${more}${pluralize(hits.length, "hit")}`;
      searchField.update(pattern.trim() && text, hits.length > 0);
      highlight();
    }),
    goToHit: handle.guarded((offset) => {
      if (!hits.length) return;
      hitIndex =
        hitIndex < 0 && offset < 0
          ? hits.length - 1
          : (hitIndex + offset + hits.length) % hits.length;
      searchField.update(`${hitIndex + 1} of ${hits.length}`, true);
      select(selectRange(molecule, hits[hitIndex]), true);
    }),
  };

  const circularMap = molecule.circular ? new CircularMap(molecule, actions) : null;
  const overview = new LinearMap(molecule, actions);
  const linearMap = new LinearMap(molecule, actions);
  overview.element.classList.add("labext-overview");
  const overviewArea = createElement("div");
  overviewArea.append(...(circularMap ? [circularMap.element] : []), overview.element);
  const maps = createElement("div", "labext-maps", {
    tabindex: "0",
    role: "application",
    "aria-label":
      `Map of ${molecule.name}, ${pluralize(molecule.length, "base")}. ` +
      "Arrow keys move the cursor, with Shift they extend the selection; Escape clears it.",
  });
  maps.append(overviewArea, linearMap.element);

  const setMode = (value) => {
    mode = value;
    draw();
  };
  const setZoom = (value) => {
    zoom = value;
    draw();
    if (selection) linearMap.scrollTo(headOf(molecule, selection));
  };
  const setSiteSet = (value) => {
    siteSet = value;
    draw();
  };
  const modeButtons = createButtonGroup("Maps", MODES, handle.guarded(setMode));
  const zoomSlider = createSlider(MAX_ZOOM, zoom, handle.guarded(setZoom));
  const siteSelect = createSelect(siteOptions(siteSets), handle.guarded(setSiteSet));
  const zoomField = createField("Zoom", zoomSlider);
  const searchField = createSearch(actions);
  const siteField = createField("Sites", siteSelect);
  const siteNote = createElement("span");
  siteField.append(siteNote);
  const controls = [...(circularMap ? [modeButtons] : []), zoomField, siteField, searchField];
  const toolbar = createToolbar(root, ...controls);
  const status = createStatus();
  const copyButton = createButton("Copy", "Copy the selected bases", () => copySelection());
  const statusLine = createElement("div", "labext-status-line");
  const title = createElement("strong", "labext-title", {}, molecule.name);
  statusLine.append(title, `${formatNumber(molecule.length)} bp`, status, copyButton);
  root.classList.add("labext-sequence");
  root.append(toolbar, statusLine, maps);
  if (molecule.annotations.length) root.append(annotationList(molecule, actions.pick));

  function draw() {
    if (!width) return;
    const sideBySide = circularMap !== null && mode === "both" && width >= SIDE_BY_SIDE_WIDTH;
    const showCircular = circularMap !== null && mode !== "linear";
    const sites = siteSets[siteSet];
    maps.classList.toggle("labext-side-by-side", sideBySide);
    modeButtons.update(mode);
    circularMap?.element.toggleAttribute("hidden", !showCircular);
    overview.element.hidden = showCircular || molecule.length < SHORT_SEQUENCE;
    linearMap.element.hidden = zoomField.hidden = mode === "circular";
    let omitted = 0;
    const left = sideBySide ? Math.round(width * 0.48) : width;
    if (showCircular) {
      const maxWidth = mode === "both" && !sideBySide ? 440 : 640;
      omitted = circularMap.draw(Math.min(left, maxWidth), sites);
    } else if (!overview.element.hidden) overview.draw(width, 0, 0, sites);
    siteNote.textContent = omitted ? `${pluralize(omitted, "site")} not on the circle` : "";
    if (mode !== "circular") {
      const height = sideBySide
        ? Math.max(circularMap.element.height.baseVal.value, MAP_HEIGHT)
        : MAP_HEIGHT;
      linearMap.draw(sideBySide ? width - left - 8 : width, height, zoomToScale(zoom), sites);
      zoomSlider.setAttribute("aria-valuetext", `${linearMap.perRow} bases per row`);
    }
    highlight();
  }

  function highlight() {
    if (!width) return;
    for (const map of [circularMap, overview, linearMap]) map?.highlight(selection, hits);
  }

  function select(newSelection, scroll = false, send = true) {
    selection = newSelection;
    const range = selection && rangeOf(molecule, selection);
    highlight();
    status.textContent = describeSelection(molecule, selection);
    setDisabled(copyButton, !range);
    if (scroll && range && mode !== "circular") linearMap.scrollTo(range.start);
    if (send) sync.send(range ? { ...range, strand: selection.strand } : { start: null });
  }

  async function copySelection() {
    const range = selection && rangeOf(molecule, selection);
    if (!range) return;
    const copied = await copyText(molecule.extract(range.start, range.end, selection.strand));
    const size = pluralize(molecule.rangeLength(range.start, range.end), "base");
    status.textContent = copied ? `Copied ${size}` : "The browser denied access to the clipboard.";
  }

  const onKeyDown = (event) => {
    const perRow = mode === "circular" ? Math.ceil(molecule.length / 36) : linearMap.perRow;
    const selectAndScroll = (newSelection) => {
      select(newSelection);
      if (selection && mode !== "circular") linearMap.scrollTo(headOf(molecule, selection));
    };
    handleKey(event, molecule, selection, perRow, selectAndScroll, copySelection);
  };
  maps.addEventListener("keydown", handle.guarded(onKeyDown));

  handle.onChange((change) => {
    if (change.sites) {
      siteSets.displayed = change.sites;
      siteSelect.update(siteOptions(siteSets));
      draw();
    }
    if (change.selection && change.selection.sender !== viewId) {
      sync.received(change.selection);
      const cleared = change.selection.start === null;
      select(cleared ? null : selectRange(molecule, change.selection), true, false);
    }
  });

  const resizeObserver = new ResizeObserver(([entry]) => {
    const newWidth = Math.floor(entry.contentRect.width);
    if (newWidth === width || !newWidth) return;
    width = newWidth;
    handle.guard(() => {
      draw();
      if (selection) linearMap.scrollTo(selection.anchor);
    });
  });
  resizeObserver.observe(maps);
  return () => {
    sync.close();
    resizeObserver.disconnect();
  };
}

function siteOptions({ displayed, unique }) {
  const count = (sites) => new Set(sites.map(({ enzyme }) => enzyme)).size;
  return [
    ["displayed", `Displayed (${count(displayed)})`],
    ["unique", `Unique cutters (${count(unique)})`],
    ["none", "None"],
  ];
}
