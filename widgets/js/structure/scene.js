// The contents of a canvas: models, styles, colors, highlighted residues, frames and distances.

import { SurfaceType } from "3dmol/build/3Dmol-min.js";

const ELEMENTS = {
  N: "#4a6ee0", O: "#e0483e", S: "#d9b52c", P: "#f08a24", H: "#c9ced4", F: "#5fbf5a",
  CL: "#39a845", BR: "#a5472f", I: "#8a3fb0", FE: "#d26b2e", ZN: "#7d80b0", MG: "#5aa02c",
};
const CARBON = "#8d99a6";
const WATER = new Set(["HOH", "WAT", "DOD", "H2O", "SOL", "TIP3"]);
const STICK = 0.18; // radius in Å
const SURFACE = 3; // distance of the surface from the atoms, in Å
const ATOM = /^(?:(\S+?):)?(-?\d+)([A-Za-z]?)(?::(\S+))?$/; // chain:residue:atom
const CENTERS = ["CA", "P", "C1'"]; // the atom that stands for a residue
const decoder = new TextDecoder();

const keyOf = (atom) => `${atom.chain}:${atom.resi}:${(atom.icode ?? "").trim()}`;
const elementColor = (atom, carbon = CARBON) =>
  atom.elem === "C" ? carbon : (ELEMENTS[(atom.elem ?? "").toUpperCase()] ?? "#b07aa1");

export class Scene {
  #viewer;
  #state;
  #residues; // key of a residue -> its index
  #surfaces = 0; // incremented when a pending surface is out of date
  #surface = ""; // what the surface shows: its color scheme, or nothing
  #model;
  #other = null;
  #isHidden; // whether an atom is not drawn: water, unless there is nothing else
  #measured = [];
  #onMeasure;
  #onSurface;
  #onError;

  /**
   * Draw `state` in `viewer`.
   *
   * @param {object} options `selection`: the highlighted residues; `onHover(atom or null)` and
   *   `onClick(atom)`: called for atoms under the pointer; `onMeasure(atoms, distance)`: called
   *   with the distance in Å when two atoms are measured, else null; `onSurface()` and
   *   `onError(error)`: called when a surface is complete, or cannot be computed.
   */
  constructor(
    viewer,
    state,
    {
      selection = null,
      onHover = null,
      onClick = null,
      onMeasure = null,
      onSurface = null,
      onError = null,
    } = {},
  ) {
    this.#viewer = viewer;
    this.#state = state;
    this.#onMeasure = onMeasure ?? (() => {});
    this.#onSurface = onSurface ?? (() => {});
    this.#onError = onError ?? ((error) => console.error("[labext]", error));
    this.#residues = residueIndex(state.chains);
    const content = decoder.decode(state.content);
    const { format } = state;
    this.animated = state.models > 1 && format !== "cif";
    if (this.animated) this.#model = viewer.addModelsAsFrames(content, format);
    else this.#model = viewer.addModel(content, format, { keepH: true });
    const isWater = ({ resn }) => WATER.has(resn);
    const atoms = this.#model.selectedAtoms({});
    this.#isHidden = atoms.every(isWater) ? () => false : isWater;
    this.#assignBackbone(this.#model, state, this.#residues);
    if (state.compared) this.#addCompared(state.compared);
    if (onHover) {
      viewer.setHoverDuration(60);
      viewer.setHoverable({}, true, onHover, () => onHover(null));
    }
    if (onClick) viewer.setClickable({}, true, onClick);
    this.setBackground();
    this.#style(selection);
    this.reset();
  }

  /** Show the whole molecule as in the static picture, with its longest axis horizontal. */
  reset() {
    const viewer = this.#viewer;
    viewer.zoomTo();
    const [x, y, z, distance] = viewer.getView();
    viewer.setView([x, y, z, distance, ...this.#state.orientation]);
    viewer.zoom(this.#fit());
    viewer.render();
  }

  /** Return the factor by which the picture can be enlarged to fill the canvas. */
  #fit() {
    const { width, height } = this.#viewer.getCanvas().getBoundingClientRect();
    const atoms = this.#viewer.selectedAtoms({ predicate: (atom) => !this.#isHidden(atom) });
    const points = this.#viewer.modelToScreen(atoms);
    const [x, y, z] = this.#viewer.getView();
    const [center] = this.#viewer.modelToScreen([{ x: -x, y: -y, z: -z }]);
    const [beside] = this.#viewer.modelToScreen([{ x: SURFACE - x, y: -y, z: -z }]);
    const isSurface = this.#state.style === "surface";
    const margin = isSurface ? Math.hypot(beside.x - center.x, beside.y - center.y) : 0;
    const extent = (name) =>
      2 * (margin + points.reduce((max, point) => Math.max(max, Math.abs(point[name] - center[name])), 1));
    const factor = Math.min((0.9 * width) / extent("x"), (0.9 * height) / extent("y"));
    return Math.min(Math.max(factor, 0.5), 4);
  }

  /** The direction and distance from which the molecule is seen, as an opaque value. */
  get view() {
    return this.#viewer.getView();
  }

  set view(view) {
    this.#viewer.setView(view);
    this.#viewer.render();
  }

  get frames() {
    return this.#viewer.getNumFrames();
  }

  /** Take the page's background for the fog, so that distant parts fade in either theme. */
  setBackground() {
    this.#viewer.setBackgroundColor(getComputedStyle(this.#viewer.getCanvas()).color, 0);
  }

  /** Draw in the state's style and color scheme; highlight a selection `{chain, start, end}`. */
  applyStyle(selection = null) {
    this.#style(selection);
    this.#viewer.render();
  }

  #style(selection) {
    const { style, compared } = this.#state;
    const viewer = this.#viewer;
    viewer.setStyle({}, {});
    const color = (index) => this.#color(index);
    this.#styleModel(this.#model, this.#residues, color, style, this.#state.trace_only);
    if (this.#other) {
      const single = () => compared.color;
      const residues = residueIndex(compared.chains);
      this.#styleModel(this.#other, residues, single, style, compared.trace_only);
    }
    if (selection?.chain != null) this.#highlight(selection);
    this.completeSurface();
  }

  /** Compute the surface if it is missing, or shows another color scheme. */
  completeSurface() {
    const wanted = this.#state.style === "surface" ? this.#state.scheme : "";
    if (wanted === this.#surface) return; // it takes long to compute
    this.#removeSurface();
    this.#surface = wanted;
    if (wanted) this.#addSurface(this.#surfaces).catch(this.#onError);
  }

  #removeSurface() {
    this.#surface = "";
    this.#surfaces++;
    this.#viewer.removeAllSurfaces();
  }

  zoomTo(selection) {
    this.#viewer.zoomTo(this.#selector(selection));
    this.#viewer.zoom(0.6);
    this.#viewer.render();
  }

  rotate(angle, axis) {
    this.#viewer.rotate(angle, axis);
  }

  zoom(factor) {
    this.#viewer.zoom(factor);
  }

  async setFrame(index) {
    await this.#viewer.setFrame(index);
    if (this.#surface) this.#removeSurface(); // of another frame
    const inFrame = ({ model, index }) => this.#viewer.selectedAtoms({ model, index });
    if (this.#measured.length) this.measure(this.#measured.flatMap(inFrame));
    else this.#viewer.render();
  }

  /** Return the atom of a residue such as `A:12`, or a single one such as `A:12:CB`; else null. */
  findAtom(text) {
    const atoms = this.#model.selectedAtoms({});
    const first = this.#state.chains[0]?.id ?? atoms[0].chain;
    const [, chain = first, number, insertion, name] = ATOM.exec(text) ?? [];
    if (atoms[0].resi === undefined) return atoms[number - 1] ?? null;
    const key = `${chain}:${Number(number)}:${insertion}`;
    const residue = atoms.filter((atom) => keyOf(atom) === key);
    const named = (name) => residue.find((atom) => atom.atom.trim() === name.toUpperCase());
    if (name) return named(name) ?? null;
    return CENTERS.map(named).find(Boolean) ?? residue[0] ?? null;
  }

  /** Add an atom to a measurement, which starts again after two. */
  measureWith(atom) {
    this.measure(this.#measured.length === 1 ? [...this.#measured, atom] : [atom]);
  }

  /** Mark one atom, or two atoms and their distance. */
  measure(atoms) {
    this.#measured = atoms;
    this.#viewer.removeAllShapes();
    this.#viewer.removeAllLabels();
    for (const center of atoms) {
      this.#viewer.addSphere({ center, radius: 0.5, color: "#d81b60", alpha: 0.8 });
    }
    let distance = null;
    if (atoms.length === 2) {
      const [a, b] = atoms;
      distance = Math.hypot(a.x - b.x, a.y - b.y, a.z - b.z);
      this.#viewer.addCylinder({
        start: a, end: b, radius: 0.12, color: "#d81b60", dashed: true, fromCap: 1, toCap: 1,
      });
      const position = { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2, z: (a.z + b.z) / 2 };
      const style = { fontSize: 13, backgroundColor: "#000", backgroundOpacity: 0.75, position };
      this.#viewer.addLabel(`${distance.toFixed(2)} Å`, style);
    }
    this.#viewer.render();
    this.#onMeasure(atoms, distance);
  }

  /** The index of an atom's residue in the order of the file; undefined for ligands. */
  residueOf(atom) {
    return this.#residues.get(keyOf(atom));
  }

  #color(index) {
    const scheme = this.#state.schemes[this.#state.scheme];
    return scheme.palette[scheme.residues[index]];
  }

  #styleModel(model, residues, color, style, traceOnly) {
    const indexOf = (atom) => residues.get(keyOf(atom));
    const polymer = (atom) => indexOf(atom) !== undefined;
    const dry = (atom) => !polymer(atom) && !this.#isHidden(atom);
    const carbon = this.#other === null ? CARBON : color(0);
    const ligand = { radius: STICK, colorfunc: (atom) => elementColor(atom, carbon) };
    const ball = { radius: 0.6, colorfunc: (atom) => elementColor(atom, carbon) };
    const ion = (atom) => dry(atom) && !atom.bonds?.length;
    model.setStyle({ predicate: dry }, { stick: ligand });
    model.setStyle({ predicate: ion }, { sphere: ball });
    if (style === "stick") {
      const colorfunc = (atom) => elementColor(atom, color(indexOf(atom)));
      model.setStyle({ predicate: polymer }, { stick: { radius: STICK, colorfunc } });
    } else {
      const colorfunc = (atom) => color(indexOf(atom)) ?? CARBON;
      const shape = traceOnly ? { style: "trace", thickness: 0.6 } : { thickness: 0.35 };
      const cartoon = { colorfunc, arrows: true, ...shape };
      model.setStyle({ predicate: polymer }, { cartoon });
    }
  }

  #highlight(selection) {
    const colorfunc = (atom) => elementColor(atom, "#ffb000");
    const selector = this.#selector(selection);
    this.#model.setStyle(selector, { stick: { radius: 0.28, colorfunc } }, true);
  }

  #selector({ chain, start, end }) {
    const inside = (atom) => atom.chain === chain && atom.resi >= start && atom.resi <= end;
    return { predicate: (atom) => inside(atom) && this.residueOf(atom) !== undefined };
  }

  async #addSurface(current) {
    const colorfunc = (atom) => {
      const index = this.residueOf(atom);
      return index === undefined ? elementColor(atom) : this.#color(index);
    };
    const atoms = { model: this.#model, predicate: (atom) => !this.#isHidden(atom) };
    const added = this.#viewer.addSurface(SurfaceType.MS, { opacity: 0.82, colorfunc }, atoms);
    const id = await added;
    if (current === this.#surfaces) this.#onSurface();
    else this.#viewer.removeSurface(id);
  }

  #addCompared(compared) {
    const { content, format, rotation: r, translation: t, chains } = compared;
    this.#other = this.#viewer.addModel(decoder.decode(content), format, { keepH: true });
    for (const atom of this.#other.selectedAtoms({})) {
      const { x, y, z } = atom;
      atom.x = r[0] * x + r[1] * y + r[2] * z + t[0];
      atom.y = r[3] * x + r[4] * y + r[5] * z + t[1];
      atom.z = r[6] * x + r[7] * y + r[8] * z + t[2];
    }
    this.#assignBackbone(this.#other, compared, residueIndex(chains));
  }

  /**
   * Give the atoms the chains and the secondary structure of the state, so that picture, colors and
   * selections agree.
   *
   * Of a C-alpha trace consecutive residues are connected, at any distance: 3Dmol has no bonds to tell.
   */
  #assignBackbone(model, { chains, trace_only: traceOnly }, residues) {
    const states = chains.map(({ secondary }) => secondary).join("");
    const ends = new Set();
    let index = 0;
    for (const { secondary } of chains) {
      for (let i = 0; i < secondary.length; i++, index++) {
        if (secondary[i] !== secondary[i + 1]) ends.add(index);
      }
    }
    const assign = (atom) => {
      atom.chain = (atom.chain ?? "").trim(); // a blank in PDB files without chains
      const i = residues.get(keyOf(atom));
      if (i === undefined) return;
      atom.hetflag = false; // modified residues, which would interrupt a cartoon
      if (traceOnly) atom.reschain = 0;
      if (states[i] === "n") return;
      atom.ss = states[i];
      atom.ssend = ends.has(i);
      atom.ssbegin = i === 0 || ends.has(i - 1);
    };
    for (const atom of model.selectedAtoms({})) assign(atom);
    for (const frame of model.getFrames?.() ?? []) for (const atom of frame) assign(atom);
  }
}

/** Return the number of residues of `chains`. */
export const countResidues = (chains) => chains.reduce((sum, { numbers }) => sum + numbers.length, 0);

function residueIndex(chains) {
  const index = new Map();
  let position = 0;
  for (const { id, numbers, insertions } of chains) {
    numbers.forEach((number, i) => {
      const key = `${id}:${number}:${insertions[i]}`;
      if (!index.has(key)) index.set(key, position); // numbers may occur twice
      position++;
    });
  }
  return index;
}
