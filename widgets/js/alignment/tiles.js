// The colors of the cells as images with one pixel per cell, painted when first visible.

const SIZE = 2048; // cells along the edge of a tile

export class Tiles {
  #rows;
  #columns;
  #colorOf;
  #tiles = new Map();

  constructor(rows, columns, colorOf) {
    this.#rows = rows;
    this.#columns = columns;
    this.#colorOf = colorOf;
  }

  /** Draw the cells from `first` to `last` of both axes; `x`, `y` are those of cell 0, 0. */
  draw(context, { firstRow, lastRow, firstColumn, lastColumn }, x, y, cell) {
    context.imageSmoothingEnabled = false;
    for (let top = firstRow - (firstRow % SIZE); top <= lastRow; top += SIZE) {
      for (let left = firstColumn - (firstColumn % SIZE); left <= lastColumn; left += SIZE) {
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
          height * cell.height,
        );
      }
    }
  }

  #tile(top, left) {
    const key = `${top},${left}`;
    let tile = this.#tiles.get(key);
    if (!tile) this.#tiles.set(key, (tile = this.#paint(top, left)));
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
}
