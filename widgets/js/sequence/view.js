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
import { Molecule } from "./molecule.js";
import { Rows } from "./rows.js";
import { search } from "./search.js";
import { bounds, head, of, told } from "./selection.js";
import css from "./style.css";
import { choice, field, finder, select, slider } from "./toolbar.js";

const PAUSE = 150; // ms at least between two selections that the kernel is told
const WIDE = 640; // pixels from which on both maps stand side by side
const SHORT = 60; // bases up to which the rows alone are overview enough
const HIGH = 340; // pixels of the rows
const ZOOMS = 11;
const scaleOf = (zoom) => 1.3 ** zoom; // pixels a base
const MANY = 2000; // hits that are shown

export function sequence(root, view) {
  addStyle("labext-sequence-style", css);
  const { state } = view;
  const molecule = new Molecule(state);
  const me = Math.random().toString(36).slice(2);
  const sites = { chosen: state.chosen, unique: state.unique, none: [] };
  let mode = molecule.circular ? "both" : "linear";
  let zoom = 8;
  let whose = "chosen";
  let selection = null;
  let hits = [];
  let at = -1;

  // What the maps ask for.
  const act = {
    selection: () => selection,
    select: (wanted) => choose(wanted),
    pick(what) {
      const [kind, i] = what.split(":");
      const among = { annotation: molecule.annotations, translation: molecule.translations, site: sites[whose] };
      const mark = among[kind][i];
      choose(of(molecule, kind === "site" ? { ...mark, strand: 1 } : mark), { show: true });
    },
    follow(target, event, move) {
      event.preventDefault();
      maps.focus({ preventScroll: true });
      target.setPointerCapture(event.pointerId);
      const on = (each) => view.guard(() => move(each));
      target.addEventListener("pointermove", on);
      const off = () => target.removeEventListener("pointermove", on);
      target.addEventListener("lostpointercapture", off, { once: true });
    },
  };

  const circle = molecule.circular ? new Circle(molecule, act) : null;
  const overview = new Rows(molecule, act);
  const rows = new Rows(molecule, act);
  overview.element.classList.add("labext-overview");
  const maps = element("div", "labext-maps", {
    tabindex: "0",
    role: "application",
    "aria-label": `Map of ${molecule.name}, ${molecule.length} bases. Arrow keys move the cursor, with Shift they select; Escape clears.`,
  });
  const drawn = element("div", "labext-drawn");
  if (circle) drawn.append(circle.element);
  drawn.append(overview.element);
  maps.append(drawn, rows.element);

  const modes = choice("Maps", [["circular", "Circular"], ["linear", "Linear"], ["both", "Both"]], (value) => {
    mode = value;
    draw();
  });
  const zooming = slider(ZOOMS, zoom, (value) => {
    zoom = value;
    draw();
    if (selection) rows.show(head(molecule, selection));
  });
  const cutters = select(offered(), (value) => {
    whose = value;
    draw();
  });
  const finding = finder({
    find(words) {
      const found = words.trim() ? search(molecule, words) : [];
      hits = (found ?? []).slice(0, MANY);
      at = -1;
      const more = found?.length > MANY ? "more than " : "";
      finding.show(
        found === null ? "not a base" : words.trim() ? `${more}${count(hits.length, "hit")}` : "",
        hits.length > 0,
      );
      mark();
    },
    go(by) {
      if (!hits.length) return;
      at = at < 0 && by < 0 ? hits.length - 1 : (at + by + hits.length) % hits.length;
      finding.show(`${at + 1} of ${hits.length}`, true);
      choose(of(molecule, hits[at]), { show: true });
    },
  });
  const copying = button("Copy", "Copy the selected bases", () => copySelected());
  const zoomField = field("Zoom", zooming);
  const toolbar = element("div", "labext-toolbar");
  if (circle) toolbar.append(modes);
  toolbar.append(zoomField, field("Sites", cutters), finding);
  const status = element("div", "labext-status", { role: "status", "aria-live": "polite" });
  const line = element("div", "labext-line");
  line.append(status, copying);
  root.classList.add("labext-sequence");
  root.append(toolbar, line, maps, ...annotations());

  function offered() {
    return [
      ["chosen", `Chosen (${names(sites.chosen)})`],
      ["unique", `Cut once (${names(sites.unique)})`],
      ["none", "None"],
    ];
  }

  function annotations() {
    if (!molecule.annotations.length) return [];
    const list = element("details", "labext-annotations");
    const buttons = molecule.annotations.map((mark, i) => {
      const strand = mark.strand > 0 ? " +" : mark.strand < 0 ? " −" : "";
      const where = `${mark.start + 1}-${mark.end}${strand}`;
      const made = button("", `Select ${mark.name}, ${where}`, () => act.pick(`annotation:${i}`));
      const dot = element("span", "labext-dot");
      dot.style.backgroundColor = mark.color;
      made.append(dot, mark.name, element("span", "labext-where", {}, where));
      return made;
    });
    const inner = element("div", "labext-list");
    inner.append(...buttons);
    list.append(element("summary", "", {}, count(buttons.length, "annotation")), inner);
    return [list];
  }

  let width = 0;
  function draw() {
    if (!width) return;
    const beside = circle && mode === "both" && width >= WIDE;
    const round = circle && mode !== "linear";
    const cuts = sites[whose];
    maps.classList.toggle("labext-beside", Boolean(beside));
    modes.show(mode);
    circle?.element.toggleAttribute("hidden", !round);
    overview.element.hidden = Boolean(round) || molecule.length < SHORT;
    rows.element.hidden = mode === "circular";
    zoomField.hidden = mode === "circular";
    const left = beside ? Math.round(width * 0.48) : width;
    if (round) circle.draw(Math.min(left, 640), cuts);
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
    circle?.mark(selection, hits);
    overview.mark(selection, hits);
    rows.mark(selection, hits);
  }

  function choose(wanted, { show = false, quiet = false } = {}) {
    selection = wanted;
    mark();
    status.textContent = told(molecule, selection);
    copying.disabled = !(selection && bounds(molecule, selection));
    if (show && selection && mode !== "circular") rows.show(bounds(molecule, selection)?.start ?? head(molecule, selection));
    if (!quiet) tell();
  }

  function copySelected() {
    const found = selection && bounds(molecule, selection);
    if (!found) return;
    copy(molecule.part(found.start, found.end, selection.strand)).then((done) => {
      status.textContent = done ? `Copied ${count(Math.abs(selection.reach), "base")}` : "The browser did not let the bases be copied.";
    });
  }

  maps.addEventListener("keydown", (event) =>
    view.guard(() =>
      keys(event, {
        molecule,
        selection,
        perRow: mode === "circular" ? Math.max(Math.round(molecule.length / 36), 1) : rows.perRow,
        copy: copySelected,
        choose(wanted) {
          choose(wanted);
          if (selection && mode !== "circular") rows.show(head(molecule, selection));
        },
      }),
    ),
  );

  // The kernel is told what is selected, at once and then after pauses.
  let timer = 0;
  let last = "null";
  function tell() {
    if (timer) return;
    say();
    timer = setTimeout(() => {
      timer = 0;
      say();
    }, PAUSE);
  }
  function say() {
    const found = selection && bounds(molecule, selection);
    const said = found ? { ...found, strand: selection.strand } : { start: null };
    if (JSON.stringify(said) === last) return;
    last = JSON.stringify(said);
    view.send({ do: "select", ...said, by: me });
  }

  view.onChange((change) => {
    if (change.chosen) {
      sites.chosen = change.chosen;
      cutters.show(offered());
      draw();
    }
    if (change.selection && change.selection.by !== me) {
      const { start } = change.selection;
      const wanted = start === null ? null : of(molecule, change.selection);
      last = JSON.stringify(start === null ? { start } : { start, end: change.selection.end, strand: wanted.strand });
      choose(wanted, { show: true, quiet: true });
    }
  });

  const resized = new ResizeObserver(([entry]) => {
    const now = Math.floor(entry.contentRect.width);
    if (now === width || !now) return;
    width = now;
    view.guard(draw);
  });
  resized.observe(maps);
  return () => {
    clearTimeout(timer);
    resized.disconnect();
  };
}

const count = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
const names = (sites) => new Set(sites.map(({ enzyme }) => enzyme)).size;
