// Letters drawn once per size and color, then copied into the cells.

const FIRST = 33; // character codes
const LAST = 126;

export class Glyphs {
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
      cell.height,
    );
  }
}
