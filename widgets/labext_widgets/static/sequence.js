// js/dom.js
function element(name, className = "", attributes = {}, text = "") {
  const made = document.createElement(name);
  made.className = className;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}
function button(label, description, act) {
  const made = element("button", "labext-button", { type: "button", title: description }, label);
  made.setAttribute("aria-label", description);
  made.addEventListener("click", act);
  return made;
}

// js/style.js
function addStyle(id, css) {
  let style = document.getElementById(id);
  if (!style) {
    style = Object.assign(document.createElement("style"), { id });
    document.head.append(style);
  }
  if (style.textContent !== css) style.textContent = css;
}

// js/sequence/molecule.js
var mod = (a, n) => (a % n + n) % n;
var PAIRS = Object.fromEntries(
  [..."ATGCMKRYWWSSVBHDNN"].reduce((found, letter, i, all) => {
    if (i % 2 === 0) found.push([letter, all[i + 1]], [all[i + 1], letter]);
    return found;
  }, [])
);
PAIRS.U = "A";
for (const [one, other] of Object.entries(PAIRS)) PAIRS[one.toLowerCase()] = other.toLowerCase();
var complement = (bases) => Array.from(bases, (base) => PAIRS[base] ?? base).join("");
var turned = (bases) => Array.from(complement(bases)).reverse().join("");
var Molecule = class {
  constructor({ name, bases, circular, annotations, translations }) {
    Object.assign(this, { name, bases, circular, annotations, translations });
    this.length = bases.length;
    this.lower = complement(bases);
  }
  /** How many bases a range has. */
  span(start, end) {
    return end > start ? end - start : end - start + this.length;
  }
  /** The range as one or two pieces that do not go over the origin. */
  pieces(start, end) {
    if (end > start) return [[start, end]];
    return [[start, this.length], [0, end]].filter(([from, to]) => to > from);
  }
  /** The bases of a range as its strand reads them. */
  part(start, end, strand) {
    const read = this.pieces(start, end).map(([from, to]) => this.bases.slice(from, to)).join("");
    return strand < 0 ? turned(read) : read;
  }
  /** A place that can be: around the circle, or held at the ends. */
  place(at) {
    return this.circular ? mod(at, this.length) : Math.min(Math.max(at, 0), this.length);
  }
  /** For each mark the first lane in which it covers no other, and how many lanes there are. */
  lanes(marks, most = Infinity) {
    const taken = [];
    const lanes = marks.map((mark) => {
      const pieces = this.pieces(mark.start, mark.end);
      let lane = taken.findIndex(
        (others) => pieces.every(([a, b]) => others.every(([c, d]) => a >= d || c >= b))
      );
      if (lane < 0) lane = Math.min(taken.length, most - 1);
      (taken[lane] ??= []).push(...pieces);
      return lane;
    });
    return { lanes, count: taken.length };
  }
};

// js/sequence/selection.js
var cursor = (anchor) => ({ anchor, reach: 0, strand: 1 });
var of = (molecule, { start, end, strand }) => ({
  anchor: start,
  reach: molecule.span(start, end),
  strand: strand < 0 ? -1 : 1
});
var head = (molecule, { anchor, reach }) => molecule.place(anchor + reach);
function bounds(molecule, { anchor, reach }) {
  if (!reach) return null;
  const { circular, length } = molecule;
  const first = reach > 0 ? anchor : anchor + reach;
  const start = circular ? mod(first, length) : first;
  const end = start + Math.abs(reach);
  return { start, end: end > length ? end - length : end };
}
function moved(molecule, selection, by, extend) {
  if (!selection) return cursor(0);
  if (!extend) return cursor(molecule.place(head(molecule, selection) + by));
  return { ...selection, reach: held(molecule, selection.anchor, selection.reach + by) };
}
function dragged(molecule, selection, to) {
  const from = head(molecule, selection);
  let by = to - from;
  if (molecule.circular && Math.abs(by) > molecule.length / 2) by -= Math.sign(by) * molecule.length;
  return { ...selection, strand: 1, reach: held(molecule, selection.anchor, selection.reach + by) };
}
var straight = (selection, to) => ({ ...selection, strand: 1, reach: to - selection.anchor });
function told(molecule, selection) {
  if (!selection) return "Nothing is selected.";
  const found = bounds(molecule, selection);
  if (!found) return `Cursor before base ${(selection.anchor + 1).toLocaleString("en")}`;
  const size = Math.abs(selection.reach).toLocaleString("en");
  return `Selected ${found.start + 1}-${found.end} (${size} bp, ${selection.strand < 0 ? "−" : "+"})`;
}
function held(molecule, anchor, reach) {
  const { circular, length } = molecule;
  if (circular) return Math.min(Math.max(reach, -length), length);
  return Math.min(Math.max(reach, -anchor), length - anchor);
}

// js/sequence/spread.js
function spread(wanted, gap, most) {
  const pools = [];
  for (const place of wanted) {
    pools.push({ sum: place, count: 1 });
    for (; ; ) {
      const [one, two] = pools.slice(-2);
      if (!two || one.sum / one.count + one.count * gap <= two.sum / two.count) break;
      one.sum += two.sum - one.count * two.count * gap;
      one.count += two.count;
      pools.pop();
    }
  }
  const placed = pools.flatMap(
    ({ sum, count: count2 }) => Array.from({ length: count2 }, (_, i) => sum / count2 + i * gap)
  );
  for (let i = 0, least = -most; i < placed.length; i++, least = placed[i - 1] + gap) {
    placed[i] = Math.max(placed[i], least);
  }
  for (let i = placed.length - 1, high = most; i >= 0; high = placed[i--] - gap) {
    placed[i] = Math.min(placed[i], high);
  }
  return placed;
}

// js/sequence/svg.js
var NAMESPACE = "http://www.w3.org/2000/svg";
function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== void 0 && value !== "") made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== ""));
  return made;
}
var line = (x1, y1, x2, y2, className) => svg("line", { x1, y1, x2, y2, class: className });
var rect = (x, y, width, height, className, more = {}) => svg("rect", { x, y, width: Math.max(width, 0), height, class: className, ...more });
var cut = (text, letters) => text.length <= letters ? text : `${text.slice(0, Math.max(letters - 1, 0)).trimEnd()}…`;
function step(length, ticks) {
  for (let power = 1; ; power *= 10) {
    for (const each of [1, 2, 5]) if (each * power * ticks >= length) return each * power;
  }
}
function pale(color) {
  const digits = color.length === 7 ? color.slice(1) : [...color.slice(1)].map((c) => c + c).join("");
  let parts = [0, 2, 4].map((i) => parseInt(digits.slice(i, i + 2), 16) / 255);
  while (bright(parts) < 0.34) parts = parts.map((part) => part + (1 - part) * 0.12);
  return `rgb(${parts.map((part) => Math.round(part * 255)).join(" ")})`;
}
function bright(parts) {
  const [r, g, b] = parts.map((part) => part ** 2.2);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

// js/sequence/circle.js
var THICK = 13;
var LANE = 17;
var LANES = 4;
var GAP = 15;
var LETTER = 6.4;
var CROWD = 600;
var Circle = class {
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
    const radius = this.#radius = Math.min(Math.max(width * 0.24, 64), 150);
    const letters = Math.floor((width / 2 - radius - 40) / LETTER);
    const { lanes, count: count2 } = molecule.lanes(annotations, LANES);
    this.#free = radius - LANE * Math.max(count2 - 1, 0) - THICK / 2 - 3;
    const labels = [
      ...annotations.map((mark, i) => ({
        turn: (mark.start + molecule.span(mark.start, mark.end) / 2) / length % 1,
        text: mark.name,
        size: molecule.span(mark.start, mark.end),
        pick: `annotation:${i}`,
        color: pale(mark.color)
      })),
      ...sites.map((site, i) => ({
        turn: site.cut / length % 1,
        text: site.enzyme,
        size: length,
        pick: `site:${i}`
      }))
    ];
    const most = radius + 50;
    const sides = [1, -1].map((side) => this.#side(labels, side, most));
    const low = Math.min(-radius - 18, ...sides.flatMap((side) => side.map(({ y: y2 }) => y2 - 9)));
    const high = Math.max(radius + 18, ...sides.flatMap((side) => side.map(({ y: y2 }) => y2 + 9)));
    this.#center = [width / 2, -low];
    this.element.setAttribute("width", width);
    this.element.setAttribute("height", high - low);
    const [x, y] = this.#center;
    this.#still.replaceChildren(
      svg("circle", { cx: x, cy: y, r: radius, class: "labext-axis" }),
      ...this.#ticks(),
      ...annotations.map((mark, i) => this.#band(mark, i, lanes[i])),
      ...sides.flatMap((side, i) => side.map((label) => this.#label(label, i ? -1 : 1, letters))),
      ...this.#name()
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
    const own = labels.filter(({ turn }) => turn < 0.5 === side > 0).sort((one, two) => two.size - one.size).slice(0, Math.floor(2 * most / GAP)).sort((one, two) => side * (one.turn - two.turn));
    const wanted = own.map(({ turn }) => -Math.cos(2 * Math.PI * turn) * (this.#radius + 18));
    return spread(wanted, GAP, most).map((y, i) => ({ ...own[i], y }));
  }
  #at(turn, radius) {
    const angle = 2 * Math.PI * turn;
    return [this.#center[0] + radius * Math.sin(angle), this.#center[1] - radius * Math.cos(angle)];
  }
  #spot = (turn, radius) => this.#at(turn, radius).map((each) => each.toFixed(1)).join(" ");
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
      "Z"
    ].join("");
    const path = { d, class: "labext-band", fill: pale(mark.color), "data-pick": `annotation:${i}` };
    return svg("path", path, svg("title", {}, mark.name));
  }
  #ring(start, span, inner, outer, className) {
    const { length } = this.#molecule;
    const a = start / length;
    const b = a + Math.min(span / length, 0.9999);
    const large = +(b - a > 0.5);
    const d = `M${this.#spot(a, outer)}A${outer} ${outer} 0 ${large} 1 ${this.#spot(b, outer)}L${this.#spot(b, inner)}A${inner} ${inner} 0 ${large} 0 ${this.#spot(a, inner)}Z`;
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
    for (let base = apart; base <= length - apart / 3; base += apart) if (base > 1) bases.push(base);
    return bases.flatMap((base) => {
      const turn = (base - 0.5) / length;
      const [x, y] = this.#at(turn, this.#free - 14);
      const d = `M${this.#spot(turn, this.#free)}L${this.#spot(turn, this.#free - 4)}`;
      const words = { x, y: y + 3, "text-anchor": "middle", class: "labext-tick" };
      return [
        svg("path", { d, class: "labext-axis" }),
        svg("text", words, base.toLocaleString("en"))
      ];
    });
  }
  #label({ turn, text, pick, color, y }, side, letters) {
    const [cx, cy] = this.#center;
    const column = cx + side * (this.#radius + 36);
    const [ex, ey] = this.#at(turn, this.#radius + 14);
    const d = `M${this.#spot(turn, this.#radius + THICK / 2)}L${ex.toFixed(1)} ${ey.toFixed(1)}L${column - side * 18} ${ey.toFixed(1)}L${column - side * 3} ${cy + y}`;
    const words = {
      x: column,
      y: cy + y + 4,
      "text-anchor": side > 0 ? "start" : "end",
      class: color ? "labext-label" : "labext-label labext-site",
      "data-pick": pick
    };
    return svg(
      "g",
      {},
      svg("path", { d, class: "labext-leader", style: color ? `stroke:${color}` : "" }),
      svg("text", words, cut(text, Math.max(letters, 3)), svg("title", {}, text))
    );
  }
  #name() {
    const [x, y] = this.#center;
    const room = 2 * (this.#free - 26);
    const { name, length } = this.#molecule;
    const size = name.length * 8.4 <= room ? 14 : 11;
    const letters = Math.max(Math.floor(room / (0.6 * size)), 4);
    const style = `font-size:${size}px`;
    const bp = `${length.toLocaleString("en")} bp`;
    return [
      svg("text", { x, y: y - 3, class: "labext-name", style }, cut(name, letters)),
      svg("text", { x, y: y + 14, class: "labext-tick", "text-anchor": "middle" }, bp)
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
};

// js/sequence/copy.js
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyByCommand(text);
  }
}
function copyByCommand(text) {
  const focused = document.activeElement;
  const area = Object.assign(document.createElement("textarea"), { value: text });
  area.style.position = "fixed";
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  focused?.focus?.({ preventScroll: true });
  return done;
}

// js/sequence/keys.js
function keys(event, { molecule, selection, perRow, choose, copy: copy2 }) {
  const { key, shiftKey } = event;
  const command = event.ctrlKey || event.metaKey;
  const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -perRow, ArrowDown: perRow };
  const { length } = molecule;
  if (command && key.toLowerCase() === "c") copy2();
  else if (command && key.toLowerCase() === "a") choose({ anchor: 0, reach: length, strand: 1 });
  else if (command || event.altKey) return;
  else if (key in steps) choose(moved(molecule, selection, steps[key], shiftKey));
  else if (key === "Home" || key === "End") {
    const to = key === "Home" ? 0 : length;
    choose(shiftKey && selection ? { ...selection, reach: to - selection.anchor } : cursor(to));
  } else if (key === "Escape" && selection) choose(null);
  else return;
  event.preventDefault();
}

// js/sequence/row.js
var LETTERS = 6.6;
var STRAND = 15;
var NAME = 13;
var LANE2 = 17;
var TALL = 13;
var LETTER2 = 6.4;
var Row = class {
  constructor(molecule, { first, count: count2, scale, sites, codons: codons2 }) {
    Object.assign(this, { molecule, first, count: count2, scale });
    this.last = first + count2;
    this.letters = scale >= LETTERS;
    this.width = count2 * scale;
    this.cuts = this.#cuts(sites);
    this.codons = this.letters ? codons2.map((each) => each.filter((codon) => this.#has(codon.at))) : [];
    this.codons = this.codons.filter((each) => each.length);
    this.bands = this.#bands();
    this.strands = 6 + (1 + Math.max(-1, ...this.cuts.map(({ lane }) => lane))) * NAME;
    this.ruler = this.strands + (this.letters ? 2 * STRAND + 3 : 7);
    this.below = this.ruler + 20;
    this.annotations = this.below + this.codons.length * LANE2;
    this.height = this.annotations + (1 + Math.max(-1, ...this.bands.map(({ lane }) => lane))) * LANE2 + 8;
  }
  x = (base) => (base - this.first) * this.scale;
  draw(total) {
    this.under = svg("g");
    this.over = svg("g");
    return svg(
      "svg",
      { width: total, height: this.height, style: `top:${this.top}px`, "aria-hidden": "true" },
      this.under,
      ...this.#drawStrands(),
      ...this.#drawRuler(),
      ...this.cuts.flatMap((each) => this.#drawCut(each)),
      ...this.codons.flatMap((each, lane) => this.#drawCodons(each, lane)),
      ...this.bands.flatMap((each) => this.#drawBand(each)),
      this.over
    );
  }
  /** Draw the selection and the hits, as far as they are in this row. */
  mark(found, at, hits) {
    if (!this.under) return;
    const under = [];
    const over = [];
    for (const [from, to] of found ? this.#inside(found) : []) {
      const wide = (to - from) * this.scale;
      under.push(rect(this.x(from), 1, wide, this.height - 6, "labext-selected"));
    }
    const edge = (base) => over.push(line(this.x(base), 1, this.x(base), this.height - 5, "labext-edge"));
    const end = this.last === this.molecule.length ? this.last : this.last - 1;
    if (found && this.#has(found.start)) edge(found.start);
    if (found && found.end > this.first && found.end <= this.last) edge(found.end);
    if (!found && at !== null && at >= this.first && at <= end) edge(at);
    for (const hit of hits) {
      for (const [from, to] of this.#inside(hit)) {
        const y = this.strands + (this.letters && hit.strand < 0 ? STRAND : 0);
        const wide = Math.max((to - from) * this.scale, 2);
        under.push(rect(this.x(from), y, wide, this.letters ? STRAND : 6, "labext-hit"));
      }
    }
    this.under.replaceChildren(...under);
    this.over.replaceChildren(...over);
  }
  #has = (base) => base >= this.first && base < this.last;
  #inside({ start, end }) {
    return this.molecule.pieces(start, end).map(([from, to]) => [Math.max(from, this.first), Math.min(to, this.last)]).filter(([from, to]) => to > from);
  }
  /** The cuts with a lane for the name, above every name whose line it would cover. */
  #cuts(sites) {
    const placed = [];
    const own = sites.map((site, i) => ({ site, i, x: this.x(site.cut) })).filter(({ site }) => this.#has(site.cut)).sort((one, two) => two.x - one.x);
    for (const each of own) {
      const wide = each.site.enzyme.length * LETTER2;
      const left = Math.max(Math.min(each.x + 3, this.width - wide), 0);
      const covered = placed.filter((other) => Math.min(other.x, other.left) < left + wide + 4);
      placed.push({ ...each, left, lane: 1 + Math.max(-1, ...covered.map(({ lane }) => lane)) });
    }
    return placed;
  }
  /** The annotations' pieces with a name and a lane; small ones are named beside, on a map. */
  #bands() {
    const ends = [];
    const pieces = this.molecule.annotations.flatMap(
      (mark, i) => this.#inside(mark).map(([from, to]) => ({ mark, i, from, to }))
    );
    return pieces.sort((one, two) => one.from - two.from || two.to - one.to).map((piece) => {
      const { mark, from, to } = piece;
      const room = Math.floor(((to - from) * this.scale - 18) / LETTER2);
      const inside = room >= Math.min(mark.name.length, this.letters ? 3 : 200);
      const name = inside ? cut(mark.name, room) : this.letters ? "" : cut(mark.name, 32);
      let [begin, end] = [this.x(from), Math.max(this.x(to), this.x(from) + 3)];
      let x = (begin + end) / 2;
      let anchor = "middle";
      if (!inside && name) {
        const wide = name.length * LETTER2;
        anchor = end + 4 + wide < this.width || begin - 4 - wide < 0 ? "start" : "end";
        x = anchor === "start" ? Math.max(Math.min(end + 4, this.width - wide), 0) : begin - 4;
        if (anchor === "start") end = Math.max(end, x + wide);
        else begin = x - wide;
      }
      let lane = ends.findIndex((taken) => taken <= begin);
      if (lane < 0) lane = ends.length;
      ends[lane] = end + 3;
      return { ...piece, name, inside, x, anchor, lane };
    });
  }
  #drawStrands() {
    const { molecule, first, last, count: count2, scale } = this;
    if (!this.letters) {
      const y = this.strands + 3;
      return [line(0, y, this.width, y, "labext-axis labext-strand")];
    }
    const x = Array.from({ length: count2 }, (_, i) => ((i + 0.5) * scale).toFixed(1)).join(" ");
    const font = `${Math.min(scale * 1.55, 15).toFixed(1)}px`;
    const strand = (bases, lane, className) => svg(
      "text",
      { x, y: this.strands + lane * STRAND + 12, class: className, style: `font-size:${font}` },
      bases.slice(first, last)
    );
    return [
      strand(molecule.bases, 0, "labext-bases"),
      strand(molecule.lower, 1, "labext-bases labext-lower")
    ];
  }
  #drawRuler() {
    const y = this.ruler;
    const apart = step(this.count, Math.max(Math.min(this.width / 75, 10), 1));
    const drawn = this.letters ? [line(0, y, this.width, y, "labext-axis")] : [];
    for (let base = Math.ceil((this.first + 1) / apart) * apart; base <= this.last; base += apart) {
      const x = this.x(base - 0.5);
      const words = base.toLocaleString("en");
      const half = words.length * 2.8;
      const place = Math.max(Math.min(x, Math.max(this.width, 40) - half), half);
      drawn.push(line(x, y, x, y + 4, "labext-axis"));
      drawn.push(svg("text", { x: place, y: y + 14, class: "labext-tick", "text-anchor": "middle" }, words));
    }
    return drawn;
  }
  #drawCut({ site, i, x, left, lane }) {
    const top = this.strands;
    const name = { x: left, y: top - 4 - lane * NAME, class: "labext-label labext-site", "data-pick": `site:${i}` };
    const drawn = [svg("text", name, site.enzyme, svg("title", {}, `${site.enzyme}, cuts before ${site.cut + 1}`))];
    const high = top - 4 - lane * NAME - 9;
    if (!this.letters) return [...drawn, line(x, high, x, top + 6, "labext-cut")];
    drawn.push(line(x, high, x, top + STRAND, "labext-cut"));
    if (site.lower_cut < this.first || site.lower_cut > this.last) return drawn;
    const low = this.x(site.lower_cut);
    drawn.push(line(x, top + STRAND, low, top + STRAND, "labext-cut"));
    drawn.push(line(low, top + STRAND, low, top + 2 * STRAND, "labext-cut"));
    return drawn;
  }
  #drawCodons(codons2, lane) {
    const y = this.below + lane * LANE2;
    return codons2.flatMap(({ at, letter, pick }, i) => {
      const to = Math.min(at + 3, this.last);
      const odd = i % 2 ? "labext-codon labext-odd" : "labext-codon";
      const x = this.x(Math.min(at + 1.5, this.last - 0.5));
      return [
        rect(this.x(at), y, (to - at) * this.scale, TALL, odd, { "data-pick": pick }),
        svg("text", { x, y: y + 10, class: "labext-amino", "data-pick": pick }, letter)
      ];
    });
  }
  #drawBand({ mark, i, from, to, name, inside, x, anchor, lane }) {
    const y = this.annotations + lane * LANE2;
    const mid = y + TALL / 2;
    const begin = this.x(from);
    const end = Math.max(this.x(to), begin + 3);
    const point = Math.min(7, (end - begin) / 2);
    const right = mark.strand > 0 && to === mark.end;
    const left = mark.strand < 0 && from === mark.start;
    const [a, b] = [left ? begin + point : begin, right ? end - point : end];
    const d = `M${a} ${y}L${b} ${y}${right ? `L${end} ${mid}` : ""}L${b} ${y + TALL}L${a} ${y + TALL}${left ? `L${begin} ${mid}` : ""}Z`;
    const pick = `annotation:${i}`;
    const words = {
      x,
      y: y + 10.5,
      "text-anchor": anchor,
      class: inside ? "labext-label labext-on-band" : "labext-label",
      "data-pick": pick
    };
    return [
      svg("path", { d, class: "labext-band", fill: pale(mark.color), "data-pick": pick }, svg("title", {}, mark.name)),
      ...name ? [svg("text", words, name)] : []
    ];
  }
};

// js/sequence/translate.js
var ORDER = "TCAG";
var CODE = "FFLLSSSSYY**CC*WLLLLPPPPHHQQRRRRIIIMTTTTNNKKSSRRVVVVAAAADDEEGGGG";
var amino = (codon) => {
  const [a, b, c] = Array.from(codon, (base) => ORDER.indexOf(base));
  return a < 0 || b < 0 || c < 0 || c === void 0 ? "?" : CODE[16 * a + 4 * b + c];
};
function codons(molecule, { start, end, strand }) {
  const read = molecule.part(start, end, strand).toUpperCase().replaceAll("U", "T");
  const size = Math.floor(read.length / 3);
  return Array.from({ length: size }, (_, i) => ({
    at: strand < 0 ? molecule.place(end - 3 * (i + 1)) : molecule.place(start + 3 * i),
    letter: amino(read.slice(3 * i, 3 * i + 3))
  }));
}

// js/sequence/rows.js
var SIDE = 8;
var AHEAD = 200;
var Rows = class {
  element = element("div", "labext-rows", { tabindex: "-1" });
  perRow = 1;
  #molecule;
  #act;
  #codons;
  #inner = element("div", "labext-rows-all");
  #rows = [];
  #seen = /* @__PURE__ */ new Map();
  // row -> its element
  #marks = [null, null, []];
  constructor(molecule, act) {
    this.#molecule = molecule;
    this.#act = act;
    this.#codons = molecule.translations.map(
      (mark, i) => codons(molecule, mark).map((codon) => ({ ...codon, pick: `translation:${i}` }))
    );
    this.element.append(this.#inner);
    this.element.addEventListener("scroll", () => this.#fill());
    this.element.addEventListener("pointerdown", (event) => this.#press(event));
  }
  /** Lay the rows out: `scale` in pixels a base, or 0 for one row; `height` in pixels or 0. */
  draw(width, height, scale, sites) {
    const molecule = this.#molecule;
    const at = this.#rows.length ? this.#rowAt(this.element.scrollTop).first : 0;
    const room = Math.max(width - 2 * SIDE - (height ? 16 : 0), 60);
    let perRow = scale ? Math.max(Math.floor(room / scale), 3) : molecule.length;
    if (scale && perRow > 20) perRow -= perRow % 10;
    this.perRow = Math.min(perRow, molecule.length);
    const filled = this.perRow === perRow ? room / perRow : scale;
    const each = scale ? filled : Math.min(room / molecule.length, 24);
    this.#rows = [];
    let top = 0;
    for (let first = 0; first < molecule.length; first += this.perRow) {
      const count2 = Math.min(this.perRow, molecule.length - first);
      const row = new Row(molecule, { first, count: count2, scale: each, sites, codons: this.#codons });
      row.top = top;
      top += row.height;
      this.#rows.push(row);
    }
    this.element.style.width = `${width}px`;
    this.element.style.height = height ? `${Math.min(height, top + 2)}px` : "";
    this.#inner.style.height = `${top}px`;
    this.#inner.replaceChildren();
    this.#seen.clear();
    this.element.scrollTop = this.#rows[Math.floor(at / this.perRow)]?.top ?? 0;
    this.#fill();
  }
  mark(selection, hits) {
    const found = selection && bounds(this.#molecule, selection);
    const at = selection && !found ? head(this.#molecule, selection) : null;
    this.#marks = [found, at, hits];
    for (const row of this.#seen.keys()) row.mark(...this.#marks);
  }
  /** Scroll to a base that is not seen: no more than it takes, or to the middle if it is far. */
  show(base) {
    const row = this.#rows[Math.min(Math.floor(base / this.perRow), this.#rows.length - 1)];
    const { scrollTop, clientHeight } = this.element;
    const above = row.top - scrollTop;
    const below = row.top + row.height - scrollTop - clientHeight;
    if (above >= 0 && below <= 0) return;
    const far = above < -clientHeight || below > clientHeight;
    const by = far ? above - clientHeight / 3 : above < 0 ? above : Math.min(below, above);
    this.element.scrollTop = Math.max(scrollTop + by, 0);
    this.#fill();
  }
  #fill() {
    const top = this.element.scrollTop - AHEAD;
    const bottom = this.element.scrollTop + (this.element.clientHeight || 600) + AHEAD;
    const wanted = new Set(this.#rows.filter((row) => row.top < bottom && row.top + row.height > top));
    for (const [row, drawn] of this.#seen) {
      if (wanted.has(row)) continue;
      drawn.remove();
      this.#seen.delete(row);
    }
    for (const row of wanted) {
      if (this.#seen.has(row)) continue;
      const drawn = row.draw(Math.max(row.width, 1));
      this.#seen.set(row, drawn);
      this.#inner.append(drawn);
      row.mark(...this.#marks);
    }
  }
  #rowAt(y) {
    return this.#rows.findLast((row) => row.top <= y) ?? this.#rows[0];
  }
  #base(event) {
    const box = this.#inner.getBoundingClientRect();
    const row = this.#rowAt(event.clientY - box.top);
    const at = Math.round((event.clientX - box.left - SIDE) / row.scale);
    return row.first + Math.min(Math.max(at, 0), row.count);
  }
  #press(event) {
    const scrollbar = event.clientX > this.element.getBoundingClientRect().left + this.element.clientWidth;
    if (event.button !== 0 || scrollbar) return;
    const pick = event.target.closest("[data-pick]")?.dataset.pick;
    if (pick) return this.#act.pick(pick);
    const before = this.#act.selection();
    const from = event.shiftKey && before ? before : cursor(this.#base(event));
    this.#act.select(event.shiftKey ? straight(from, this.#base(event)) : from);
    this.#act.follow(this.element, event, (move) => {
      const { top, bottom } = this.element.getBoundingClientRect();
      if (move.clientY > bottom - 12) this.element.scrollTop += 12;
      if (move.clientY < top + 12) this.element.scrollTop -= 12;
      this.#act.select(straight(from, this.#base(move)));
    });
  }
};

// js/sequence/search.js
var IUPAC = {
  A: 1,
  C: 2,
  G: 4,
  T: 8,
  M: 3,
  R: 5,
  W: 9,
  S: 6,
  Y: 10,
  K: 12,
  V: 7,
  H: 11,
  D: 13,
  B: 14,
  N: 15
};
function search({ bases, circular }, pattern) {
  const wanted = pattern.replace(/\s/g, "").toUpperCase().replaceAll("U", "T");
  const other = turned(wanted);
  if (!wanted || [...wanted].some((letter) => !IUPAC[letter])) return null;
  const read = bases.toUpperCase().replaceAll("U", "T");
  const found = places(read, circular, wanted).map((hit) => ({ ...hit, strand: 1 }));
  if (other !== wanted) {
    for (const hit of places(read, circular, other)) found.push({ ...hit, strand: -1 });
  }
  return found.sort((one, two) => one.start - two.start || two.strand - one.strand);
}
function places(read, circular, wanted) {
  const found = [];
  const { length } = read;
  const size = wanted.length;
  if (size > length) return found;
  const whole = circular ? read + read.slice(0, size - 1) : read;
  const masks = Array.from(wanted, (letter) => IUPAC[letter]);
  const codes = Uint8Array.from(whole, (letter) => IUPAC[letter] ?? 16);
  for (let start = 0; start + size <= codes.length; start++) {
    let i = 0;
    while (i < size && !(codes[start + i] & ~masks[i])) i++;
    if (i === size) {
      const end = start + size;
      found.push({ start, end: end > length ? end - length : end });
    }
  }
  return found;
}

// js/sequence/style.css
var style_default = '.labext-live:has(> .labext-maps) {\n  max-width: 1200px;\n}\n\n.labext-sequence {\n  --labext-ink: var(--jp-content-font-color1, #222);\n  --labext-dim: var(--jp-content-font-color2, #666);\n  --labext-accent: var(--jp-brand-color1, #1976d2);\n  --labext-rule: var(--jp-border-color1, #bdbdbd);\n  --labext-ground: var(--jp-layout-color0, #fff);\n}\n\n.labext-sequence [hidden] {\n  display: none;\n}\n\n.labext-toolbar,\n.labext-finder,\n.labext-field,\n.labext-line {\n  display: flex;\n  flex-wrap: wrap;\n  align-items: center;\n  gap: 4px 8px;\n}\n\n.labext-toolbar {\n  gap: 6px 16px;\n}\n\n.labext-finder,\n.labext-field {\n  flex-wrap: nowrap;\n  min-width: 0;\n}\n\n.labext-line {\n  min-height: 30px;\n  font-variant-numeric: tabular-nums;\n}\n\n.labext-choice {\n  display: flex;\n}\n\n.labext-choice .labext-button {\n  border-radius: 0;\n  margin-left: -1px;\n}\n\n.labext-choice .labext-button:first-child {\n  border-radius: 4px 0 0 4px;\n  margin-left: 0;\n}\n\n.labext-choice .labext-button:last-child {\n  border-radius: 0 4px 4px 0;\n}\n\n.labext-choice .labext-button[aria-pressed="true"] {\n  color: var(--jp-ui-inverse-font-color1, #fff);\n  background: var(--labext-accent);\n  border-color: var(--labext-accent);\n}\n\n.labext-sequence .labext-button:focus-visible {\n  z-index: 1;\n}\n\n.labext-sequence .labext-button:disabled {\n  opacity: 0.45;\n  cursor: default;\n}\n\n.labext-input {\n  font: inherit;\n  min-width: 0;\n  box-sizing: border-box;\n  height: 26px;\n  padding: 2px 6px;\n  color: var(--labext-ink);\n  background: var(--jp-layout-color1, #fff);\n  border: 1px solid var(--labext-rule);\n  border-radius: 4px;\n}\n\n.labext-search {\n  width: 150px;\n  font-family: var(--jp-code-font-family, monospace);\n}\n\n.labext-zoom {\n  width: 90px;\n  accent-color: var(--labext-accent);\n}\n\n.labext-input:focus-visible,\n.labext-maps:focus-visible,\n.labext-annotations summary:focus-visible {\n  outline: 2px solid var(--labext-accent);\n  outline-offset: 1px;\n}\n\n.labext-count {\n  color: var(--labext-dim);\n  white-space: nowrap;\n  font-variant-numeric: tabular-nums;\n}\n\n.labext-maps {\n  border-radius: 4px;\n  user-select: none;\n  touch-action: pan-y;\n}\n\n.labext-beside {\n  display: flex;\n  align-items: flex-start;\n  gap: 8px;\n}\n\n.labext-circle,\n.labext-rows svg {\n  display: block;\n  overflow: visible;\n  cursor: text;\n  font-family: var(--jp-ui-font-family, sans-serif);\n  font-size: 11px;\n  fill: var(--labext-ink);\n}\n\n.labext-circle {\n  margin: 0 auto;\n  cursor: crosshair;\n}\n\n.labext-rows {\n  position: relative;\n  box-sizing: border-box;\n  overflow: hidden auto;\n  padding: 0 8px;\n  background: var(--labext-ground);\n  border: 1px solid var(--jp-border-color2, #e0e0e0);\n  border-radius: 4px;\n}\n\n.labext-rows.labext-overview {\n  overflow: hidden;\n  border-color: transparent;\n}\n\n.labext-rows-all {\n  position: relative;\n}\n\n.labext-rows-all > svg {\n  position: absolute;\n  left: 0;\n}\n\n.labext-axis {\n  fill: none;\n  stroke: var(--labext-dim);\n  stroke-width: 1;\n  opacity: 0.7;\n}\n\n.labext-strand {\n  stroke-width: 2;\n}\n\n.labext-tick {\n  fill: var(--labext-dim);\n  font-size: 10px;\n}\n\n.labext-name {\n  font-size: 14px;\n  font-weight: 600;\n  text-anchor: middle;\n}\n\n.labext-bases {\n  font-family: var(--jp-code-font-family, monospace);\n  text-anchor: middle;\n  text-transform: uppercase;\n}\n\n.labext-lower {\n  fill: var(--labext-dim);\n}\n\n.labext-band,\n.labext-codon,\n.labext-label,\n.labext-amino {\n  cursor: pointer;\n}\n\n.labext-band:hover {\n  filter: brightness(1.08) saturate(1.3);\n}\n\n.labext-label:hover {\n  text-decoration: underline;\n}\n\n.labext-site {\n  font-style: italic;\n  fill: var(--labext-dim);\n}\n\n.labext-on-band {\n  fill: #111;\n}\n\n.labext-leader {\n  fill: none;\n  stroke: var(--labext-dim);\n  stroke-width: 0.8;\n  opacity: 0.65;\n}\n\n.labext-cut {\n  stroke: var(--labext-dim);\n  stroke-width: 1;\n}\n\n.labext-codon {\n  fill: color-mix(in srgb, var(--labext-dim) 14%, transparent);\n}\n\n.labext-codon.labext-odd {\n  fill: color-mix(in srgb, var(--labext-dim) 28%, transparent);\n}\n\n.labext-amino {\n  font-family: var(--jp-code-font-family, monospace);\n  text-anchor: middle;\n}\n\n.labext-selected {\n  fill: color-mix(in srgb, var(--labext-accent) 28%, transparent);\n}\n\n.labext-edge {\n  stroke: var(--labext-accent);\n  stroke-width: 1.5;\n}\n\n.labext-hit {\n  fill: color-mix(in srgb, var(--jp-warn-color1, #f57c00) 45%, transparent);\n}\n\n.labext-annotations {\n  margin-top: 4px;\n}\n\n.labext-annotations summary {\n  cursor: pointer;\n}\n\n.labext-list {\n  display: flex;\n  flex-wrap: wrap;\n  gap: 4px;\n  max-height: 180px;\n  overflow-y: auto;\n  padding: 4px 2px;\n}\n\n.labext-list .labext-button {\n  display: inline-flex;\n  align-items: center;\n  gap: 6px;\n  max-width: 100%;\n  text-align: start;\n}\n\n.labext-dot {\n  flex: none;\n  width: 9px;\n  height: 9px;\n  border-radius: 2px;\n}\n\n.labext-where {\n  color: var(--labext-dim);\n  font-variant-numeric: tabular-nums;\n  white-space: nowrap;\n}\n';

// js/sequence/toolbar.js
function choice(label, options, act) {
  const group = element("div", "labext-choice", { role: "group", "aria-label": label });
  const buttons = options.map(([value, words]) => {
    const made = button(words, `${label}: ${words}`, () => act(value));
    made.setAttribute("aria-label", words);
    made.dataset.value = value;
    return made;
  });
  group.append(...buttons);
  group.show = (value) => {
    for (const each of buttons) each.setAttribute("aria-pressed", String(each.dataset.value === value));
  };
  return group;
}
function field(words, input) {
  const label = element("label", "labext-field");
  label.append(words, input);
  return label;
}
function select(options, act) {
  const made = element("select", "labext-input");
  made.show = (offered) => {
    const chosen = made.value;
    made.replaceChildren(
      ...offered.map(([value, words]) => element("option", "", { value }, words))
    );
    if (offered.some(([value]) => value === chosen)) made.value = chosen;
  };
  made.show(options);
  made.addEventListener("change", () => act(made.value));
  return made;
}
function slider(most, value, act) {
  const made = element("input", "labext-zoom", { type: "range", min: 0, max: most, step: 1 });
  made.value = value;
  made.addEventListener("input", () => act(Number(made.value)));
  return made;
}
function finder(act) {
  const input = element("input", "labext-input labext-search", {
    type: "search",
    spellcheck: "false",
    autocomplete: "off",
    placeholder: "GAATTC, RNNY…"
  });
  const count2 = element("span", "labext-count", { role: "status", "aria-live": "polite" });
  const back = button("‹", "Previous hit", () => act.go(-1));
  const on = button("›", "Next hit", () => act.go(1));
  input.addEventListener("input", () => act.find(input.value));
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") act.go(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape" && input.value) {
      input.value = "";
      act.find("");
    } else return;
    event.preventDefault();
  });
  const group = element("div", "labext-finder", { role: "search" });
  group.append(field("Search", input), back, on, count2);
  group.show = (words, some) => {
    count2.textContent = words;
    back.disabled = on.disabled = !some;
  };
  group.show("", false);
  return group;
}

// js/sequence/view.js
var PAUSE = 150;
var WIDE = 640;
var SHORT = 60;
var HIGH = 340;
var ZOOMS = 11;
var scaleOf = (zoom) => 1.3 ** zoom;
var MANY = 2e3;
function sequence(root, view) {
  addStyle("labext-sequence-style", style_default);
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
  const act = {
    selection: () => selection,
    select: (wanted) => choose(wanted),
    pick(what) {
      const [kind, i] = what.split(":");
      const among = { annotation: molecule.annotations, translation: molecule.translations, site: sites[whose] };
      const mark2 = among[kind][i];
      choose(of(molecule, kind === "site" ? { ...mark2, strand: 1 } : mark2), { show: true });
    },
    follow(target, event, move) {
      event.preventDefault();
      maps.focus({ preventScroll: true });
      target.setPointerCapture(event.pointerId);
      const on = (each) => view.guard(() => move(each));
      target.addEventListener("pointermove", on);
      const off = () => target.removeEventListener("pointermove", on);
      target.addEventListener("lostpointercapture", off, { once: true });
    }
  };
  const circle = molecule.circular ? new Circle(molecule, act) : null;
  const overview = new Rows(molecule, act);
  const rows = new Rows(molecule, act);
  overview.element.classList.add("labext-overview");
  const maps = element("div", "labext-maps", {
    tabindex: "0",
    role: "application",
    "aria-label": `Map of ${molecule.name}, ${molecule.length} bases. Arrow keys move the cursor, with Shift they select; Escape clears.`
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
        hits.length > 0
      );
      mark();
    },
    go(by) {
      if (!hits.length) return;
      at = at < 0 && by < 0 ? hits.length - 1 : (at + by + hits.length) % hits.length;
      finding.show(`${at + 1} of ${hits.length}`, true);
      choose(of(molecule, hits[at]), { show: true });
    }
  });
  const copying = button("Copy", "Copy the selected bases", () => copySelected());
  const zoomField = field("Zoom", zooming);
  const toolbar = element("div", "labext-toolbar");
  if (circle) toolbar.append(modes);
  toolbar.append(zoomField, field("Sites", cutters), finding);
  const status = element("div", "labext-status", { role: "status", "aria-live": "polite" });
  const line2 = element("div", "labext-line");
  line2.append(status, copying);
  root.classList.add("labext-sequence");
  root.append(toolbar, line2, maps, ...annotations());
  function offered() {
    return [
      ["chosen", `Chosen (${names(sites.chosen)})`],
      ["unique", `Cut once (${names(sites.unique)})`],
      ["none", "None"]
    ];
  }
  function annotations() {
    if (!molecule.annotations.length) return [];
    const list = element("details", "labext-annotations");
    const buttons = molecule.annotations.map((mark2, i) => {
      const strand = mark2.strand > 0 ? " +" : mark2.strand < 0 ? " −" : "";
      const where = `${mark2.start + 1}-${mark2.end}${strand}`;
      const made = button("", `Select ${mark2.name}, ${where}`, () => act.pick(`annotation:${i}`));
      const dot = element("span", "labext-dot");
      dot.style.backgroundColor = mark2.color;
      made.append(dot, mark2.name, element("span", "labext-where", {}, where));
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
  maps.addEventListener(
    "keydown",
    (event) => view.guard(
      () => keys(event, {
        molecule,
        selection,
        perRow: mode === "circular" ? Math.max(Math.round(molecule.length / 36), 1) : rows.perRow,
        copy: copySelected,
        choose(wanted) {
          choose(wanted);
          if (selection && mode !== "circular") rows.show(head(molecule, selection));
        }
      })
    )
  );
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
var count = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
var names = (sites) => new Set(sites.map(({ enzyme }) => enzyme)).size;

// js/sequence.js
var views = { sequence };
export {
  views
};
