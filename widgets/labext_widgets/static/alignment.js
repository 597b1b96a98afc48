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

// js/style.js
function addStyle(id, css) {
  let style = document.getElementById(id);
  if (!style) {
    style = Object.assign(document.createElement("style"), { id });
    document.head.append(style);
  }
  if (style.textContent !== css) style.textContent = css;
}

// js/theme.js
var THEME_ATTRIBUTES = ["data-jp-theme-name", "data-jp-theme-light", "class"];
function observeTheme(listener) {
  let frame = 0;
  const observer = new MutationObserver(() => {
    frame ||= requestAnimationFrame(() => {
      frame = 0;
      listener();
    });
  });
  observer.observe(document.body, { attributeFilter: THEME_ATTRIBUTES });
  return () => {
    cancelAnimationFrame(frame);
    observer.disconnect();
  };
}

// js/toolbar.css
var toolbar_default = '.labext-viewer [hidden] {\n  display: none;\n}\n\n.labext-toolbar,\n.labext-field,\n.labext-status-line {\n  display: flex;\n  flex-wrap: wrap;\n  align-items: center;\n  gap: 4px 8px;\n}\n\n.labext-toolbar {\n  gap: 6px 16px;\n}\n\n.labext-field {\n  flex-wrap: nowrap;\n  min-width: 0;\n}\n\n.labext-status-line {\n  min-height: 30px;\n  font-variant-numeric: tabular-nums;\n}\n\n.labext-status {\n  padding-left: 8px;\n  border-left: 1px solid var(--labext-rule);\n}\n\n.labext-status-line > .labext-status {\n  min-width: min(18em, 50%); /* what follows keeps its place */\n}\n\n.labext-input {\n  font: inherit;\n  min-width: 0;\n  box-sizing: border-box;\n  height: 26px;\n  padding: 2px 6px;\n  color: var(--labext-ink);\n  background: var(--jp-layout-color1, #fff);\n  border: 1px solid var(--labext-rule);\n  border-radius: 4px;\n}\n\n.labext-title {\n  overflow-wrap: anywhere;\n}\n\n.labext-button-group {\n  display: flex;\n}\n\n.labext-button-group .labext-button {\n  border-radius: 0;\n  margin-left: -1px;\n}\n\n.labext-button-group .labext-button:first-child {\n  border-radius: 4px 0 0 4px;\n  margin-left: 0;\n}\n\n.labext-button-group .labext-button:last-child {\n  border-radius: 0 4px 4px 0;\n}\n\n.labext-viewer .labext-button[aria-pressed="true"] {\n  color: var(--jp-ui-inverse-font-color1, #fff);\n  background: var(--labext-accent);\n  border-color: var(--labext-accent);\n}\n\n@media (forced-colors: active) {\n  .labext-viewer .labext-button[aria-pressed="true"] {\n    forced-color-adjust: none;\n    color: HighlightText;\n    background: Highlight;\n  }\n}\n\n.labext-viewer .labext-button:focus-visible {\n  z-index: 1;\n}\n\n.labext-zoom {\n  width: 90px;\n  accent-color: var(--labext-accent);\n}\n\n.labext-input:focus-visible {\n  outline: 2px solid var(--labext-accent);\n  outline-offset: 1px;\n}\n';

// js/toolbar.js
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
function createToolbar(root, ...controls) {
  addStyle("labext-toolbar-style", toolbar_default);
  root.classList.add("labext-viewer");
  const toolbar = createElement("div", "labext-toolbar");
  toolbar.append(...controls);
  return toolbar;
}

// js/alignment/colors.js
var SCHEMES = [
  ["class", "By class"],
  ["conservation", "By conservation"],
  ["none", "None"]
];
var SHADES = [
  [0.8, "#77aadd"],
  [0.6, "#a5c8e8"],
  [0.4, "#d2e4f4"]
];
var GAPS = "-.";
function colorScheme(name, alignment2) {
  const { rows, consensus, conservation } = alignment2;
  if (name === "none") return () => 0;
  if (name === "conservation") {
    const shades = conservation.map((share) => {
      const shade = SHADES.find(([least]) => share >= least);
      return shade ? pack(shade[1]) : 0;
    });
    return (row, column) => rows[row][column].toUpperCase() === consensus[column] ? shades[column] : 0;
  }
  const table = new Uint32Array(128).fill(pack(alignment2.other));
  for (const [letter, color] of Object.entries(alignment2.colors)) {
    table[letter.charCodeAt(0)] = table[letter.toLowerCase().charCodeAt(0)] = pack(color);
  }
  for (const gap of GAPS) table[gap.charCodeAt(0)] = 0;
  return (row, column) => table[rows[row].charCodeAt(column)];
}
var isGap = (letter) => GAPS.includes(letter);
function pack(color) {
  const [red, green, blue] = [1, 3, 5].map((i) => parseInt(color.slice(i, i + 2), 16));
  return (255 << 24 | blue << 16 | green << 8 | red) >>> 0;
}

// js/alignment/keyboard.js
function moveCursor(event, cursor, { rows, columns }, perPage) {
  const { row, column } = cursor ?? { row: 0, column: columns ? 0 : null };
  const limitRow = (value) => Math.min(Math.max(value, 0), rows - 1);
  const limitColumn = (value) => columns ? Math.min(Math.max(value, 0), columns - 1) : null;
  const far = event.ctrlKey || event.metaKey;
  switch (event.key) {
    case "ArrowLeft":
      return { row, column: limitColumn(column - (far ? 10 : 1)) };
    case "ArrowRight":
      return { row, column: limitColumn(column + (far ? 10 : 1)) };
    case "ArrowUp":
      return { row: limitRow(row - 1), column };
    case "ArrowDown":
      return { row: limitRow(row + 1), column };
    case "PageUp":
      return { row: limitRow(row - perPage), column };
    case "PageDown":
      return { row: limitRow(row + perPage), column };
    case "Home":
      return { row: far ? 0 : row, column: limitColumn(0) };
    case "End":
      return { row: far ? rows - 1 : row, column: limitColumn(columns - 1) };
    default:
      return null;
  }
}

// js/alignment/layout.js
var CELLS = [
  [1, 4],
  [2, 5],
  [3, 7],
  [5, 10],
  [7, 12],
  [9, 14],
  [11, 16],
  [14, 20],
  [18, 24]
].map(([width, height]) => ({ width, height }));
var LETTER_WIDTH = 7;
var NAME_HEIGHT = 10;
var NARROW = 520;
var RULER = 18;
var BARS = 24;
var SCALE = 22;
var LABELS = 84;
var MAX_ZOOM = CELLS.length - 1;
var DEFAULT_ZOOM = 5;
var RULER_HEIGHT = RULER;
var BARS_HEIGHT = BARS;
var Layout = class {
  constructor({ rows, columns, hasTree, nameWidth }) {
    this.rows = rows;
    this.columns = columns;
    this.hasTree = hasTree;
    this.nameWidth = nameWidth;
    this.zoom = DEFAULT_ZOOM;
    this.width = 0;
    this.height = 0;
  }
  get cell() {
    return CELLS[this.zoom];
  }
  get showsLetters() {
    return this.cell.width >= LETTER_WIDTH;
  }
  get showsNames() {
    return this.cell.height >= NAME_HEIGHT;
  }
  /** The width of the names, which are drawn right of the tree. */
  get namesWidth() {
    if (!this.showsNames) return this.hasTree || !this.columns ? 10 : LABELS;
    const widest = this.width < NARROW ? 96 : this.columns ? 180 : 320;
    const least = this.columns && !this.hasTree ? LABELS : 0;
    return Math.max(Math.min(Math.ceil(this.nameWidth), widest) + 14, least);
  }
  get treeWidth() {
    if (!this.hasTree) return 0;
    if (!this.columns) return Math.max(this.width - this.namesWidth, 40);
    return this.width < NARROW ? 64 : 150;
  }
  /** The width and height of what does not scroll. */
  get left() {
    return this.treeWidth + this.namesWidth;
  }
  get top() {
    if (!this.columns) return this.hasTree ? SCALE : 0;
    return RULER + BARS + (this.showsLetters ? this.cell.height + 2 : 2);
  }
  get contentWidth() {
    return this.columns ? this.left + this.columns * this.cell.width : 0;
  }
  get contentHeight() {
    return this.top + this.rows * this.cell.height;
  }
  /** The rows and columns that are at least partly visible. */
  visible(scrollLeft, scrollTop) {
    const { width, height } = this.cell;
    const last = (pixels, size, count) => Math.min(Math.ceil(pixels / size), count) - 1;
    return {
      firstRow: Math.floor(scrollTop / height),
      lastRow: last(scrollTop + this.height - this.top, height, this.rows),
      firstColumn: Math.floor(scrollLeft / width),
      lastColumn: last(scrollLeft + this.width - this.left, width, this.columns)
    };
  }
  /** The row and column at a point; null in a frozen area or outside. */
  at(x, y, scrollLeft, scrollTop) {
    const row = Math.floor((y - this.top + scrollTop) / this.cell.height);
    const column = Math.floor((x - this.left + scrollLeft) / this.cell.width);
    return {
      row: y >= this.top && row < this.rows ? row : null,
      column: x >= this.left && column < this.columns ? column : null
    };
  }
  /** The scroll position closest to the current one at which a cell is visible. */
  reveal({ row, column }, scrollLeft, scrollTop) {
    const closest = (scroll, start, size, space) => Math.min(Math.max(scroll, start + size - space), start);
    const { width, height } = this.cell;
    return [
      column === null ? scrollLeft : closest(scrollLeft, column * width, width, this.width - this.left),
      closest(scrollTop, row * height, height, this.height - this.top)
    ];
  }
};

// js/svg.js
function tickStep(length, ticks) {
  for (let power = 1; ; power *= 10) {
    for (const factor of [1, 2, 5]) if (factor * power * ticks >= length) return factor * power;
  }
}

// js/alignment/chunks.js
var ROWS = 16;
var COLUMNS = 32;
var MAX_PIXELS = 12e6;
var Chunks = class {
  #cell;
  #ratio;
  #paint;
  #images = /* @__PURE__ */ new Map();
  // the least recently used first
  /** `paint(context, range)` draws a range of cells, the first of them at 0, 0. */
  constructor(cell, ratio, paint) {
    this.#cell = cell;
    this.#ratio = ratio;
    this.#paint = paint;
  }
  /** Draw the cells from `first` to `last` of both axes; `x`, `y` are those of cell 0, 0. */
  draw(context, { firstRow, lastRow, firstColumn, lastColumn }, x, y, { rows, columns }) {
    const { width, height } = this.#cell;
    for (let row = firstRow - firstRow % ROWS; row <= lastRow; row += ROWS) {
      for (let column = firstColumn - firstColumn % COLUMNS; column <= lastColumn; ) {
        const range = {
          firstRow: row,
          lastRow: Math.min(row + ROWS, rows) - 1,
          firstColumn: column,
          lastColumn: Math.min(column + COLUMNS, columns) - 1
        };
        const image = this.#image(range);
        const left = this.#snapped(x + column * width);
        const top = this.#snapped(y + row * height);
        const { width: pixels, height: lines } = image;
        context.drawImage(image, left, top, pixels / this.#ratio, lines / this.#ratio);
        column += COLUMNS;
      }
    }
  }
  /** Return a position on whole pixels of the screen, where an image is copied unchanged. */
  #snapped(position) {
    return Math.round(position * this.#ratio) / this.#ratio;
  }
  #image(range) {
    const key = `${range.firstRow},${range.firstColumn}`;
    const image = this.#images.get(key) ?? this.#painted(range);
    this.#images.delete(key);
    this.#images.set(key, image);
    const kept = MAX_PIXELS / (ROWS * COLUMNS * this.#cell.width * this.#cell.height);
    if (this.#images.size > kept / this.#ratio ** 2) {
      this.#images.delete(this.#images.keys().next().value);
    }
    return image;
  }
  #painted(range) {
    const image = document.createElement("canvas");
    const { width, height } = this.#cell;
    image.width = Math.ceil((range.lastColumn - range.firstColumn + 1) * width * this.#ratio);
    image.height = Math.ceil((range.lastRow - range.firstRow + 1) * height * this.#ratio);
    const context = image.getContext("2d");
    context.scale(this.#ratio, this.#ratio);
    this.#paint(context, range);
    return image;
  }
};

// js/alignment/glyphs.js
var FIRST = 33;
var LAST = 126;
var Glyphs = class {
  #image = document.createElement("canvas");
  #width;
  #height;
  constructor(cell, ratio, color) {
    this.#width = Math.round(cell.width * ratio);
    this.#height = Math.round(cell.height * ratio);
    this.#image.width = this.#width * (LAST - FIRST + 1);
    this.#image.height = this.#height;
    const context = this.#image.getContext("2d");
    context.font = `${Math.min(cell.width * 1.25, cell.height - 2) * ratio}px ui-monospace, monospace`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillStyle = color;
    for (let code = FIRST; code <= LAST; code++) {
      const x = (code - FIRST + 0.5) * this.#width;
      context.fillText(String.fromCharCode(code), x, this.#height * 0.54);
    }
  }
  draw(context, code, x, y, cell) {
    if (code < FIRST || code > LAST) return;
    context.drawImage(
      this.#image,
      (code - FIRST) * this.#width,
      0,
      this.#width,
      this.#height,
      x,
      y,
      cell.width,
      cell.height
    );
  }
};

// js/alignment/tiles.js
var SIZE = 2048;
var Tiles = class {
  #rows;
  #columns;
  #colorOf;
  #tiles = /* @__PURE__ */ new Map();
  constructor(rows, columns, colorOf) {
    this.#rows = rows;
    this.#columns = columns;
    this.#colorOf = colorOf;
  }
  /** Draw the cells from `first` to `last` of both axes; `x`, `y` are those of cell 0, 0. */
  draw(context, { firstRow, lastRow, firstColumn, lastColumn }, x, y, cell) {
    context.imageSmoothingEnabled = false;
    for (let top = firstRow - firstRow % SIZE; top <= lastRow; top += SIZE) {
      for (let left = firstColumn - firstColumn % SIZE; left <= lastColumn; left += SIZE) {
        const tile = this.#tile(top, left);
        const row = Math.max(top, firstRow);
        const column = Math.max(left, firstColumn);
        const height = Math.min(top + tile.height, lastRow + 1) - row;
        const width = Math.min(left + tile.width, lastColumn + 1) - column;
        context.drawImage(
          tile,
          column - left,
          row - top,
          width,
          height,
          x + column * cell.width,
          y + row * cell.height,
          width * cell.width,
          height * cell.height
        );
      }
    }
  }
  #tile(top, left) {
    const key = `${top},${left}`;
    let tile = this.#tiles.get(key);
    if (!tile) this.#tiles.set(key, tile = this.#paint(top, left));
    return tile;
  }
  #paint(top, left) {
    const tile = document.createElement("canvas");
    tile.width = Math.min(SIZE, this.#columns - left);
    tile.height = Math.min(SIZE, this.#rows - top);
    const context = tile.getContext("2d");
    const image = context.createImageData(tile.width, tile.height);
    const pixels = new Uint32Array(image.data.buffer);
    let i = 0;
    for (let row = top; row < top + tile.height; row++) {
      for (let column = left; column < left + tile.width; column++) {
        pixels[i++] = this.#colorOf(row, column);
      }
    }
    context.putImageData(image, 0, 0);
    return tile;
  }
};

// js/alignment/painter.js
var LETTER_COLOR = "#111111";
var NAME_FONT = "system-ui, sans-serif";
var THEME = ["ink", "dim", "accent", "rule", "ground", "bar"];
var Painter = class {
  #canvas;
  #context;
  #layout;
  #state;
  #scheme = "class";
  #colorOf = null;
  #tiles = null;
  #chunks = null;
  #glyphs = /* @__PURE__ */ new Map();
  #theme = {};
  #ratio = 1;
  constructor(canvas, layout, state) {
    this.#canvas = canvas;
    this.#context = canvas.getContext("2d");
    this.#layout = layout;
    this.#state = state;
  }
  setScheme(name) {
    this.#scheme = name;
    this.#tiles = this.#chunks = null;
  }
  /** Read the theme's colors, and the size of the canvas in pixels of the screen. */
  refresh() {
    const style = getComputedStyle(this.#canvas);
    for (const name of THEME) this.#theme[name] = style.getPropertyValue(`--labext-${name}`).trim();
    this.#glyphs.clear();
    this.#chunks = null;
    this.#ratio = window.devicePixelRatio || 1;
    const { width, height } = this.#layout;
    this.#canvas.width = Math.round(width * this.#ratio);
    this.#canvas.height = Math.round(height * this.#ratio);
    this.#canvas.style.width = `${width}px`;
    this.#canvas.style.height = `${height}px`;
  }
  draw(scrollLeft, scrollTop, cursor, selection) {
    const layout = this.#layout;
    const context = this.#context;
    const visible = layout.visible(scrollLeft, scrollTop);
    const x = layout.left - scrollLeft;
    const y = layout.top - scrollTop;
    context.setTransform(this.#ratio, 0, 0, this.#ratio, 0, 0);
    context.fillStyle = this.#theme.ground;
    context.fillRect(0, 0, layout.width, layout.height);
    if (layout.columns) {
      this.#clipped(
        layout.left,
        layout.top,
        layout.width,
        layout.height,
        () => this.#drawCells(visible, x, y, cursor)
      );
      this.#clipped(
        layout.left,
        0,
        layout.width,
        layout.top,
        () => this.#drawHeader(visible, x, cursor)
      );
    }
    this.#clipped(0, layout.top, layout.left, layout.height, () => {
      this.#drawNames(visible, y, cursor, selection);
      if (this.#state.tree) this.#drawTree(visible, y);
    });
    this.#drawCorner();
  }
  #clipped(x, y, right, bottom, draw) {
    const context = this.#context;
    context.save();
    context.beginPath();
    context.rect(x, y, right - x, bottom - y);
    context.clip();
    draw();
    context.restore();
  }
  #drawCells(visible, x, y, cursor) {
    const { cell, rows, columns, showsLetters } = this.#layout;
    const { alignment: alignment2 } = this.#state;
    if (!this.#tiles) {
      this.#colorOf = colorScheme(this.#scheme, alignment2);
      this.#tiles = new Tiles(rows, columns, this.#colorOf);
    }
    if (showsLetters) {
      this.#chunks ??= new Chunks(cell, this.#ratio, (...args) => this.#paintChunk(...args));
      this.#chunks.draw(this.#context, visible, x, y, this.#layout);
    } else {
      this.#tiles.draw(this.#context, visible, x, y, cell);
    }
    if (cursor?.column != null) {
      this.#context.strokeStyle = this.#theme.ink;
      this.#context.lineWidth = 2;
      const left = x + cursor.column * cell.width;
      this.#context.strokeRect(left, y + cursor.row * cell.height, cell.width, cell.height);
    }
  }
  /** Draw a range of cells with their letters, the first cell at 0, 0. */
  #paintChunk(context, range) {
    const { cell } = this.#layout;
    const { firstRow, lastRow, firstColumn, lastColumn } = range;
    const onColor = this.#glyphsOf(LETTER_COLOR);
    const onGround = this.#glyphsOf(this.#theme.ink);
    this.#tiles.draw(context, range, -firstColumn * cell.width, -firstRow * cell.height, cell);
    for (let row = firstRow; row <= lastRow; row++) {
      const letters = this.#state.alignment.rows[row];
      const top = (row - firstRow) * cell.height;
      for (let column = firstColumn; column <= lastColumn; column++) {
        const glyphs = this.#colorOf(row, column) ? onColor : onGround;
        const left = (column - firstColumn) * cell.width;
        glyphs.draw(context, letters.charCodeAt(column), left, top, cell);
      }
    }
  }
  #glyphsOf(color) {
    const { zoom, cell } = this.#layout;
    const key = `${zoom} ${color}`;
    if (!this.#glyphs.has(key)) this.#glyphs.set(key, new Glyphs(cell, this.#ratio, color));
    return this.#glyphs.get(key);
  }
  /** Ruler, conservation, and the letters of the consensus. */
  #drawHeader({ firstColumn, lastColumn }, x, cursor) {
    const context = this.#context;
    const { cell, width, top, showsLetters } = this.#layout;
    const { consensus, conservation } = this.#state.alignment;
    const base = RULER_HEIGHT + BARS_HEIGHT;
    context.fillStyle = this.#theme.bar;
    for (let column = firstColumn; column <= lastColumn; column++) {
      const height = conservation[column] * (BARS_HEIGHT - 2);
      const gap = cell.width > 4 ? 1 : 0;
      context.fillRect(x + column * cell.width, base - height, cell.width - gap, height);
    }
    const step = tickStep(60 / cell.width, 1);
    context.font = `11px ${NAME_FONT}`;
    context.textAlign = "center";
    context.textBaseline = "alphabetic";
    context.fillStyle = this.#theme.dim;
    for (let tick = firstColumn - firstColumn % step; tick <= lastColumn + step; tick += step) {
      const label = tick || 1;
      const middle = x + (label - 0.5) * cell.width;
      if (middle < -width || label > this.#layout.columns) continue;
      context.fillText(label.toLocaleString("en"), middle, RULER_HEIGHT - 6);
      context.fillRect(middle - 0.5, RULER_HEIGHT - 4, 1, 4);
    }
    if (cursor?.column != null) {
      context.fillStyle = this.#theme.accent;
      const mark = Math.max(cell.width, 3);
      context.fillRect(x + (cursor.column + 0.5) * cell.width - mark / 2, base, mark, 2);
    }
    if (!showsLetters) return;
    const glyphs = this.#glyphsOf(this.#theme.ink);
    for (let column = firstColumn; column <= lastColumn; column++) {
      if (isGap(consensus[column])) continue;
      const left = x + column * cell.width;
      glyphs.draw(context, consensus.charCodeAt(column), left, top - cell.height, cell);
    }
  }
  #drawNames({ firstRow, lastRow }, y, cursor, selection) {
    const context = this.#context;
    const { cell, left, treeWidth, showsNames } = this.#layout;
    const start = treeWidth + (this.#state.tree ? 2 : 0);
    context.textAlign = "left";
    context.textBaseline = "middle";
    for (let row = firstRow; row <= lastRow; row++) {
      const top = y + row * cell.height;
      const name = this.#state.names[row];
      const selected = selection.has(name);
      if (selected) {
        context.fillStyle = this.#theme.accent;
        context.globalAlpha = 0.22;
        context.fillRect(start, top, left - start, cell.height);
        context.globalAlpha = 1;
        context.fillRect(start, top, 3, cell.height);
      }
      if (cursor?.row === row) {
        context.strokeStyle = this.#theme.accent;
        context.lineWidth = 1;
        context.strokeRect(start + 0.5, top + 0.5, left - start - 2, cell.height - 1);
      }
      if (!showsNames) continue;
      context.fillStyle = this.#theme.ink;
      context.font = `${selected ? "600 " : ""}${Math.min(cell.height - 2, 13)}px ${NAME_FONT}`;
      const text = this.#fitted(name, left - start - 12);
      context.fillText(text, start + 7, top + cell.height / 2 + 0.5);
    }
  }
  /** Cut a text in the middle: names often start alike. */
  #fitted(text, width) {
    const isNarrow = (cut) => this.#context.measureText(cut).width <= width;
    if (isNarrow(text)) return text;
    const characters = [...text];
    const shortened = (letters) => {
      const end = Math.floor(letters / 2);
      const kept = [characters.slice(0, letters - end), end ? characters.slice(-end) : []];
      return kept.map((part) => part.join("")).join("…");
    };
    let [low, high] = [0, characters.length];
    while (low < high) {
      const middle = low + high + 1 >> 1;
      [low, high] = isNarrow(shortened(middle)) ? [middle, high] : [low, middle - 1];
    }
    return shortened(low);
  }
  #drawTree({ firstRow, lastRow }, y) {
    const context = this.#context;
    const { cell, treeWidth } = this.#layout;
    const { horizontal, vertical, tips } = this.#state.tree;
    const xOf = (share) => 6 + share * (treeWidth - 12);
    const yOf = (row) => y + (row + 0.5) * cell.height;
    context.strokeStyle = this.#theme.ink;
    context.lineWidth = 1;
    context.lineCap = "square";
    context.beginPath();
    for (const [start, end, row] of horizontal) {
      if (row < firstRow - 1 || row > lastRow + 1) continue;
      const level = Math.round(yOf(row)) + 0.5;
      context.moveTo(xOf(start), level);
      context.lineTo(xOf(end), level);
    }
    for (const [share, first, last] of vertical) {
      if (last < firstRow - 1 || first > lastRow + 1) continue;
      const x = Math.round(xOf(share)) + 0.5;
      context.moveTo(x, Math.round(yOf(Math.max(first, firstRow - 1))) + 0.5);
      context.lineTo(x, Math.round(yOf(Math.min(last, lastRow + 1))) + 0.5);
    }
    context.stroke();
    context.strokeStyle = this.#theme.rule;
    context.setLineDash([1, 3]);
    context.beginPath();
    for (let row = firstRow; row <= lastRow; row++) {
      const level = Math.round(yOf(row)) + 0.5;
      context.moveTo(xOf(tips[row]) + 4, level);
      context.lineTo(treeWidth, level);
    }
    context.stroke();
    context.setLineDash([]);
  }
  /** The tree's scale bar and the labels of the header. */
  #drawCorner() {
    const context = this.#context;
    const { cell, width, height, left, top, treeWidth, columns, showsLetters } = this.#layout;
    const { tree } = this.#state;
    context.font = `11px ${NAME_FONT}`;
    context.textBaseline = "middle";
    context.fillStyle = context.strokeStyle = this.#theme.dim;
    if (tree?.scale) {
      const end = 6 + tree.scale * (treeWidth - 12);
      context.lineWidth = 1;
      context.beginPath();
      for (const x of [6.5, Math.round(end) + 0.5]) {
        context.moveTo(x, top - 11);
        context.lineTo(x, top - 4);
      }
      context.moveTo(6.5, top - 7.5);
      context.lineTo(Math.round(end) + 0.5, top - 7.5);
      context.stroke();
      context.textAlign = "left";
      context.fillText(tree.label, end + 5, top - 7);
    }
    context.fillStyle = this.#theme.rule;
    if (top) context.fillRect(0, top - 1, width, 1);
    if (!columns) return;
    context.fillRect(left - 1, 0, 1, height);
    context.fillStyle = this.#theme.dim;
    context.textAlign = "right";
    const label = left > 130 ? "Conservation" : "Cons.";
    context.fillText(label, left - 7, RULER_HEIGHT + BARS_HEIGHT / 2);
    const isRoomy = !tree || this.#layout.namesWidth > 76;
    if (showsLetters && isRoomy) context.fillText("Consensus", left - 7, top - cell.height / 2);
  }
};

// js/alignment/style.css
var style_default = ".labext-live.labext-alignment {\n  max-width: 1400px;\n}\n\n.labext-alignment {\n  --labext-bar: #8fa3b8;\n}\n\n.labext-alignment .labext-toolbar {\n  padding: 2px 0 6px;\n}\n\n.labext-alignment-scroll {\n  position: relative;\n  overflow: auto;\n  box-sizing: border-box;\n  background: var(--labext-ground);\n  border: 1px solid var(--labext-rule);\n  overscroll-behavior-x: contain;\n}\n\n.labext-alignment-scroll:focus-visible {\n  outline: 2px solid var(--labext-accent);\n  outline-offset: 1px;\n}\n\n.labext-alignment-area {\n  min-width: 100%;\n}\n\n.labext-alignment-canvas {\n  position: sticky;\n  top: 0;\n  left: 0;\n  display: block;\n}\n\n.labext-alignment-status,\n.labext-alignment-summary {\n  padding-top: 2px;\n  overflow-wrap: anywhere;\n  font-variant-numeric: tabular-nums;\n}\n\n.labext-alignment-summary {\n  color: var(--labext-dim);\n}\n";

// js/alignment/view.js
var MAX_HEIGHT = 460;
var SCROLLBAR = 16;
var HINT = "Click a name to select its sequence.";
function alignment(root, handle) {
  addStyle("labext-alignment-style", style_default);
  const { state } = handle;
  const { names, tree } = state;
  const rows = state.alignment?.rows ?? [];
  const viewId = Math.random().toString(36).slice(2);
  const layout = new Layout({
    rows: names.length,
    columns: rows[0]?.length ?? 0,
    hasTree: tree !== null,
    nameWidth: widestName(names)
  });
  let cursor = null;
  let selection = /* @__PURE__ */ new Set();
  let anchor = 0;
  let frame = 0;
  const canvas = createElement("canvas", "labext-alignment-canvas", { "aria-hidden": "true" });
  const painter = new Painter(canvas, layout, state);
  const area = createElement("div", "labext-alignment-area");
  area.append(canvas);
  const scroll = createElement("div", "labext-alignment-scroll", {
    tabindex: "0",
    role: "application",
    "aria-label": `${state.summary}. Arrow keys move between the sequences${rows.length ? " and columns" : ""}, Enter selects a sequence, Escape clears the selection.`
  });
  scroll.append(area);
  const status = createElement("div", "labext-alignment-status", { role: "status" });
  const zoomButtons = [
    createButton("−", "Zoom out", handle.guarded(() => setZoom(layout.zoom - 1))),
    createButton("+", "Zoom in", handle.guarded(() => setZoom(layout.zoom + 1)))
  ];
  const title = createElement("strong", "labext-title", {}, state.name);
  const schemeSelect = createSelect(
    SCHEMES,
    handle.guarded((name) => {
      painter.setScheme(name);
      requestDraw();
    })
  );
  const zoom = createElement("div", "labext-field", { role: "group", "aria-label": "Zoom" });
  zoom.append(...zoomButtons);
  const schemeField = createField("Color", schemeSelect);
  const toolbar = createToolbar(root, title, ...rows.length ? [schemeField] : [], zoom);
  root.classList.add("labext-alignment");
  const summary = createElement("div", "labext-alignment-summary", {}, state.summary);
  root.append(toolbar, scroll, status, summary);
  describe(null);
  function draw() {
    if (layout.width) painter.draw(scroll.scrollLeft, scroll.scrollTop, cursor, selection);
  }
  function requestDraw() {
    frame ||= requestAnimationFrame(() => {
      frame = 0;
      handle.guard(draw);
    });
  }
  function resize() {
    layout.width = root.clientWidth;
    if (!layout.width) return;
    const needed = layout.contentHeight + (layout.contentWidth > layout.width ? SCROLLBAR : 0) + 2;
    scroll.style.height = `${Math.min(needed, MAX_HEIGHT)}px`;
    area.style.width = layout.columns ? `${layout.contentWidth}px` : "100%";
    area.style.height = `${layout.contentHeight}px`;
    layout.width = scroll.clientWidth;
    layout.height = scroll.clientHeight;
    painter.refresh();
    draw();
  }
  function setZoom(level) {
    const { cell, left } = layout;
    const column = (scroll.scrollLeft + (layout.width - left) / 2) / cell.width;
    const row = scroll.scrollTop / cell.height;
    layout.zoom = Math.min(Math.max(level, 0), MAX_ZOOM);
    setDisabled(zoomButtons[0], layout.zoom === 0);
    setDisabled(zoomButtons[1], layout.zoom === MAX_ZOOM);
    resize();
    const x = column * layout.cell.width - (layout.width - layout.left) / 2;
    scroll.scrollTo(x, row * layout.cell.height);
    draw();
  }
  function describe(position, announced = true) {
    status.setAttribute("aria-live", announced ? "polite" : "off");
    const chosen = selection.size ? ` · ${formatNumber(selection.size)} selected` : "";
    if (position === null) {
      status.textContent = selection.size ? `Selected: ${[...selection].slice(0, 5).join(", ")}${selection.size > 5 ? ", …" : ""}` : HINT;
      return;
    }
    const { row, column } = position;
    let text = names[row];
    if (column !== null) {
      const letter = rows[row][column];
      text += ` · column ${formatNumber(column + 1)} · `;
      if (isGap(letter)) text += "gap";
      else {
        const name = state.alignment.classes[letter.toUpperCase()];
        const residue = ungappedPosition(rows[row], column);
        text += `${letter} ${formatNumber(residue)}`;
        if (name?.length > 1) text += ` (${name})`;
      }
    }
    status.textContent = text + chosen;
  }
  function select(chosen, send = true) {
    selection = new Set(names.filter((name) => chosen.has(name)));
    describe(null);
    requestDraw();
    if (send) handle.send({ do: "select", names: [...selection], sender: viewId });
  }
  function selectRow(row, { toggle = false, extend = false } = {}) {
    const name = names[row];
    const chosen = new Set(toggle ? selection : []);
    if (extend) {
      const [first, last] = [Math.min(anchor, row), Math.max(anchor, row)];
      for (let i = first; i <= last; i++) chosen.add(names[i]);
    } else {
      const isOnly = selection.size === 1 && selection.has(name);
      if (toggle ? selection.has(name) : isOnly) chosen.delete(name);
      else chosen.add(name);
      anchor = row;
    }
    select(chosen);
  }
  function positionOf(event) {
    const { left, top } = scroll.getBoundingClientRect();
    const x = event.clientX - left - scroll.clientLeft;
    const y = event.clientY - top - scroll.clientTop;
    if (x >= layout.width || y >= layout.height) return { row: null, column: null };
    return layout.at(x, y, scroll.scrollLeft, scroll.scrollTop);
  }
  const onKeyDown = (event) => {
    if (event.key === "Escape") {
      if (!selection.size) return;
      select(/* @__PURE__ */ new Set());
    } else if (event.key === "Enter" || event.key === " ") {
      selectRow(cursor?.row ?? 0, { toggle: true });
    } else if (event.altKey) {
      return;
    } else {
      const perPage = Math.floor((layout.height - layout.top) / layout.cell.height);
      const moved = moveCursor(event, cursor, layout, Math.max(perPage - 1, 1));
      if (!moved) return;
      cursor = moved;
      const [left, top] = layout.reveal(cursor, scroll.scrollLeft, scroll.scrollTop);
      scroll.scrollTo(left, top);
      describe(cursor);
      requestDraw();
    }
    event.preventDefault();
    event.stopPropagation();
  };
  const onPointerMove = (event) => {
    const { row, column } = positionOf(event);
    scroll.style.cursor = row !== null && column === null ? "pointer" : "";
    if (row !== null) describe({ row, column }, false);
  };
  const onClick = (event) => {
    const { row, column } = positionOf(event);
    if (row === null) return;
    if (column === null) {
      selectRow(row, { toggle: event.ctrlKey || event.metaKey, extend: event.shiftKey });
    } else {
      cursor = { row, column };
      describe(cursor);
    }
    requestDraw();
  };
  scroll.addEventListener("scroll", requestDraw, { passive: true });
  scroll.addEventListener("keydown", handle.guarded(onKeyDown));
  scroll.addEventListener("pointermove", handle.guarded(onPointerMove));
  scroll.addEventListener(
    "pointerleave",
    handle.guarded(() => describe(cursor, false))
  );
  scroll.addEventListener("click", handle.guarded(onClick));
  handle.onChange((change) => {
    if (change.selection && change.selection.sender !== viewId) {
      select(new Set(change.selection.names), false);
    }
  });
  const onResize = handle.guarded(resize);
  const resizeObserver = new ResizeObserver(onResize);
  resizeObserver.observe(root);
  const stopTheme = observeTheme(onResize);
  return () => {
    cancelAnimationFrame(frame);
    resizeObserver.disconnect();
    stopTheme();
  };
}
function ungappedPosition(row, column) {
  let position = 0;
  for (let i = 0; i <= column; i++) if (!isGap(row[i])) position++;
  return position;
}
function widestName(names) {
  const context = document.createElement("canvas").getContext("2d");
  context.font = "600 13px system-ui, sans-serif";
  let widest = 0;
  for (const name of names) widest = Math.max(widest, context.measureText(name).width);
  return widest;
}

// js/alignment.js
var views = { alignment };
export {
  views
};
