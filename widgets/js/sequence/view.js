// The sequence viewer: maps, toolbar, list of annotations, and what is selected, told to the kernel.
//
// state: {name, bases, circular, annotations, translations: [{name, type, start, end, strand,
// color}], chosen, unique: [{enzyme, start, end, strand, cut, lower_cut}], selection: {start, end,
// strand, by}}, positions from 0 and ends exclusive

import { button, element } from "../dom.js";
import { addStyle } from "../style.js";
import { Circle } from "./circle.js";
import { copy } from "./copy.js";
import { keys } from "./keys.js";
import { list } from "./list.js";
import { Molecule } from "./molecule.js";
import { Rows } from "./rows.js";
import { search } from "./search.js";
import { bounds, head, of, told } from "./selection.js";
import css from "./style.css";
import { Telling } from "./telling.js";
import { choice, field, finder, select, slider } from "./toolbar.js";
import { digits, number } from "./words.js";

const WIDE = 640; // pixels from which on both maps stand side by side
const SHORT = 60; // bases up to which the rows are overview enough
const HIGH = 340; // pixels of the rows
const ZOOMS = 11;
const scaleOf = (zoom) => 1.3 ** zoom; // pixels a base
const MANY = 2000; // hits that are shown
const MODES = [
  ["circular", "Circular"],
  ["linear", "Linear"],
  ["both", "Both"],
];

export function sequence(root, view) {
  addStyle("labext-sequence-style", css);
  const { state } = view;
  const molecule = new Molecule(state);
  const me = Math.random().toString(36).slice(2);
  const telling = new Telling(view, me);
  const sites = { chosen: state.chosen, unique: state.unique, none: [] };
  let mode = molecule.circular ? "both" : "linear";
  let zoom = 8;
  let whose = "chosen";
  let selection = null;
  let hits = [];
  let at = -1; // the hit that is selected
  let width = 0;

  const safe =
    (act) =>
    (...given) =>
      view.guard(() => act(...given));

  const act = {
    selection: () => selection,
    select: safe((wanted) => choose(wanted)),
    pick: safe((what) => {
      const [kind, i] = what.split(":");
      if (kind === "site") return choose(of(molecule, { ...sites[whose][i], strand: 1 }), true);
      const { annotations, translations } = molecule;
      choose(of(molecule, (kind === "annotation" ? annotations : translations)[i]), true);
    }),
    follow(target, event, move) {
      event.preventDefault();
      maps.focus({ preventScroll: true });
      target.setPointerCapture(event.pointerId);
      const on = safe(move);
      target.addEventListener("pointermove", on);
      const off = () => target.removeEventListener("pointermove", on);
      target.addEventListener("lostpointercapture", off, { once: true });
    },
    find: safe((words) => {
      const found = words.trim() ? search(molecule, words) : [];
      const more = found?.length > MANY ? "more than " : "";
      hits = (found ?? []).slice(0, MANY);
      at = -1;
      const said = found === null ? "not a base" : `${more}${number(hits.length, "hit")}`;
      finding.show(words.trim() && said, hits.length > 0);
      mark();
    }),
    go: safe((by) => {
      if (!hits.length) return;
      at = at < 0 && by < 0 ? hits.length - 1 : (at + by + hits.length) % hits.length;
      finding.show(`${at + 1} of ${hits.length}`, true);
      choose(of(molecule, hits[at]), true);
    }),
  };

  const circle = molecule.circular ? new Circle(molecule, act) : null;
  const overview = new Rows(molecule, act);
  const rows = new Rows(molecule, act);
  overview.element.classList.add("labext-overview");
  const drawn = element("div", "labext-drawn");
  drawn.append(...(circle ? [circle.element] : []), overview.element);
  const maps = element("div", "labext-maps", {
    tabindex: "0",
    role: "application",
    "aria-label":
      `Map of ${molecule.name}, ${number(molecule.length, "base")}. ` +
      "Arrow keys move the cursor, with Shift they select; Escape clears.",
  });
  maps.append(drawn, rows.element);

  const showMode = (value) => {
    mode = value;
    draw();
  };
  const showZoom = (value) => {
    zoom = value;
    draw();
    if (selection) rows.show(head(molecule, selection));
  };
  const showSites = (value) => {
    whose = value;
    draw();
  };
  const modes = choice("Maps", MODES, safe(showMode));
  const zooming = slider(ZOOMS, zoom, safe(showZoom));
  const cutters = select(offered(sites), safe(showSites));
  const zoomField = field("Zoom", zooming);
  const finding = finder(act);
  const toolbar = element("div", "labext-toolbar");
  toolbar.append(...(circle ? [modes] : []), zoomField, field("Sites", cutters), finding);
  const status = element("div", "labext-status", { role: "status", "aria-live": "polite" });
  const copying = button("Copy", "Copy the selected bases", () => copySelected());
  const line = element("div", "labext-line");
  const title = element("strong", "labext-title", {}, molecule.name);
  line.append(title, `${digits(molecule.length)} bp`, status, copying);
  root.classList.add("labext-sequence");
  root.append(toolbar, line, maps);
  if (molecule.annotations.length) root.append(list(molecule.annotations, act.pick));

  function draw() {
    if (!width) return;
    const beside = circle !== null && mode === "both" && width >= WIDE;
    const round = circle !== null && mode !== "linear";
    const cuts = sites[whose];
    maps.classList.toggle("labext-beside", beside);
    modes.show(mode);
    circle?.element.toggleAttribute("hidden", !round);
    overview.element.hidden = round || molecule.length < SHORT;
    rows.element.hidden = zoomField.hidden = mode === "circular";
    const left = beside ? Math.round(width * 0.48) : width;
    if (round) circle.draw(Math.min(left, mode === "both" && !beside ? 440 : 640), cuts);
    else if (!overview.element.hidden) overview.draw(width, 0, 0, cuts);
    if (mode !== "circular") {
      const high = beside ? Math.max(circle.element.height.baseVal.value, HIGH) : HIGH;
      rows.draw(beside ? width - left - 8 : width, high, scaleOf(zoom), cuts);
      zooming.setAttribute("aria-valuetext", `${rows.perRow} bases a row`);
    }
    mark();
  }

  function mark() {
    if (!width) return;
    for (const map of [circle, overview, rows]) map?.mark(selection, hits);
  }

  function choose(wanted, show = false, tell = true) {
    selection = wanted;
    const found = selection && bounds(molecule, selection);
    mark();
    status.textContent = told(molecule, selection);
    copying.disabled = !found;
    if (show && found && mode !== "circular") rows.show(found.start);
    if (tell) telling.tell(found ? { ...found, strand: selection.strand } : { start: null });
  }

  async function copySelected() {
    const found = selection && bounds(molecule, selection);
    if (!found) return;
    const done = await copy(molecule.part(found.start, found.end, selection.strand));
    const size = number(molecule.span(found.start, found.end), "base");
    status.textContent = done ? `Copied ${size}` : "The browser did not let them be copied.";
  }

  const press = (event) => {
    const perRow = mode === "circular" ? Math.ceil(molecule.length / 36) : rows.perRow;
    const move = (wanted) => {
      choose(wanted);
      if (selection && mode !== "circular") rows.show(head(molecule, selection));
    };
    keys(event, molecule, selection, perRow, move, copySelected);
  };
  maps.addEventListener("keydown", safe(press));

  view.onChange((change) => {
    if (change.chosen) {
      sites.chosen = change.chosen;
      cutters.show(offered(sites));
      draw();
    }
    if (change.selection && change.selection.by !== me) {
      telling.known(change.selection);
      const none = change.selection.start === null;
      choose(none ? null : of(molecule, change.selection), true, false);
    }
  });

  const resized = new ResizeObserver(([entry]) => {
    const now = Math.floor(entry.contentRect.width);
    if (now === width || !now) return;
    width = now;
    view.guard(() => {
      draw();
      if (selection) rows.show(selection.anchor);
    });
  });
  resized.observe(maps);
  return () => {
    telling.end();
    resized.disconnect();
  };
}

function offered({ chosen, unique }) {
  const names = (sites) => new Set(sites.map(({ enzyme }) => enzyme)).size;
  return [
    ["chosen", `Chosen (${names(chosen)})`],
    ["unique", `Cut once (${names(unique)})`],
    ["none", "None"],
  ];
}
