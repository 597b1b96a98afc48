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
var PAIRS = { U: "A" };
for (const [one, other] of ["AT", "CG", "MK", "RY", "WW", "SS", "VB", "HD", "NN"]) {
  PAIRS[one] = other;
  PAIRS[other] = one;
}
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
    return [
      [start, this.length],
      [0, end]
    ].filter(([from, to]) => to > from);
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

// js/sequence/words.js
var digits = (value) => value.toLocaleString("en");
var number = (value, noun) => `${digits(value)} ${noun}${value === 1 ? "" : "s"}`;

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
  if (molecule.circular && Math.abs(by) > molecule.length / 2)
    by -= Math.sign(by) * molecule.length;
  return { ...selection, strand: 1, reach: held(molecule, selection.anchor, selection.reach + by) };
}
var straight = (selection, to) => ({
  ...selection,
  strand: 1,
  reach: to - selection.anchor
});
function told(molecule, selection) {
  if (!selection) return "Nothing is selected.";
  const found = bounds(molecule, selection);
  if (!found) return `Cursor before base ${digits(selection.anchor + 1)}`;
  const size = digits(Math.abs(selection.reach));
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
    ({ sum, count }) => Array.from({ length: count }, (_, i) => sum / count + i * gap)
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
  const digits2 = color.length === 7 ? color.slice(1) : [...color.slice(1)].map((c) => c + c).join("");
  let parts = [0, 2, 4].map((i) => parseInt(digits2.slice(i, i + 2), 16) / 255);
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
var TICKS = 50;
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
    const names = [...annotations.map(({ name }) => name), ...sites.map(({ enzyme }) => enzyme)];
    const longest = Math.max(0, ...names.map((name) => name.length)) * LETTER;
    const beside = Math.min(longest, width * 0.17) + 40;
    const wide = Math.min(Math.max(width / 2 - beside, 64), 150);
    const letters = Math.floor((width / 2 - wide - 40) / LETTER);
    const named = letters >= 3;
    const radius = this.#radius = named ? wide : Math.min(Math.max(width / 2 - 20, 40), 150);
    const { lanes, count } = molecule.lanes(annotations, LANES);
    this.#free = radius - LANE * Math.max(count - 1, 0) - THICK / 2 - 3;
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
    const sides = [1, -1].map((side) => this.#side(named ? labels : [], side, most));
    const low = Math.min(-radius - 18, ...sides.flatMap((side) => side.map(({ y: y2 }) => y2 - 9)));
    const high = Math.max(radius + 18, ...sides.flatMap((side) => side.map(({ y: y2 }) => y2 + 9)));
    this.#center = [width / 2, -low];
    this.element.setAttribute("width", width);
    this.element.setAttribute("height", high - low);
    const [x, y] = this.#center;
    this.#still.replaceChildren(
      svg("circle", { cx: x, cy: y, r: radius, class: "labext-axis" }),
      ...this.#free > TICKS ? this.#ticks() : [],
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
    const path = {
      d,
      class: "labext-band",
      fill: pale(mark.color),
      "data-pick": `annotation:${i}`
    };
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
      svg("text", words, cut(text, letters), svg("title", {}, text))
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
function keys(event, molecule, selection, perRow, choose, copy2) {
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

// js/sequence/list.js
function list(annotations, pick) {
  const made = element("details", "labext-annotations");
  const inner = element("div", "labext-list");
  inner.append(...annotations.map((mark, i) => entry(mark, () => pick(`annotation:${i}`))));
  made.append(element("summary", "", {}, number(annotations.length, "annotation")), inner);
  return made;
}
function entry({ name, start, end, strand, color }, act) {
  const sign = strand > 0 ? " +" : strand < 0 ? " −" : "";
  const where = `${start + 1}-${end}${sign}`;
  const made = button("", `Select ${name}, ${where}`, act);
  const dot = element("span", "labext-dot");
  dot.style.backgroundColor = color;
  made.append(dot, name, element("span", "labext-where", {}, where));
  return made;
}

// js/sequence/row.js
var LETTERS = 6.6;
var STRAND = 15;
var NAME = 13;
var LANE2 = 17;
var TALL = 13;
var LETTER2 = 6.4;
var Row = class {
  constructor(molecule, { first, count, scale, sites, codons: codons2 }) {
    Object.assign(this, { molecule, first, count, scale });
    this.last = first + count;
    this.letters = scale >= LETTERS;
    this.width = count * scale;
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
    const { molecule, first, last, count, scale } = this;
    if (!this.letters) {
      const y = this.strands + 3;
      return [line(0, y, this.width, y, "labext-axis labext-strand")];
    }
    const x = Array.from({ length: count }, (_, i) => ((i + 0.5) * scale).toFixed(1)).join(" ");
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
      const words = digits(base);
      const half = words.length * 2.8;
      const place = Math.max(Math.min(x, Math.max(this.width, 40) - half), half);
      drawn.push(line(x, y, x, y + 4, "labext-axis"));
      drawn.push(
        svg("text", { x: place, y: y + 14, class: "labext-tick", "text-anchor": "middle" }, words)
      );
    }
    return drawn;
  }
  #drawCut({ site, i, x, left, lane }) {
    const top = this.strands;
    const name = {
      x: left,
      y: top - 4 - lane * NAME,
      class: "labext-label labext-site",
      "data-pick": `site:${i}`
    };
    const drawn = [
      svg(
        "text",
        name,
        site.enzyme,
        svg("title", {}, `${site.enzyme}, cuts before ${site.cut + 1}`)
      )
    ];
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
      svg(
        "path",
        { d, class: "labext-band", fill: pale(mark.color), "data-pick": pick },
        svg("title", {}, mark.name)
      ),
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
    const before = this.#rows.length ? this.#rowAt(this.element.scrollTop) : { first: 0, top: 0 };
    const into = this.element.scrollTop - before.top;
    const room = Math.max(width - 2 * SIDE - (height ? 16 : 0), 60);
    let perRow = scale ? Math.max(Math.floor(room / scale), 3) : molecule.length;
    if (scale && perRow > 20) perRow -= perRow % 10;
    this.perRow = Math.min(perRow, molecule.length);
    const filled = this.perRow === perRow ? room / perRow : scale;
    const each = scale ? filled : Math.min(room / molecule.length, 24);
    this.#rows = [];
    let top = 0;
    for (let first = 0; first < molecule.length; first += this.perRow) {
      const count = Math.min(this.perRow, molecule.length - first);
      const row = new Row(molecule, { first, count, scale: each, sites, codons: this.#codons });
      row.top = top;
      top += row.height;
      this.#rows.push(row);
    }
    this.element.style.width = `${width}px`;
    this.element.style.height = height ? `${Math.min(height, top + 2)}px` : "";
    this.#inner.style.height = `${top}px`;
    this.#inner.replaceChildren();
    this.#seen.clear();
    const after = this.#rows[Math.floor(before.first / this.perRow)];
    this.element.scrollTop = after.top + Math.min(into, after.height);
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
    if (!row) return;
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
    const wanted = new Set(
      this.#rows.filter((row) => row.top < bottom && row.top + row.height > top)
    );
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
var style_default = `.labext-live:has(> .labext-maps) {
  max-width: 1200px;
}

.labext-sequence {
  --labext-ink: var(--jp-content-font-color1, #222);
  --labext-dim: var(--jp-content-font-color2, #666);
  --labext-accent: var(--jp-brand-color1, #1976d2);
  --labext-rule: var(--jp-border-color1, #bdbdbd);
  --labext-ground: var(--jp-layout-color0, #fff);
}

.labext-sequence [hidden] {
  display: none;
}

.labext-toolbar,
.labext-finder,
.labext-field,
.labext-line {
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 4px 8px;
}

.labext-toolbar {
  gap: 6px 16px;
}

.labext-field {
  flex-wrap: nowrap;
  min-width: 0;
}

.labext-line {
  min-height: 30px;
  font-variant-numeric: tabular-nums;
}

.labext-title {
  overflow-wrap: anywhere;
}

.labext-status {
  padding-left: 8px;
  border-left: 1px solid var(--labext-rule);
}

.labext-choice {
  display: flex;
}

.labext-choice .labext-button {
  border-radius: 0;
  margin-left: -1px;
}

.labext-choice .labext-button:first-child {
  border-radius: 4px 0 0 4px;
  margin-left: 0;
}

.labext-choice .labext-button:last-child {
  border-radius: 0 4px 4px 0;
}

.labext-choice .labext-button[aria-pressed="true"] {
  color: var(--jp-ui-inverse-font-color1, #fff);
  background: var(--labext-accent);
  border-color: var(--labext-accent);
}

.labext-sequence .labext-button:focus-visible {
  z-index: 1;
}

.labext-sequence .labext-button:disabled {
  opacity: 0.45;
  cursor: default;
}

.labext-input {
  font: inherit;
  min-width: 0;
  box-sizing: border-box;
  height: 26px;
  padding: 2px 6px;
  color: var(--labext-ink);
  background: var(--jp-layout-color1, #fff);
  border: 1px solid var(--labext-rule);
  border-radius: 4px;
}

.labext-search {
  width: 150px;
  font-family: var(--jp-code-font-family, monospace);
}

.labext-zoom {
  width: 90px;
  accent-color: var(--labext-accent);
}

.labext-input:focus-visible,
.labext-maps:focus-visible,
.labext-annotations summary:focus-visible {
  outline: 2px solid var(--labext-accent);
  outline-offset: 1px;
}

.labext-maps:focus-visible {
  outline-offset: -2px; /* a cell's output cuts off what is outside */
}

.labext-count {
  color: var(--labext-dim);
  white-space: nowrap;
  font-variant-numeric: tabular-nums;
}

.labext-maps {
  border-radius: 4px;
  user-select: none;
  touch-action: pan-y;
}

.labext-beside {
  display: flex;
  align-items: flex-start;
  gap: 8px;
}

.labext-circle,
.labext-rows svg {
  display: block;
  overflow: visible;
  cursor: text;
  font-family: var(--jp-ui-font-family, sans-serif);
  font-size: 11px;
  fill: var(--labext-ink);
}

.labext-circle {
  margin: 0 auto;
  cursor: crosshair;
}

.labext-rows {
  position: relative;
  box-sizing: border-box;
  overflow: hidden auto;
  padding: 0 8px;
  background: var(--labext-ground);
  border: 1px solid var(--jp-border-color2, #e0e0e0);
  border-radius: 4px;
}

.labext-rows.labext-overview {
  overflow: hidden;
  border-color: transparent;
}

.labext-rows-all {
  position: relative;
}

.labext-rows-all > svg {
  position: absolute;
  left: 0;
}

.labext-axis {
  fill: none;
  stroke: var(--labext-dim);
  stroke-width: 1;
  opacity: 0.7;
}

.labext-strand {
  stroke-width: 2;
}

.labext-tick {
  fill: var(--labext-dim);
  font-size: 10px;
}

.labext-name {
  font-size: 14px;
  font-weight: 600;
  text-anchor: middle;
}

.labext-bases {
  font-family: var(--jp-code-font-family, monospace);
  text-anchor: middle;
  text-transform: uppercase;
}

.labext-lower {
  fill: var(--labext-dim);
}

.labext-band,
.labext-codon,
.labext-label,
.labext-amino {
  cursor: pointer;
}

.labext-band:hover {
  filter: brightness(1.08) saturate(1.3);
}

.labext-label:hover {
  text-decoration: underline;
}

.labext-site {
  font-style: italic;
  fill: var(--labext-dim);
}

.labext-on-band {
  fill: #111;
}

.labext-leader {
  fill: none;
  stroke: var(--labext-dim);
  stroke-width: 0.8;
  opacity: 0.65;
}

.labext-cut {
  stroke: var(--labext-dim);
  stroke-width: 1;
}

.labext-codon {
  fill: color-mix(in srgb, var(--labext-dim) 14%, transparent);
}

.labext-codon.labext-odd {
  fill: color-mix(in srgb, var(--labext-dim) 28%, transparent);
}

.labext-amino {
  font-family: var(--jp-code-font-family, monospace);
  text-anchor: middle;
}

.labext-selected {
  fill: color-mix(in srgb, var(--labext-accent) 28%, transparent);
}

.labext-edge {
  stroke: var(--labext-accent);
  stroke-width: 1.5;
}

.labext-hit {
  fill: color-mix(in srgb, var(--jp-warn-color1, #f57c00) 45%, transparent);
}

.labext-annotations {
  margin-top: 4px;
}

.labext-annotations summary {
  cursor: pointer;
}

.labext-list {
  display: flex;
  flex-wrap: wrap;
  gap: 4px;
  max-height: 180px;
  overflow-y: auto;
  padding: 4px 2px;
}

.labext-list .labext-button {
  display: inline-flex;
  align-items: center;
  gap: 6px;
  max-width: 100%;
  text-align: start;
}

.labext-dot {
  flex: none;
  width: 9px;
  height: 9px;
  border-radius: 2px;
}

.labext-where {
  color: var(--labext-dim);
  font-variant-numeric: tabular-nums;
  white-space: nowrap;
}
`;

// js/sequence/telling.js
var PAUSE = 150;
var Telling = class {
  #view;
  #by;
  #timer = 0;
  #next = null;
  #told = JSON.stringify({ start: null });
  constructor(view, by) {
    this.#view = view;
    this.#by = by;
  }
  /** Tell of a range `{start, end, strand}`, or of none by `{start: null}`. */
  tell(range) {
    this.#next = range;
    if (this.#timer) return;
    this.#send();
    this.#timer = setTimeout(() => {
      this.#timer = 0;
      this.#view.guard(() => this.#send());
    }, PAUSE);
  }
  /** The kernel has said this itself: it needs not be told. */
  known({ start, end, strand }) {
    this.#next = start === null ? { start } : { start, end, strand };
    this.#told = JSON.stringify(this.#next);
  }
  end() {
    clearTimeout(this.#timer);
  }
  #send() {
    const said = JSON.stringify(this.#next);
    if (said === this.#told) return;
    this.#told = said;
    this.#view.send({ do: "select", ...this.#next, by: this.#by });
  }
};

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
    for (const each of buttons)
      each.setAttribute("aria-pressed", String(each.dataset.value === value));
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
  made.show = (offered2) => {
    const chosen = made.value;
    made.replaceChildren(
      ...offered2.map(([value, words]) => element("option", "", { value }, words))
    );
    if (offered2.some(([value]) => value === chosen)) made.value = chosen;
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
  const count = element("span", "labext-count", { role: "status", "aria-live": "polite" });
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
  group.append(field("Search", input), back, on, count);
  group.show = (words, some) => {
    count.textContent = words;
    back.disabled = on.disabled = !some;
  };
  group.show("", false);
  return group;
}

// js/sequence/view.js
var WIDE = 640;
var SHORT = 60;
var HIGH = 340;
var ZOOMS = 11;
var scaleOf = (zoom) => 1.3 ** zoom;
var MANY = 2e3;
var MODES = [
  ["circular", "Circular"],
  ["linear", "Linear"],
  ["both", "Both"]
];
function sequence(root, view) {
  addStyle("labext-sequence-style", style_default);
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
  let at = -1;
  let width = 0;
  const safe = (act2) => (...given) => view.guard(() => act2(...given));
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
    })
  };
  const circle = molecule.circular ? new Circle(molecule, act) : null;
  const overview = new Rows(molecule, act);
  const rows = new Rows(molecule, act);
  overview.element.classList.add("labext-overview");
  const drawn = element("div", "labext-drawn");
  drawn.append(...circle ? [circle.element] : [], overview.element);
  const maps = element("div", "labext-maps", {
    tabindex: "0",
    role: "application",
    "aria-label": `Map of ${molecule.name}, ${number(molecule.length, "base")}. Arrow keys move the cursor, with Shift they select; Escape clears.`
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
  toolbar.append(...circle ? [modes] : [], zoomField, field("Sites", cutters), finding);
  const status = element("div", "labext-status", { role: "status", "aria-live": "polite" });
  const copying = button("Copy", "Copy the selected bases", () => copySelected());
  const line2 = element("div", "labext-line");
  const title = element("strong", "labext-title", {}, molecule.name);
  line2.append(title, `${digits(molecule.length)} bp`, status, copying);
  root.classList.add("labext-sequence");
  root.append(toolbar, line2, maps);
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
  const resized = new ResizeObserver(([entry2]) => {
    const now = Math.floor(entry2.contentRect.width);
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
    ["none", "None"]
  ];
}

// js/sequence.js
var views = { sequence };
export {
  views
};
