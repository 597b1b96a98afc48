// The circular map: bands with arrows, cut sites, labels on both sides, and a selection that the
// pointer draws around it.

import { bounds, cursor, dragged, head } from "./selection.js";
import { spread } from "./spread.js";
import { cut, pale, step, svg } from "./svg.js";
import { digits } from "./words.js";

const THICK = 13;
const LANE = 17;
const LANES = 4;
const GAP = 15;
const LETTER = 6.4;
const TICKS = 50; // pixels of radius that numbers and the name take
const CROWD = 600; // hits from which on they say nothing on a circle

export class Circle {
  element = svg("svg", { class: "labext-circle", "aria-hidden": "true" });
  #molecule;
  #act;
  #under = svg("g");
  #over = svg("g");
  #still = svg("g");
  #center = [0, 0];
  #radius = 100;
  #free = 80;

  constructor(molecule, act) {
    this.#molecule = molecule;
    this.#act = act;
    this.element.append(this.#under, this.#still, this.#over);
    this.element.addEventListener("pointerdown", (event) => this.#press(event));
  }

  /** Draw all that does not move: bands, ticks, labels, the sites. */
  draw(width, sites) {
    const molecule = this.#molecule;
    const { annotations, length } = molecule;
    const names = [...annotations.map(({ name }) => name), ...sites.map(({ enzyme }) => enzyme)];
    const longest = Math.max(0, ...names.map((name) => name.length)) * LETTER;
    const beside = Math.min(longest, width * 0.17) + 40; // what the names take on a side
    const wide = Math.min(Math.max(width / 2 - beside, 64), 150);
    const letters = Math.floor((width / 2 - wide - 40) / LETTER);
    const named = letters >= 3; // where there is no room for names the circle takes it
    const radius = (this.#radius = named ? wide : Math.min(Math.max(width / 2 - 20, 40), 150));
    const { lanes, count } = molecule.lanes(annotations, LANES);
    this.#free = radius - LANE * Math.max(count - 1, 0) - THICK / 2 - 3;
    const labels = [
      ...annotations.map((mark, i) => ({
        turn: ((mark.start + molecule.span(mark.start, mark.end) / 2) / length) % 1,
        text: mark.name,
        size: molecule.span(mark.start, mark.end),
        pick: `annotation:${i}`,
        color: pale(mark.color),
      })),
      ...sites.map((site, i) => ({
        turn: (site.cut / length) % 1,
        text: site.enzyme,
        size: length,
        pick: `site:${i}`,
      })),
    ];
    const most = radius + 50;
    const sides = [1, -1].map((side) => this.#side(named ? labels : [], side, most));
    const low = Math.min(-radius - 18, ...sides.flatMap((side) => side.map(({ y }) => y - 9)));
    const high = Math.max(radius + 18, ...sides.flatMap((side) => side.map(({ y }) => y + 9)));
    this.#center = [width / 2, -low];
    this.element.setAttribute("width", width);
    this.element.setAttribute("height", high - low);
    const [x, y] = this.#center;
    this.#still.replaceChildren(
      svg("circle", { cx: x, cy: y, r: radius, class: "labext-axis" }),
      ...(this.#free > TICKS ? this.#ticks() : []),
      ...annotations.map((mark, i) => this.#band(mark, i, lanes[i])),
      ...sides.flatMap((side, i) => side.map((label) => this.#label(label, i ? -1 : 1, letters))),
      ...this.#name(),
    );
  }

  /** Draw what moves: the selection and the hits. */
  mark(selection, hits) {
    const { length } = this.#molecule;
    const outer = this.#radius + 12;
    const inner = Math.max(this.#free - 4, 10);
    const found = selection && bounds(this.#molecule, selection);
    const under = [];
    const over = [];
    if (found) {
      const span = this.#molecule.span(found.start, found.end);
      under.push(this.#ring(found.start, span, inner, outer, "labext-selected"));
      for (const at of [found.start, found.end]) over.push(this.#spoke(at, inner, outer));
    } else if (selection) {
      over.push(this.#spoke(head(this.#molecule, selection), inner, outer));
    }
    for (const hit of hits.length > CROWD ? [] : hits) {
      const span = Math.max(this.#molecule.span(hit.start, hit.end), length / 400);
      under.push(this.#ring(hit.start, span, this.#radius - 9, this.#radius + 9, "labext-hit"));
    }
    this.#under.replaceChildren(...under);
    this.#over.replaceChildren(...over);
  }

  /** The labels of one side that have room, with where they stand. */
  #side(labels, side, most) {
    const own = labels
      .filter(({ turn }) => turn < 0.5 === side > 0)
      .sort((one, two) => two.size - one.size)
      .slice(0, Math.floor((2 * most) / GAP))
      .sort((one, two) => side * (one.turn - two.turn));
    const wanted = own.map(({ turn }) => -Math.cos(2 * Math.PI * turn) * (this.#radius + 18));
    return spread(wanted, GAP, most).map((y, i) => ({ ...own[i], y }));
  }

  #at(turn, radius) {
    const angle = 2 * Math.PI * turn;
    return [this.#center[0] + radius * Math.sin(angle), this.#center[1] - radius * Math.cos(angle)];
  }

  #spot = (turn, radius) =>
    this.#at(turn, radius)
      .map((each) => each.toFixed(1))
      .join(" ");

  #band(mark, i, lane) {
    const { length } = this.#molecule;
    const middle = this.#radius - LANE * lane;
    const [inner, outer] = [middle - THICK / 2, middle + THICK / 2];
    const least = 3 / (2 * Math.PI * middle);
    const size = Math.min(this.#molecule.span(mark.start, mark.end) / length, 0.9999);
    const turn = Math.max(size, least);
    const begin = mark.start / length - (turn - size) / 2;
    const point = mark.strand ? Math.min(7 / (2 * Math.PI * middle), turn / 2) : 0;
    const a = mark.strand < 0 ? begin + point : begin;
    const b = mark.strand > 0 ? begin + turn - point : begin + turn;
    const large = +(b - a > 0.5);
    const d = [
      `M${this.#spot(a, outer)}A${outer} ${outer} 0 ${large} 1 ${this.#spot(b, outer)}`,
      mark.strand > 0 ? `L${this.#spot(begin + turn, middle)}` : "",
      `L${this.#spot(b, inner)}A${inner} ${inner} 0 ${large} 0 ${this.#spot(a, inner)}`,
      mark.strand < 0 ? `L${this.#spot(begin, middle)}` : "",
      "Z",
    ].join("");
    const path = {
      d,
      class: "labext-band",
      fill: pale(mark.color),
      "data-pick": `annotation:${i}`,
    };
    return svg("path", path, svg("title", {}, mark.name));
  }

  #ring(start, span, inner, outer, className) {
    const { length } = this.#molecule;
    const a = start / length;
    const b = a + Math.min(span / length, 0.9999);
    const large = +(b - a > 0.5);
    const d =
      `M${this.#spot(a, outer)}A${outer} ${outer} 0 ${large} 1 ${this.#spot(b, outer)}` +
      `L${this.#spot(b, inner)}A${inner} ${inner} 0 ${large} 0 ${this.#spot(a, inner)}Z`;
    return svg("path", { d, class: className });
  }

  #spoke(at, inner, outer) {
    const turn = at / this.#molecule.length;
    const d = `M${this.#spot(turn, inner)}L${this.#spot(turn, outer)}`;
    return svg("path", { d, class: "labext-edge" });
  }

  #ticks() {
    const { length } = this.#molecule;
    const apart = step(length, this.#radius < 90 ? 4 : 8);
    const bases = [1];
    for (let base = apart; base <= length - apart / 3; base += apart)
      if (base > 1) bases.push(base);
    return bases.flatMap((base) => {
      const turn = (base - 0.5) / length;
      const [x, y] = this.#at(turn, this.#free - 14);
      const d = `M${this.#spot(turn, this.#free)}L${this.#spot(turn, this.#free - 4)}`;
      const words = { x, y: y + 3, "text-anchor": "middle", class: "labext-tick" };
      return [svg("path", { d, class: "labext-axis" }), svg("text", words, digits(base))];
    });
  }

  #label({ turn, text, pick, color, y }, side, letters) {
    const [cx, cy] = this.#center;
    const column = cx + side * (this.#radius + 36);
    const [ex, ey] = this.#at(turn, this.#radius + 14);
    const d =
      `M${this.#spot(turn, this.#radius + THICK / 2)}L${ex.toFixed(1)} ${ey.toFixed(1)}` +
      `L${column - side * 18} ${ey.toFixed(1)}L${column - side * 3} ${cy + y}`;
    const words = {
      x: column,
      y: cy + y + 4,
      "text-anchor": side > 0 ? "start" : "end",
      class: color ? "labext-label" : "labext-label labext-site",
      "data-pick": pick,
    };
    return svg(
      "g",
      {},
      svg("path", { d, class: "labext-leader", style: color ? `stroke:${color}` : "" }),
      svg("text", words, cut(text, letters), svg("title", {}, text)),
    );
  }

  #name() {
    const [x, y] = this.#center;
    if (this.#free < 30) return [];
    const room = 2 * (this.#free - (this.#free > TICKS ? 26 : 4));
    const { name, length } = this.#molecule;
    const size = name.length * 8.4 <= room ? 14 : 11;
    const letters = Math.max(Math.floor(room / (0.6 * size)), 4);
    const style = `font-size:${size}px`;
    const bp = `${digits(length)} bp`;
    return [
      svg("text", { x, y: y - 3, class: "labext-name", style }, cut(name, letters)),
      svg("text", { x, y: y + 14, class: "labext-tick", "text-anchor": "middle" }, bp),
    ];
  }

  #base(event) {
    const box = this.element.getBoundingClientRect();
    const x = event.clientX - box.left - this.#center[0];
    const y = event.clientY - box.top - this.#center[1];
    const turn = Math.atan2(x, -y) / (2 * Math.PI);
    return this.#molecule.place(Math.round((turn < 0 ? turn + 1 : turn) * this.#molecule.length));
  }

  #press(event) {
    if (event.button !== 0) return;
    const pick = event.target.closest("[data-pick]")?.dataset.pick;
    if (pick) return this.#act.pick(pick);
    const at = this.#base(event);
    const before = this.#act.selection();
    let now = event.shiftKey && before ? dragged(this.#molecule, before, at) : cursor(at);
    this.#act.select(now);
    this.#act.follow(this.element, event, (move) => {
      now = dragged(this.#molecule, now, this.#base(move));
      this.#act.select(now);
    });
  }
}
