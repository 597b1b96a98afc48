// js/dom.js
function createElement(name, className = "", attributes = {}, text = "") {
  const element = document.createElement(name);
  element.className = className;
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.textContent = text;
  return element;
}
function createButton(label, description, onClick) {
  const attributes = { type: "button", title: description, "aria-label": description };
  const button = createElement("button", "labext-button", attributes, label);
  button.addEventListener("click", (event) => {
    if (button.getAttribute("aria-disabled") !== "true") onClick(event);
  });
  return button;
}
function setDisabled(button, disabled) {
  button.setAttribute("aria-disabled", String(disabled));
}

// js/format.js
var formatNumber = (value) => value.toLocaleString("en");
var pluralize = (count, noun) => `${formatNumber(count)} ${noun}${count === 1 ? "" : "s"}`;

// js/style.js
function addStyle(id, css) {
  let style = document.getElementById(id);
  if (!style) {
    style = Object.assign(document.createElement("style"), { id });
    document.head.append(style);
  }
  if (style.textContent !== css) style.textContent = css;
}

// js/toolbar.css
var toolbar_default = '.labext-viewer [hidden] {\n  display: none;\n}\n\n.labext-toolbar,\n.labext-field,\n.labext-status-line {\n  display: flex;\n  flex-wrap: wrap;\n  align-items: center;\n  gap: 4px 8px;\n}\n\n.labext-toolbar {\n  gap: 6px 16px;\n}\n\n.labext-field {\n  flex-wrap: nowrap;\n  min-width: 0;\n}\n\n.labext-status-line {\n  min-height: 30px;\n  font-variant-numeric: tabular-nums;\n}\n\n.labext-status {\n  padding-left: 8px;\n  border-left: 1px solid var(--labext-rule);\n}\n\n.labext-status-line > .labext-status {\n  min-width: min(18em, 50%); /* what follows keeps its place */\n}\n\n.labext-input {\n  font: inherit;\n  min-width: 0;\n  box-sizing: border-box;\n  height: 26px;\n  padding: 2px 6px;\n  color: var(--labext-ink);\n  background: var(--jp-layout-color1, #fff);\n  border: 1px solid var(--labext-rule);\n  border-radius: 4px;\n}\n\n.labext-title {\n  overflow-wrap: anywhere;\n}\n\n.labext-button-group {\n  display: flex;\n}\n\n.labext-button-group .labext-button {\n  border-radius: 0;\n  margin-left: -1px;\n}\n\n.labext-button-group .labext-button:first-child {\n  border-radius: 4px 0 0 4px;\n  margin-left: 0;\n}\n\n.labext-button-group .labext-button:last-child {\n  border-radius: 0 4px 4px 0;\n}\n\n.labext-viewer .labext-button[aria-pressed="true"] {\n  color: var(--jp-ui-inverse-font-color1, #fff);\n  background: var(--labext-accent);\n  border-color: var(--labext-accent);\n}\n\n@media (forced-colors: active) {\n  .labext-viewer .labext-button[aria-pressed="true"] {\n    forced-color-adjust: none;\n    color: HighlightText;\n    background: Highlight;\n  }\n}\n\n.labext-viewer .labext-button:focus-visible {\n  z-index: 1;\n}\n\n.labext-zoom {\n  width: 90px;\n  accent-color: var(--labext-accent);\n}\n\n.labext-input:focus-visible {\n  outline: 2px solid var(--labext-accent);\n  outline-offset: 1px;\n}\n';

// js/toolbar.js
function createButtonGroup(label, options, onChange) {
  const group = createElement("div", "labext-button-group", { role: "group", "aria-label": label });
  const buttons = options.map(([value, text]) => {
    const button = createButton(text, `${label}: ${text}`, () => onChange(value));
    button.setAttribute("aria-label", text);
    button.dataset.value = value;
    return button;
  });
  group.append(...buttons);
  group.update = (value) => {
    for (const button of buttons)
      button.setAttribute("aria-pressed", String(button.dataset.value === value));
  };
  return group;
}
function createField(text, input) {
  const label = createElement("label", "labext-field");
  label.append(text, input);
  return label;
}
function createSelect(options, onChange) {
  const select = createElement("select", "labext-input");
  select.update = (options2) => {
    const selected = select.value;
    select.replaceChildren(
      ...options2.map(([value, text]) => createElement("option", "", { value }, text))
    );
    if (options2.some(([value]) => value === selected)) select.value = selected;
  };
  select.update(options);
  select.addEventListener("change", () => onChange(select.value));
  return select;
}
function createSlider(max, value, onChange) {
  const slider = createElement("input", "labext-zoom", { type: "range", min: 0, max, step: 1 });
  slider.value = value;
  slider.addEventListener("input", () => onChange(Number(slider.value)));
  return slider;
}
function createToolbar(root, ...controls) {
  addStyle("labext-toolbar-style", toolbar_default);
  root.classList.add("labext-viewer");
  const toolbar = createElement("div", "labext-toolbar");
  toolbar.append(...controls);
  return toolbar;
}
function createStatus() {
  return createElement("div", "labext-status", { role: "status", "aria-live": "polite" });
}

// js/sequence/label_layout.js
function spreadLabels(positions, gap, limit) {
  const pools = [];
  for (const position of positions) {
    pools.push({ sum: position, count: 1 });
    for (; ; ) {
      const [previous, last] = pools.slice(-2);
      if (!last) break;
      if (previous.sum / previous.count + previous.count * gap <= last.sum / last.count) break;
      previous.sum += last.sum - previous.count * last.count * gap;
      previous.count += last.count;
      pools.pop();
    }
  }
  const placed = pools.flatMap(
    ({ sum, count }) => Array.from({ length: count }, (_, i) => sum / count + i * gap)
  );
  for (let i = 0, low = -limit; i < placed.length; i++, low = placed[i - 1] + gap) {
    placed[i] = Math.max(placed[i], low);
  }
  for (let i = placed.length - 1, high = limit; i >= 0; high = placed[i--] - gap) {
    placed[i] = Math.min(placed[i], high);
  }
  return placed;
}

// js/sequence/molecule.js
var mod = (a, n) => (a % n + n) % n;
var COMPLEMENTS = { U: "A" };
for (const [a, b] of ["AT", "CG", "MK", "RY", "WW", "SS", "VB", "HD", "NN"]) {
  COMPLEMENTS[a] = b;
  COMPLEMENTS[b] = a;
}
for (const [a, b] of Object.entries(COMPLEMENTS)) COMPLEMENTS[a.toLowerCase()] = b.toLowerCase();
var complement = (bases) => Array.from(bases, (base) => COMPLEMENTS[base] ?? base).join("");
var reverse = (bases) => Array.from(bases).reverse().join("");
var reverseComplement = (bases) => reverse(complement(bases));
var Molecule = class {
  constructor({ name, bases, circular, annotations, translations }) {
    Object.assign(this, { name, bases, circular, annotations, translations });
    this.length = bases.length;
    this.lowerStrand = this.#complement(bases);
  }
  /** Return the complement of bases of the molecule, which is RNA if it has U and no T. */
  #complement(bases) {
    const other = complement(bases);
    const isRna = /u/i.test(this.bases) && !/t/i.test(this.bases);
    return isRna ? other.replaceAll("T", "U").replaceAll("t", "u") : other;
  }
  /** Return the number of bases in a range. */
  rangeLength(start, end) {
    return end > start ? end - start : end - start + this.length;
  }
  /** Split a range at the origin. */
  splitRange(start, end) {
    if (end > start) return [[start, end]];
    return [
      [start, this.length],
      [0, end]
    ].filter(([from, to]) => to > from);
  }
  /** Return the bases of a range as read on its strand. */
  extract(start, end, strand) {
    const bases = this.splitRange(start, end).map(([from, to]) => this.bases.slice(from, to)).join("");
    return strand < 0 ? reverse(this.#complement(bases)) : bases;
  }
  /** Normalize a position: around a circular molecule, clamped to a linear one. */
  normalize(position) {
    if (this.circular) return mod(position, this.length);
    return Math.min(Math.max(position, 0), this.length);
  }
  /**
   * Assign each mark the first lane in which it overlaps no other; return the lanes, their count,
   * and how many marks are over others in the last lane.
   */
  assignLanes(marks, maxLanes) {
    const occupied = [];
    let crowded = 0;
    const lanes = marks.map((mark) => {
      const ranges = this.splitRange(mark.start, mark.end);
      let lane = occupied.findIndex(
        (others) => ranges.every(([a, b]) => others.every(([c, d]) => a >= d || c >= b))
      );
      if (lane < 0) {
        if (occupied.length === maxLanes) crowded += 1;
        lane = Math.min(occupied.length, maxLanes - 1);
      }
      (occupied[lane] ??= []).push(...ranges);
      return lane;
    });
    return { lanes, count: occupied.length, crowded };
  }
};

// js/sequence/selection.js
var cursorAt = (anchor) => ({ anchor, extent: 0, strand: 1 });
var selectRange = (molecule, { start, end, strand }) => ({
  anchor: start,
  extent: molecule.rangeLength(start, end),
  strand: strand < 0 ? -1 : 1
});
var headOf = (molecule, { anchor, extent }) => molecule.normalize(anchor + extent);
function rangeOf(molecule, { anchor, extent }) {
  if (!extent) return null;
  const { circular, length } = molecule;
  const first = extent > 0 ? anchor : anchor + extent;
  const start = circular ? mod(first, length) : first;
  const end = start + Math.abs(extent);
  return { start, end: end > length ? end - length : end };
}
function moveHead(molecule, selection, by, extend) {
  if (!selection) return cursorAt(0);
  if (!extend) return cursorAt(molecule.normalize(headOf(molecule, selection) + by));
  return { ...selection, extent: clampExtent(molecule, selection.anchor, selection.extent + by) };
}
function dragHead(molecule, selection, position) {
  let by = position - headOf(molecule, selection);
  if (molecule.circular && Math.abs(by) > molecule.length / 2)
    by -= Math.sign(by) * molecule.length;
  const extent = clampExtent(molecule, selection.anchor, selection.extent + by);
  return { ...selection, strand: 1, extent };
}
var extendTo = (selection, position) => ({
  ...selection,
  strand: 1,
  extent: position - selection.anchor
});
function describeSelection(molecule, selection) {
  if (!selection) return "Nothing selected.";
  const range = rangeOf(molecule, selection);
  if (!range) {
    const position = headOf(molecule, selection);
    if (position === molecule.length) return `Cursor after base ${formatNumber(position)}`;
    return `Cursor before base ${formatNumber(position + 1)}`;
  }
  const size = formatNumber(Math.abs(selection.extent));
  return `Selected ${range.start + 1}-${range.end} (${size} bp, ${selection.strand < 0 ? "−" : "+"})`;
}
function clampExtent(molecule, anchor, extent) {
  const { circular, length } = molecule;
  if (circular) return Math.min(Math.max(extent, -length), length);
  return Math.min(Math.max(extent, -anchor), length - anchor);
}

// js/svg.js
var NAMESPACE = "http://www.w3.org/2000/svg";
function createSvg(name, attributes = {}, ...children) {
  const element = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== void 0 && value !== "") element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== ""));
  return element;
}
var createLine = (x1, y1, x2, y2, className) => createSvg("line", { x1, y1, x2, y2, class: className });
var createRect = (x, y, width, height, className, attributes = {}) => createSvg("rect", { x, y, width: Math.max(width, 0), height, class: className, ...attributes });
function truncate(text, letters) {
  const characters = [...text];
  if (characters.length <= letters) return text;
  return `${characters.slice(0, Math.max(letters - 1, 0)).join("").trimEnd()}…`;
}
function tickStep(length, ticks) {
  for (let power = 1; ; power *= 10) {
    for (const factor of [1, 2, 5]) if (factor * power * ticks >= length) return factor * power;
  }
}
function lighten(color) {
  const digits = color.length === 7 ? color.slice(1) : [...color.slice(1)].map((c) => c + c).join("");
  let channels = [0, 2, 4].map((i) => parseInt(digits.slice(i, i + 2), 16) / 255);
  while (luminance(channels) < 0.34) channels = channels.map((value) => value + (1 - value) * 0.12);
  return `rgb(${channels.map((value) => Math.round(value * 255)).join(" ")})`;
}
function luminance(channels) {
  const [r, g, b] = channels.map((value) => value ** 2.2);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

// js/sequence/circular_map.js
var BAND_WIDTH = 13;
var LANE_WIDTH = 17;
var MAX_LANES = 4;
var LABEL_GAP = 15;
var MAX_LABELS = 45;
var LETTER_WIDTH = 6.4;
var TICK_RADIUS = 50;
var MAX_HITS = 600;
var CircularMap = class {
  element = createSvg("svg", { class: "labext-circle", "aria-hidden": "true" });
  #molecule;
  #actions;
  #background = createSvg("g");
  #foreground = createSvg("g");
  #content = createSvg("g");
  #center = [0, 0];
  #radius = 100;
  #innerRadius = 80;
  constructor(molecule, actions) {
    this.#molecule = molecule;
    this.#actions = actions;
    this.element.append(this.#background, this.#content, this.#foreground);
    this.element.addEventListener("pointerdown", (event) => this.#onPointerDown(event));
  }
  /** Draw the parts that do not depend on selection and search: bands, ticks, labels, sites.
   * Return the number of sites without room for their label. */
  draw(width, sites) {
    const molecule = this.#molecule;
    const { annotations, length } = molecule;
    const names = [...annotations.map(({ name }) => name), ...sites.map(({ enzyme }) => enzyme)];
    const longest = Math.max(0, ...names.map((name) => name.length)) * LETTER_WIDTH;
    const margin = Math.min(longest, width * 0.17) + 40;
    const labelledRadius = Math.min(Math.max(width / 2 - margin, 64), 150);
    const letters = Math.floor((width / 2 - labelledRadius - 40) / LETTER_WIDTH);
    const hasLabels = letters >= 3;
    const radius = this.#radius = hasLabels ? labelledRadius : Math.min(Math.max(width / 2 - 20, 40), 150);
    const { lanes, count } = molecule.assignLanes(annotations, MAX_LANES);
    this.#innerRadius = radius - LANE_WIDTH * Math.max(count - 1, 0) - BAND_WIDTH / 2 - 3;
    const labels = [
      ...annotations.map((mark, i) => ({
        turn: (mark.start + molecule.rangeLength(mark.start, mark.end) / 2) / length % 1,
        text: mark.name,
        size: molecule.rangeLength(mark.start, mark.end),
        pick: `annotation:${i}`,
        color: lighten(mark.color)
      })),
      ...sites.map((site, i) => ({
        turn: site.cut / length % 1,
        text: site.enzyme,
        size: length,
        pick: `site:${i}`
      }))
    ];
    const maxHeight = radius + 50;
    const columns = [1, -1].map(
      (side) => this.#placeLabels(hasLabels ? labels : [], side, maxHeight)
    );
    const top = Math.min(
      -radius - 18,
      ...columns.flatMap((labels2) => labels2.map(({ y: y2 }) => y2 - 9))
    );
    const bottom = Math.max(
      radius + 18,
      ...columns.flatMap((labels2) => labels2.map(({ y: y2 }) => y2 + 9))
    );
    this.#center = [width / 2, -top];
    this.element.setAttribute("width", width);
    this.element.setAttribute("height", bottom - top);
    const [x, y] = this.#center;
    this.#content.replaceChildren(
      createSvg("circle", { cx: x, cy: y, r: radius, class: "labext-axis" }),
      ...this.#innerRadius > TICK_RADIUS ? this.#ticks() : [],
      ...annotations.map((mark, i) => this.#band(mark, i, lanes[i])),
      ...columns.flatMap(
        (labels2, i) => labels2.map((label) => this.#label(label, i ? -1 : 1, letters))
      ),
      ...this.#name()
    );
    return sites.length - columns.flat().filter(({ color }) => !color).length;
  }
  /** Draw the selection and the search hits. */
  highlight(selection, hits) {
    const { length } = this.#molecule;
    const outer = this.#radius + 12;
    const inner = Math.max(this.#innerRadius - 4, 10);
    const range = selection && rangeOf(this.#molecule, selection);
    const background = [];
    const foreground = [];
    if (range) {
      const span = this.#molecule.rangeLength(range.start, range.end);
      background.push(this.#ring(range.start, span, inner, outer, "labext-selected"));
      for (const position of [range.start, range.end])
        foreground.push(this.#spoke(position, inner, outer));
    } else if (selection) {
      foreground.push(this.#spoke(headOf(this.#molecule, selection), inner, outer));
    }
    for (const hit of hits.length > MAX_HITS ? [] : hits) {
      const span = Math.max(this.#molecule.rangeLength(hit.start, hit.end), length / 400);
      background.push(
        this.#ring(hit.start, span, this.#radius - 9, this.#radius + 9, "labext-hit")
      );
    }
    this.#background.replaceChildren(...background);
    this.#foreground.replaceChildren(...foreground);
  }
  /** Return the labels of one side that fit, sites and longest features first, with their height. */
  #placeLabels(labels, side, maxHeight) {
    const onSide = labels.filter(({ turn }) => turn < 0.5 === side > 0);
    const sites = onSide.filter(({ color }) => !color).length;
    const visible = onSide.sort((a, b) => b.size - a.size).slice(0, Math.min(Math.floor(2 * maxHeight / LABEL_GAP) + sites, MAX_LABELS)).sort((a, b) => side * (a.turn - b.turn));
    const heights = visible.map(({ turn }) => -Math.cos(2 * Math.PI * turn) * (this.#radius + 18));
    const limit = Math.max(maxHeight, visible.length * LABEL_GAP / 2);
    return spreadLabels(heights, LABEL_GAP, limit).map((y, i) => ({ ...visible[i], y }));
  }
  #point(turn, radius) {
    const angle = 2 * Math.PI * turn;
    return [this.#center[0] + radius * Math.sin(angle), this.#center[1] - radius * Math.cos(angle)];
  }
  #coordinates = (turn, radius) => this.#point(turn, radius).map((value) => value.toFixed(1)).join(" ");
  #band(mark, i, lane) {
    const { length } = this.#molecule;
    const middle = this.#radius - LANE_WIDTH * lane;
    const [inner, outer] = [middle - BAND_WIDTH / 2, middle + BAND_WIDTH / 2];
    const minTurn = 3 / (2 * Math.PI * middle);
    const size = Math.min(this.#molecule.rangeLength(mark.start, mark.end) / length, 0.9999);
    const turn = Math.max(size, minTurn);
    const begin = mark.start / length - (turn - size) / 2;
    const headTurn = mark.strand ? Math.min(7 / (2 * Math.PI * middle), turn / 2) : 0;
    const a = mark.strand < 0 ? begin + headTurn : begin;
    const b = mark.strand > 0 ? begin + turn - headTurn : begin + turn;
    const large = +(b - a > 0.5);
    const d = [
      `M${this.#coordinates(a, outer)}A${outer} ${outer} 0 ${large} 1 ${this.#coordinates(b, outer)}`,
      mark.strand > 0 ? `L${this.#coordinates(begin + turn, middle)}` : "",
      `L${this.#coordinates(b, inner)}A${inner} ${inner} 0 ${large} 0 ${this.#coordinates(a, inner)}`,
      mark.strand < 0 ? `L${this.#coordinates(begin, middle)}` : "",
      "Z"
    ].join("");
    const path = {
      d,
      class: "labext-band",
      fill: lighten(mark.color),
      "data-pick": `annotation:${i}`
    };
    return createSvg("path", path, createSvg("title", {}, mark.name));
  }
  #ring(start, span, inner, outer, className) {
    const { length } = this.#molecule;
    const a = start / length;
    const b = a + Math.min(span / length, 0.9999);
    const large = +(b - a > 0.5);
    const d = `M${this.#coordinates(a, outer)}A${outer} ${outer} 0 ${large} 1 ${this.#coordinates(b, outer)}L${this.#coordinates(b, inner)}A${inner} ${inner} 0 ${large} 0 ${this.#coordinates(a, inner)}Z`;
    return createSvg("path", { d, class: className });
  }
  #spoke(position, inner, outer) {
    const turn = position / this.#molecule.length;
    const d = `M${this.#coordinates(turn, inner)}L${this.#coordinates(turn, outer)}`;
    return createSvg("path", { d, class: "labext-edge" });
  }
  #ticks() {
    const { length } = this.#molecule;
    const distance = tickStep(length, this.#radius < 90 ? 4 : 8);
    const bases = [1];
    for (let base = distance; base <= length - distance / 3; base += distance)
      if (base > 1) bases.push(base);
    return bases.flatMap((base) => {
      const turn = (base - 0.5) / length;
      const [x, y] = this.#point(turn, this.#innerRadius - 14);
      const d = `M${this.#coordinates(turn, this.#innerRadius)}L${this.#coordinates(turn, this.#innerRadius - 4)}`;
      const attributes = { x, y: y + 3, "text-anchor": "middle", class: "labext-tick" };
      return [
        createSvg("path", { d, class: "labext-axis" }),
        createSvg("text", attributes, formatNumber(base))
      ];
    });
  }
  #label({ turn, text, pick, color, y }, side, letters) {
    const [cx, cy] = this.#center;
    const column = cx + side * (this.#radius + 36);
    const [ex, ey] = this.#point(turn, this.#radius + 14);
    const d = `M${this.#coordinates(turn, this.#radius + BAND_WIDTH / 2)}L${ex.toFixed(1)} ${ey.toFixed(1)}L${column - side * 18} ${ey.toFixed(1)}L${column - side * 3} ${cy + y}`;
    const attributes = {
      x: column,
      y: cy + y + 4,
      "text-anchor": side > 0 ? "start" : "end",
      class: color ? "labext-label" : "labext-label labext-site",
      "data-pick": pick
    };
    return createSvg(
      "g",
      {},
      createSvg("path", { d, class: "labext-leader", style: color ? `stroke:${color}` : "" }),
      createSvg("text", attributes, truncate(text, letters), createSvg("title", {}, text))
    );
  }
  #name() {
    const [x, y] = this.#center;
    if (this.#innerRadius < 30) return [];
    const room = 2 * (this.#innerRadius - (this.#innerRadius > TICK_RADIUS ? 26 : 4));
    const { name, length } = this.#molecule;
    const size = name.length * 8.4 <= room ? 14 : 11;
    const letters = Math.max(Math.floor(room / (0.6 * size)), 4);
    const style = `font-size:${size}px`;
    const bp = `${formatNumber(length)} bp`;
    return [
      createSvg("text", { x, y: y - 3, class: "labext-map-name", style }, truncate(name, letters)),
      createSvg("text", { x, y: y + 14, class: "labext-tick", "text-anchor": "middle" }, bp)
    ];
  }
  #positionAt(event) {
    const box = this.element.getBoundingClientRect();
    const x = event.clientX - box.left - this.#center[0];
    const y = event.clientY - box.top - this.#center[1];
    const turn = Math.atan2(x, -y) / (2 * Math.PI);
    return this.#molecule.normalize(
      Math.round((turn < 0 ? turn + 1 : turn) * this.#molecule.length)
    );
  }
  #onPointerDown(event) {
    if (event.button !== 0) return;
    const pick = event.target.closest("[data-pick]")?.dataset.pick;
    if (pick) return this.#actions.pick(pick);
    const position = this.#positionAt(event);
    const previous = this.#actions.selection();
    let selection = event.shiftKey && previous ? dragHead(this.#molecule, previous, position) : cursorAt(position);
    this.#actions.select(selection);
    this.#actions.trackPointer(this.element, event, (move) => {
      selection = dragHead(this.#molecule, selection, this.#positionAt(move));
      this.#actions.select(selection);
    });
  }
};

// js/sequence/annotation_list.js
function annotationList(molecule, pick) {
  const { annotations, circular } = molecule;
  const details = createElement("details", "labext-annotations");
  const list = createElement("div", "labext-list");
  list.append(
    ...annotations.map((mark, i) => annotationButton(mark, () => pick(`annotation:${i}`)))
  );
  const crowded = circular ? molecule.assignLanes(annotations, MAX_LANES).crowded : 0;
  const note = crowded ? `, ${crowded} drawn over others in the innermost ring` : "";
  const count = pluralize(annotations.length, "annotation");
  const summary = createElement("summary", "", {}, count + note);
  details.append(summary, list);
  return details;
}
function annotationButton({ name, start, end, strand, color }, onClick) {
  const sign = strand > 0 ? " +" : strand < 0 ? " −" : "";
  const range = `${start + 1}-${end}${sign}`;
  const button = createButton("", `Select ${name}, ${range}`, onClick);
  const dot = createElement("span", "labext-dot");
  dot.style.backgroundColor = color;
  button.append(dot, name, createElement("span", "labext-range", {}, range));
  return button;
}

// js/sequence/clipboard.js
async function copyText(text) {
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
  const copied = document.execCommand("copy");
  area.remove();
  focused?.focus?.({ preventScroll: true });
  return copied;
}

// js/sequence/keyboard.js
function handleKey(event, molecule, selection, perRow, select, copy) {
  const { key, shiftKey } = event;
  const command = event.ctrlKey || event.metaKey;
  const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -perRow, ArrowDown: perRow };
  const { length } = molecule;
  if (command && key.toLowerCase() === "c") copy();
  else if (command && key.toLowerCase() === "a") select({ anchor: 0, extent: length, strand: 1 });
  else if (command || event.altKey) return;
  else if (key in steps) select(moveHead(molecule, selection, steps[key], shiftKey));
  else if (key === "Home" || key === "End") {
    const position = key === "Home" ? 0 : length;
    const extending = shiftKey && selection;
    select(extending ? { ...selection, extent: position - selection.anchor } : cursorAt(position));
  } else if (key === "Escape" && selection) select(null);
  else return;
  event.preventDefault();
}

// js/sequence/linear_map_row.js
var MIN_LETTER_SCALE = 6.6;
var STRAND_HEIGHT = 15;
var NAME_HEIGHT = 13;
var LANE_HEIGHT = 17;
var BAND_HEIGHT = 13;
var LETTER_WIDTH2 = 6.4;
var MAX_LETTERS = 32;
var LinearMapRow = class {
  constructor(molecule, { first, count, scale, sites, codons }) {
    Object.assign(this, { molecule, first, count, scale });
    this.last = first + count;
    this.hasLetters = scale >= MIN_LETTER_SCALE;
    this.width = count * scale;
    this.cuts = this.#layoutCuts(sites);
    this.codons = this.hasLetters ? codons.map((translation) => translation.filter((codon) => this.#overlaps(codon))) : [];
    this.codons = this.codons.filter((translation) => translation.length);
    this.bands = this.#layoutBands();
    this.strandsTop = 6 + (1 + Math.max(-1, ...this.cuts.map(({ lane }) => lane))) * NAME_HEIGHT;
    this.rulerTop = this.strandsTop + (this.hasLetters ? 2 * STRAND_HEIGHT + 3 : 7);
    this.translationsTop = this.rulerTop + 20;
    this.annotationsTop = this.translationsTop + this.codons.length * LANE_HEIGHT;
    this.height = this.annotationsTop + (1 + Math.max(-1, ...this.bands.map(({ lane }) => lane))) * LANE_HEIGHT + 8;
  }
  x = (base) => (base - this.first) * this.scale;
  draw(width) {
    this.background = createSvg("g");
    this.foreground = createSvg("g");
    return createSvg(
      "svg",
      { width, height: this.height, style: `top:${this.top}px`, "aria-hidden": "true" },
      this.background,
      ...this.#drawStrands(),
      ...this.#drawRuler(),
      ...this.cuts.flatMap((cut) => this.#drawCut(cut)),
      ...this.codons.flatMap((translation, lane) => this.#drawCodons(translation, lane)),
      ...this.bands.flatMap((band) => this.#drawBand(band)),
      this.foreground
    );
  }
  /** Draw the parts of the selection, the cursor and the search hits that lie in this row. */
  highlight(range, cursor, hits) {
    if (!this.background) return;
    const background = [];
    const foreground = [];
    for (const [from, to] of range ? this.#clip(range) : []) {
      const width = (to - from) * this.scale;
      background.push(createRect(this.x(from), 1, width, this.height - 6, "labext-selected"));
    }
    const edge = (base) => foreground.push(createLine(this.x(base), 1, this.x(base), this.height - 5, "labext-edge"));
    const end = this.last === this.molecule.length ? this.last : this.last - 1;
    if (range && this.#has(range.start)) edge(range.start);
    if (range && range.end > this.first && range.end <= this.last) edge(range.end);
    if (!range && cursor !== null && cursor >= this.first && cursor <= end) edge(cursor);
    for (const hit of hits) {
      for (const [from, to] of this.#clip(hit)) {
        const y = this.strandsTop + (this.hasLetters && hit.strand < 0 ? STRAND_HEIGHT : 0);
        const width = Math.max((to - from) * this.scale, 2);
        background.push(
          createRect(this.x(from), y, width, this.hasLetters ? STRAND_HEIGHT : 6, "labext-hit")
        );
      }
    }
    this.background.replaceChildren(...background);
    this.foreground.replaceChildren(...foreground);
  }
  #has = (base) => base >= this.first && base < this.last;
  #overlaps = ({ position, length }) => position < this.last && position + length > this.first;
  #clip({ start, end }) {
    return this.molecule.splitRange(start, end).map(([from, to]) => [Math.max(from, this.first), Math.min(to, this.last)]).filter(([from, to]) => to > from);
  }
  /** Assign the name of each cut a lane above every name whose line it would cover. */
  #layoutCuts(sites) {
    const placed = [];
    const visible = sites.map((site, i) => ({ site, i, x: this.x(site.cut) })).filter(({ site }) => this.#has(site.cut)).sort((a, b) => b.x - a.x);
    for (const cut of visible) {
      const width = cut.site.enzyme.length * LETTER_WIDTH2;
      const left = Math.max(Math.min(cut.x + 3, this.width - width), 0);
      const covered = placed.filter((other) => Math.min(other.x, other.left) < left + width + 4);
      placed.push({ ...cut, left, lane: 1 + Math.max(-1, ...covered.map(({ lane }) => lane)) });
    }
    return placed;
  }
  /** Assign each annotation a lane and a label: inside the band or, without letters, beside it. */
  #layoutBands() {
    const laneEnds = [];
    const pieces = this.molecule.annotations.flatMap(
      (mark, i) => this.#clip(mark).map(([from, to]) => ({ mark, i, from, to }))
    );
    return pieces.sort((a, b) => a.from - b.from || b.to - a.to).map((piece) => {
      const { mark, from, to } = piece;
      const room = Math.floor(((to - from) * this.scale - 18) / LETTER_WIDTH2);
      const letters = Math.min(MAX_LETTERS, Math.floor(this.width / LETTER_WIDTH2));
      const short = truncate(mark.name, letters);
      const width = short.length * LETTER_WIDTH2;
      let [begin, end] = [this.x(from), Math.max(this.x(to), this.x(from) + 3)];
      const [fitsAfter, fitsBefore] = [end + 4 + width < this.width, begin - 4 - width >= 0];
      const fewest = this.hasLetters || !(fitsAfter || fitsBefore) ? 3 : MAX_LETTERS;
      const inside = room >= Math.min(mark.name.length, fewest);
      const name = inside ? truncate(mark.name, room) : this.hasLetters ? "" : short;
      let x = (begin + end) / 2;
      let anchor = "middle";
      if (!inside && name) {
        anchor = fitsAfter || !fitsBefore ? "start" : "end";
        x = anchor === "start" ? Math.max(Math.min(end + 4, this.width - width), 0) : begin - 4;
        if (anchor === "start") end = Math.max(end, x + width);
        else begin = x - width;
      }
      let lane = laneEnds.findIndex((occupied) => occupied <= begin);
      if (lane < 0) lane = laneEnds.length;
      laneEnds[lane] = end + 3;
      return { ...piece, name, inside, x, anchor, lane };
    });
  }
  #drawStrands() {
    const { molecule, first, last, count, scale } = this;
    if (!this.hasLetters) {
      const y = this.strandsTop + 3;
      return [createLine(0, y, this.width, y, "labext-axis labext-strand")];
    }
    const x = Array.from({ length: count }, (_, i) => ((i + 0.5) * scale).toFixed(1)).join(" ");
    const font = `${Math.min(scale * 1.55, 15).toFixed(1)}px`;
    const strand = (bases, lane, className) => createSvg(
      "text",
      {
        x,
        y: this.strandsTop + lane * STRAND_HEIGHT + 12,
        class: className,
        style: `font-size:${font}`
      },
      bases.slice(first, last)
    );
    return [
      strand(molecule.bases, 0, "labext-bases"),
      strand(molecule.lowerStrand, 1, "labext-bases labext-lower")
    ];
  }
  #drawRuler() {
    const y = this.rulerTop;
    const distance = tickStep(this.count, Math.max(Math.min(this.width / 75, 10), 1));
    const elements = this.hasLetters ? [createLine(0, y, this.width, y, "labext-axis")] : [];
    for (let base = Math.ceil((this.first + 1) / distance) * distance; base <= this.last; base += distance) {
      const x = this.x(base - 0.5);
      const label = formatNumber(base);
      const half = label.length * 2.8;
      const labelX = Math.max(Math.min(x, Math.max(this.width, 40) - half), half);
      elements.push(createLine(x, y, x, y + 4, "labext-axis"));
      elements.push(
        createSvg(
          "text",
          { x: labelX, y: y + 14, class: "labext-tick", "text-anchor": "middle" },
          label
        )
      );
    }
    return elements;
  }
  #drawCut({ site, i, x, left, lane }) {
    const top = this.strandsTop;
    const attributes = {
      x: left,
      y: top - 4 - lane * NAME_HEIGHT,
      class: "labext-label labext-site",
      "data-pick": `site:${i}`
    };
    const elements = [
      createSvg(
        "text",
        attributes,
        site.enzyme,
        createSvg("title", {}, `${site.enzyme}, cuts before ${site.cut + 1}`)
      )
    ];
    const lineTop = top - 4 - lane * NAME_HEIGHT - 9;
    if (!this.hasLetters) return [...elements, createLine(x, lineTop, x, top + 6, "labext-cut")];
    elements.push(createLine(x, lineTop, x, top + STRAND_HEIGHT, "labext-cut"));
    if (site.lower_cut < this.first || site.lower_cut > this.last) return elements;
    const lowerX = this.x(site.lower_cut);
    elements.push(createLine(x, top + STRAND_HEIGHT, lowerX, top + STRAND_HEIGHT, "labext-cut"));
    elements.push(
      createLine(lowerX, top + STRAND_HEIGHT, lowerX, top + 2 * STRAND_HEIGHT, "labext-cut")
    );
    return elements;
  }
  #drawCodons(codons, lane) {
    const y = this.translationsTop + lane * LANE_HEIGHT;
    return codons.flatMap(({ position, length, number, letter, pick }) => {
      const from = Math.max(position, this.first);
      const to = Math.min(position + length, this.last);
      const className = number % 2 ? "labext-codon labext-odd" : "labext-codon";
      const attributes = { "data-pick": pick };
      const x = this.x((from + to) / 2);
      const text = this.#has(position + Math.floor(length / 2)) ? letter : "";
      return [
        createRect(this.x(from), y, (to - from) * this.scale, BAND_HEIGHT, className, attributes),
        createSvg("text", { x, y: y + 10, class: "labext-amino", ...attributes }, text)
      ];
    });
  }
  #drawBand({ mark, i, from, to, name, inside, x, anchor, lane }) {
    const y = this.annotationsTop + lane * LANE_HEIGHT;
    const middle = y + BAND_HEIGHT / 2;
    const begin = this.x(from);
    const end = Math.max(this.x(to), begin + 3);
    const head = Math.min(7, (end - begin) / 2);
    const right = mark.strand > 0 && to === mark.end;
    const left = mark.strand < 0 && from === mark.start;
    const [a, b] = [left ? begin + head : begin, right ? end - head : end];
    const d = `M${a} ${y}L${b} ${y}${right ? `L${end} ${middle}` : ""}L${b} ${y + BAND_HEIGHT}L${a} ${y + BAND_HEIGHT}${left ? `L${begin} ${middle}` : ""}Z`;
    const pick = `annotation:${i}`;
    const attributes = {
      x,
      y: y + 10.5,
      "text-anchor": anchor,
      class: inside ? "labext-label labext-on-band" : "labext-label",
      "data-pick": pick
    };
    return [
      createSvg(
        "path",
        { d, class: "labext-band", fill: lighten(mark.color), "data-pick": pick },
        createSvg("title", {}, mark.name)
      ),
      ...name ? [createSvg("text", attributes, name)] : []
    ];
  }
};

// js/sequence/translation.js
var ORDER = "TCAG";
var CODE = "FFLLSSSSYY**CC*WLLLLPPPPHHQQRRRRIIIMTTTTNNKKSSRRVVVVAAAADDEEGGGG";
var aminoAcid = (codon) => {
  const [a, b, c] = Array.from(codon, (base) => ORDER.indexOf(base));
  return a < 0 || b < 0 || c < 0 || c === void 0 ? "?" : CODE[16 * a + 4 * b + c];
};
function translate(molecule, { strand, regions, amino_acids: aminoAcids }) {
  const letters = strand < 0 ? molecule.lowerStrand : molecule.bases;
  const positions = regions.flatMap(([start, end]) => molecule.splitRange(start, end)).flatMap(([from, to]) => Array.from({ length: to - from }, (_, i) => from + i));
  if (strand < 0) positions.reverse();
  const pieces = [];
  for (let i = 0; i + 3 <= positions.length; i += 3) {
    const codon = positions.slice(i, i + 3);
    const middle = codon[1];
    const bases = codon.map((position) => letters[position]).join("");
    const letter = aminoAcids[i / 3] ?? aminoAcid(bases.toUpperCase().replaceAll("U", "T"));
    for (const [from, to] of joinPositions(codon.sort((a, b) => a - b))) {
      const hasMiddle = from <= middle && middle < to;
      pieces.push({
        position: from,
        length: to - from,
        number: i / 3,
        letter: hasMiddle ? letter : ""
      });
    }
  }
  return pieces;
}
function joinPositions(positions) {
  const ranges = [];
  for (const position of positions) {
    if (ranges.at(-1)?.[1] === position) ranges.at(-1)[1] += 1;
    else ranges.push([position, position + 1]);
  }
  return ranges;
}

// js/sequence/linear_map.js
var PADDING = 8;
var OVERSCAN = 200;
var LinearMap = class {
  element = createElement("div", "labext-rows", { role: "group", "aria-label": "Bases" });
  perRow = 1;
  #molecule;
  #actions;
  #codons;
  #content = createElement("div", "labext-rows-all");
  #rows = [];
  #visible = /* @__PURE__ */ new Map();
  // row -> its element
  #highlights = [null, null, []];
  constructor(molecule, actions) {
    this.#molecule = molecule;
    this.#actions = actions;
    this.#codons = molecule.translations.map(
      (mark, i) => translate(molecule, mark).map((codon) => ({ ...codon, pick: `translation:${i}` }))
    );
    this.element.append(this.#content);
    this.element.addEventListener("scroll", () => this.#drawVisible());
    this.element.addEventListener("pointerdown", (event) => this.#onPointerDown(event));
  }
  /** Lay out the rows; `scale` is in pixels per base, 0 for a single row; `height` may be 0. */
  draw(width, height, scale, sites) {
    const molecule = this.#molecule;
    const previous = this.#rows.length ? this.#rowAt(this.element.scrollTop) : { first: 0, top: 0 };
    const offset = this.element.scrollTop - previous.top;
    const available = Math.max(width - 2 * PADDING - (height ? 16 : 0), 60);
    let perRow = scale ? Math.max(Math.floor(available / scale), 3) : molecule.length;
    if (scale && perRow > 20) perRow -= perRow % 10;
    this.perRow = Math.min(perRow, molecule.length);
    const filled = this.perRow === perRow ? available / perRow : scale;
    const rowScale = scale ? filled : Math.min(available / molecule.length, 24);
    this.#rows = [];
    let top = 0;
    for (let first = 0; first < molecule.length; first += this.perRow) {
      const count = Math.min(this.perRow, molecule.length - first);
      const row = new LinearMapRow(molecule, {
        first,
        count,
        scale: rowScale,
        sites,
        codons: this.#codons
      });
      row.top = top;
      top += row.height;
      this.#rows.push(row);
    }
    this.element.style.width = `${width}px`;
    this.element.style.height = height ? `${Math.min(height, top + 2)}px` : "";
    this.element.tabIndex = height && top + 2 > height ? 0 : -1;
    this.#content.style.height = `${top}px`;
    this.#content.replaceChildren();
    this.#visible.clear();
    const anchorRow = this.#rows[Math.floor(previous.first / this.perRow)];
    this.element.scrollTop = anchorRow.top + Math.min(offset, anchorRow.height);
    this.#drawVisible();
  }
  /** Draw the selection and the search hits. */
  highlight(selection, hits) {
    const range = selection && rangeOf(this.#molecule, selection);
    const cursor = selection && !range ? headOf(this.#molecule, selection) : null;
    this.#highlights = [range, cursor, hits];
    for (const row of this.#visible.keys()) row.highlight(...this.#highlights);
  }
  /** Scroll to a base that is not visible: as little as needed, or to the middle if it is far. */
  scrollTo(base) {
    const row = this.#rows[Math.min(Math.floor(base / this.perRow), this.#rows.length - 1)];
    if (!row) return;
    const { scrollTop, clientHeight } = this.element;
    const top = row.top - scrollTop;
    const bottom = row.top + row.height - scrollTop - clientHeight;
    if (top >= 0 && bottom <= 0) return;
    const far = top < -clientHeight || bottom > clientHeight;
    const by = far ? top - clientHeight / 3 : top < 0 ? top : Math.min(bottom, top);
    this.element.scrollTop = Math.max(scrollTop + by, 0);
    this.#drawVisible();
  }
  #drawVisible() {
    const top = this.element.scrollTop - OVERSCAN;
    const bottom = this.element.scrollTop + (this.element.clientHeight || 600) + OVERSCAN;
    const visible = new Set(
      this.#rows.filter((row) => row.top < bottom && row.top + row.height > top)
    );
    for (const [row, svg] of this.#visible) {
      if (visible.has(row)) continue;
      svg.remove();
      this.#visible.delete(row);
    }
    for (const row of visible) {
      if (this.#visible.has(row)) continue;
      const svg = row.draw(Math.max(row.width, 1));
      this.#visible.set(row, svg);
      this.#content.append(svg);
      row.highlight(...this.#highlights);
    }
  }
  #rowAt(y) {
    return this.#rows.findLast((row) => row.top <= y) ?? this.#rows[0];
  }
  #positionAt(event) {
    const box = this.#content.getBoundingClientRect();
    const row = this.#rowAt(event.clientY - box.top);
    const offset = Math.round((event.clientX - box.left - PADDING) / row.scale);
    return row.first + Math.min(Math.max(offset, 0), row.count);
  }
  #onPointerDown(event) {
    const scrollbar = event.clientX > this.element.getBoundingClientRect().left + this.element.clientWidth;
    if (event.button !== 0 || scrollbar) return;
    const pick = event.target.closest("[data-pick]")?.dataset.pick;
    if (pick) return this.#actions.pick(pick);
    const previous = this.#actions.selection();
    const from = event.shiftKey && previous ? previous : cursorAt(this.#positionAt(event));
    this.#actions.select(event.shiftKey ? extendTo(from, this.#positionAt(event)) : from);
    this.#actions.trackPointer(this.element, event, (move) => {
      const { top, bottom } = this.element.getBoundingClientRect();
      if (move.clientY > bottom - 12) this.element.scrollTop += 12;
      if (move.clientY < top + 12) this.element.scrollTop -= 12;
      this.#actions.select(extendTo(from, this.#positionAt(move)));
    });
  }
};

// js/sequence/search.js
var IUPAC = Object.fromEntries(Array.from("ACMGRSVTWYHKDBN", (code, i) => [code, i + 1]));
var INVALID = 16;
function search({ bases, circular }, pattern) {
  const forward = pattern.replace(/\s/g, "").toUpperCase().replaceAll("U", "T");
  const reverse2 = reverseComplement(forward);
  if (!forward || [...forward].some((letter) => !IUPAC[letter])) return null;
  const text = bases.toUpperCase().replaceAll("U", "T");
  const hits = findMatches(text, circular, forward).map((hit) => ({ ...hit, strand: 1 }));
  if (reverse2 !== forward) {
    for (const hit of findMatches(text, circular, reverse2)) hits.push({ ...hit, strand: -1 });
  }
  return hits.sort((a, b) => a.start - b.start || b.strand - a.strand);
}
function findMatches(text, circular, pattern) {
  const matches = [];
  const { length } = text;
  const size = pattern.length;
  if (size > length) return matches;
  const searched = circular ? text + text.slice(0, size - 1) : text;
  const masks = Array.from(pattern, (letter) => IUPAC[letter]);
  const codes = Uint8Array.from(searched, (letter) => IUPAC[letter] ?? INVALID);
  for (let start = 0; start + size <= codes.length; start++) {
    let i = 0;
    while (i < size && !(codes[start + i] & ~masks[i])) i++;
    if (i === size) {
      const end = start + size;
      matches.push({ start, end: end > length ? end - length : end });
    }
  }
  return matches;
}

// js/sequence/search_field.js
function createSearch(actions) {
  const input = createElement("input", "labext-input labext-search-input", {
    type: "search",
    spellcheck: "false",
    autocomplete: "off",
    placeholder: "GAATTC, RNNY…"
  });
  const count = createElement("span", "labext-count", { role: "status", "aria-live": "polite" });
  const previous = createButton("‹", "Previous hit", () => actions.goToHit(-1));
  const next = createButton("›", "Next hit", () => actions.goToHit(1));
  input.addEventListener("input", () => actions.search(input.value));
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") actions.goToHit(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape" && input.value) {
      input.value = "";
      actions.search("");
    } else return;
    event.preventDefault();
  });
  const group = createElement("div", "labext-search", { role: "search" });
  group.append(createField("Search", input), previous, next, count);
  group.update = (text, hasHits) => {
    count.textContent = text;
    for (const button of [previous, next]) setDisabled(button, !hasHits);
  };
  group.update("", false);
  return group;
}

// js/sequence/selection_sync.js
var INTERVAL = 150;
var SelectionSync = class {
  #handle;
  #sender;
  #timer = 0;
  #range = null;
  #sent = JSON.stringify({ start: null });
  constructor(handle, sender) {
    this.#handle = handle;
    this.#sender = sender;
  }
  /** Send a range `{start, end, strand}`, or `{start: null}` for none. */
  send(range) {
    this.#range = range;
    if (this.#timer) return;
    this.#sendNow();
    this.#timer = setTimeout(() => {
      this.#timer = 0;
      this.#handle.guard(() => this.#sendNow());
    }, INTERVAL);
  }
  /** Record a range that the kernel has sent itself. */
  received({ start, end, strand }) {
    this.#range = start === null ? { start } : { start, end, strand };
    this.#sent = JSON.stringify(this.#range);
  }
  close() {
    clearTimeout(this.#timer);
  }
  #sendNow() {
    const range = JSON.stringify(this.#range);
    if (range === this.#sent) return;
    this.#sent = range;
    this.#handle.send({ do: "select", ...this.#range, sender: this.#sender });
  }
};

// js/sequence/style.css
var style_default = ".labext-live:has(> .labext-maps) {\n  max-width: 1200px;\n}\n\n.labext-search {\n  display: flex;\n  flex-wrap: wrap;\n  align-items: center;\n  gap: 4px 8px;\n}\n\n.labext-search-input {\n  width: 150px;\n  font-family: var(--jp-code-font-family, monospace);\n}\n\n.labext-maps:focus-visible,\n.labext-rows:focus-visible,\n.labext-annotations summary:focus-visible {\n  outline: 2px solid var(--labext-accent);\n  outline-offset: 1px;\n}\n\n.labext-maps:focus-visible,\n.labext-rows:focus-visible {\n  outline-offset: -2px; /* a cell's output cuts off what is outside */\n}\n\n.labext-count {\n  color: var(--labext-dim);\n  white-space: nowrap;\n  font-variant-numeric: tabular-nums;\n}\n\n.labext-maps {\n  border-radius: 4px;\n  user-select: none;\n  touch-action: pan-y;\n}\n\n.labext-side-by-side {\n  display: flex;\n  align-items: flex-start;\n  gap: 8px;\n}\n\n.labext-circle,\n.labext-rows svg {\n  display: block;\n  overflow: visible;\n  cursor: text;\n  font-family: var(--jp-ui-font-family, sans-serif);\n  font-size: 11px;\n  fill: var(--labext-ink);\n}\n\n.labext-circle {\n  margin: 0 auto;\n  cursor: crosshair;\n}\n\n.labext-rows {\n  position: relative;\n  box-sizing: border-box;\n  overflow: hidden auto;\n  padding: 0 8px;\n  background: var(--labext-ground);\n  border: 1px solid var(--jp-border-color2, #e0e0e0);\n  border-radius: 4px;\n}\n\n.labext-rows.labext-overview {\n  overflow: hidden;\n  border-color: transparent;\n}\n\n.labext-rows-all {\n  position: relative;\n}\n\n.labext-rows-all > svg {\n  position: absolute;\n  left: 0;\n}\n\n.labext-axis {\n  fill: none;\n  stroke: var(--labext-dim);\n  stroke-width: 1;\n  opacity: 0.7;\n}\n\n.labext-strand {\n  stroke-width: 2;\n}\n\n.labext-tick {\n  fill: var(--labext-dim);\n  font-size: 10px;\n}\n\n.labext-map-name {\n  font-size: 14px;\n  font-weight: 600;\n  text-anchor: middle;\n}\n\n.labext-bases {\n  font-family: var(--jp-code-font-family, monospace);\n  text-anchor: middle;\n  text-transform: uppercase;\n}\n\n.labext-lower {\n  fill: var(--labext-dim);\n}\n\n.labext-band,\n.labext-codon,\n.labext-label,\n.labext-amino {\n  cursor: pointer;\n}\n\n.labext-band:hover {\n  filter: brightness(1.08) saturate(1.3);\n}\n\n.labext-label:hover {\n  text-decoration: underline;\n}\n\n.labext-site {\n  font-style: italic;\n  fill: var(--labext-dim);\n}\n\n.labext-on-band {\n  fill: #111;\n}\n\n.labext-leader {\n  fill: none;\n  stroke: var(--labext-dim);\n  stroke-width: 0.8;\n  opacity: 0.65;\n}\n\n.labext-cut {\n  stroke: var(--labext-dim);\n  stroke-width: 1;\n}\n\n.labext-codon {\n  fill: color-mix(in srgb, var(--labext-dim) 14%, transparent);\n}\n\n.labext-codon.labext-odd {\n  fill: color-mix(in srgb, var(--labext-dim) 28%, transparent);\n}\n\n.labext-amino {\n  font-family: var(--jp-code-font-family, monospace);\n  text-anchor: middle;\n}\n\n.labext-selected {\n  fill: color-mix(in srgb, var(--labext-accent) 28%, transparent);\n}\n\n.labext-edge {\n  stroke: var(--labext-accent);\n  stroke-width: 1.5;\n}\n\n.labext-hit {\n  fill: color-mix(in srgb, var(--jp-warn-color1, #f57c00) 45%, transparent);\n}\n\n.labext-annotations {\n  margin-top: 4px;\n}\n\n.labext-annotations summary {\n  cursor: pointer;\n}\n\n.labext-list {\n  display: flex;\n  flex-wrap: wrap;\n  gap: 4px;\n  max-height: 180px;\n  overflow-y: auto;\n  padding: 4px 2px;\n}\n\n.labext-list .labext-button {\n  display: inline-flex;\n  align-items: center;\n  gap: 6px;\n  max-width: 100%;\n  text-align: start;\n}\n\n.labext-dot {\n  flex: none;\n  width: 9px;\n  height: 9px;\n  border-radius: 2px;\n  forced-color-adjust: none;\n}\n\n.labext-range {\n  color: var(--labext-dim);\n  font-variant-numeric: tabular-nums;\n  white-space: nowrap;\n}\n";

// js/sequence/view.js
var SIDE_BY_SIDE_WIDTH = 640;
var SHORT_SEQUENCE = 60;
var MAP_HEIGHT = 340;
var MAX_ZOOM = 11;
var zoomToScale = (zoom) => 1.3 ** zoom;
var MAX_HITS2 = 2e3;
var MODES = [
  ["circular", "Circular"],
  ["linear", "Linear"],
  ["both", "Both"]
];
function sequence(root, handle) {
  addStyle("labext-sequence-style", style_default);
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
      const more = found?.length > MAX_HITS2 ? "more than " : "";
      hits = (found ?? []).slice(0, MAX_HITS2);
      hitIndex = -1;
      const text = found === null ? "invalid base" : `${more}${pluralize(hits.length, "hit")}`;
      searchField.update(pattern.trim() && text, hits.length > 0);
      highlight();
    }),
    goToHit: handle.guarded((offset) => {
      if (!hits.length) return;
      hitIndex = hitIndex < 0 && offset < 0 ? hits.length - 1 : (hitIndex + offset + hits.length) % hits.length;
      searchField.update(`${hitIndex + 1} of ${hits.length}`, true);
      select(selectRange(molecule, hits[hitIndex]), true);
    })
  };
  const circularMap = molecule.circular ? new CircularMap(molecule, actions) : null;
  const overview = new LinearMap(molecule, actions);
  const linearMap = new LinearMap(molecule, actions);
  overview.element.classList.add("labext-overview");
  const overviewArea = createElement("div");
  overviewArea.append(...circularMap ? [circularMap.element] : [], overview.element);
  const maps = createElement("div", "labext-maps", {
    tabindex: "0",
    role: "application",
    "aria-label": `Map of ${molecule.name}, ${pluralize(molecule.length, "base")}. Arrow keys move the cursor, with Shift they extend the selection; Escape clears it.`
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
  const controls = [...circularMap ? [modeButtons] : [], zoomField, siteField, searchField];
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
      const height = sideBySide ? Math.max(circularMap.element.height.baseVal.value, MAP_HEIGHT) : MAP_HEIGHT;
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
    ["none", "None"]
  ];
}

// js/sequence.js
var views = { sequence };
export {
  views
};
