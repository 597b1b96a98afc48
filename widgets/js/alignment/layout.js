// The sizes of the cells and of the frozen areas, and the conversion between pixels and cells.

const CELLS = [
  [1, 4],
  [2, 5],
  [3, 7],
  [5, 10],
  [7, 12],
  [9, 14],
  [11, 16],
  [14, 20],
  [18, 24],
].map(([width, height]) => ({ width, height }));
const LETTER_WIDTH = 7; // pixels of a cell from which on letters are drawn
const NAME_HEIGHT = 10; // pixels of a row from which on names are drawn
const NARROW = 520; // pixels
const RULER = 18;
const BARS = 24;
const SCALE = 22;
const LABELS = 84; // pixels of the labels of the header

export const MAX_ZOOM = CELLS.length - 1;
export const DEFAULT_ZOOM = 5;
export const RULER_HEIGHT = RULER;
export const BARS_HEIGHT = BARS;

export class Layout {
  constructor({ rows, columns, hasTree, nameWidth }) {
    this.rows = rows;
    this.columns = columns; // 0 without an alignment
    this.hasTree = hasTree;
    this.nameWidth = nameWidth; // pixels of the longest name
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
      lastColumn: last(scrollLeft + this.width - this.left, width, this.columns),
    };
  }

  /** The row and column at a point; null in a frozen area or outside. */
  at(x, y, scrollLeft, scrollTop) {
    const row = Math.floor((y - this.top + scrollTop) / this.cell.height);
    const column = Math.floor((x - this.left + scrollLeft) / this.cell.width);
    return {
      row: y >= this.top && row < this.rows ? row : null,
      column: x >= this.left && column < this.columns ? column : null,
    };
  }

  /** The scroll position closest to the current one at which a cell is visible. */
  reveal({ row, column }, scrollLeft, scrollTop) {
    const closest = (scroll, start, size, space) =>
      Math.min(Math.max(scroll, start + size - space), start);
    const { width, height } = this.cell;
    return [
      column === null
        ? scrollLeft
        : closest(scrollLeft, column * width, width, this.width - this.left),
      closest(scrollTop, row * height, height, this.height - this.top),
    ];
  }
}
