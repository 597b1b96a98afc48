// Draw what is visible: cells, frozen tree and names at the left, frozen ruler at the top.

import { tickStep } from "../svg.js";
import { Chunks } from "./chunks.js";
import { colorScheme, isGap } from "./colors.js";
import { Glyphs } from "./glyphs.js";
import { BARS_HEIGHT, RULER_HEIGHT } from "./layout.js";
import { Tiles } from "./tiles.js";

const LETTER_COLOR = "#111111"; // readable on all colors of cells
const NAME_FONT = "system-ui, sans-serif";
const THEME = ["ink", "dim", "accent", "rule", "ground", "bar"];

export class Painter {
  #canvas;
  #context;
  #layout;
  #state;
  #scheme = "class";
  #colorOf = null;
  #tiles = null;
  #chunks = null;
  #glyphs = new Map();
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
      this.#clipped(layout.left, layout.top, layout.width, layout.height, () =>
        this.#drawCells(visible, x, y, cursor),
      );
      this.#clipped(layout.left, 0, layout.width, layout.top, () =>
        this.#drawHeader(visible, x, cursor),
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
    const { alignment } = this.#state;
    if (!this.#tiles) {
      this.#colorOf = colorScheme(this.#scheme, alignment);
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
    for (let tick = firstColumn - (firstColumn % step); tick <= lastColumn + step; tick += step) {
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
      const middle = (low + high + 1) >> 1;
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
}
