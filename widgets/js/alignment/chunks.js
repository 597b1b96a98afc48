// Blocks of cells with their letters as images, so that a frame copies few images while scrolling.

const ROWS = 16;
const COLUMNS = 32;
const MAX_PIXELS = 12_000_000; // of all images kept, 4 bytes each

export class Chunks {
  #cell;
  #ratio;
  #paint;
  #images = new Map(); // the least recently used first

  /** `paint(context, range)` draws a range of cells, the first of them at 0, 0. */
  constructor(cell, ratio, paint) {
    this.#cell = cell;
    this.#ratio = ratio;
    this.#paint = paint;
  }

  /** Draw the cells from `first` to `last` of both axes; `x`, `y` are those of cell 0, 0. */
  draw(context, { firstRow, lastRow, firstColumn, lastColumn }, x, y, { rows, columns }) {
    const { width, height } = this.#cell;
    for (let row = firstRow - (firstRow % ROWS); row <= lastRow; row += ROWS) {
      for (let column = firstColumn - (firstColumn % COLUMNS); column <= lastColumn; ) {
        const range = {
          firstRow: row,
          lastRow: Math.min(row + ROWS, rows) - 1,
          firstColumn: column,
          lastColumn: Math.min(column + COLUMNS, columns) - 1,
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
}
