// Elements of SVG; words are text, never markup.

const NAMESPACE = "http://www.w3.org/2000/svg";

export function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== "") made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== ""));
  return made;
}

export const line = (x1, y1, x2, y2, className) =>
  svg("line", { x1, y1, x2, y2, class: className });

export const rect = (x, y, width, height, className, more = {}) =>
  svg("rect", { x, y, width: Math.max(width, 0), height, class: className, ...more });

export const cut = (text, letters) =>
  text.length <= letters ? text : `${text.slice(0, Math.max(letters - 1, 0)).trimEnd()}…`;

/** A round distance between about so many ticks. */
export function step(length, ticks) {
  for (let power = 1; ; power *= 10) {
    for (const each of [1, 2, 5]) if (each * power * ticks >= length) return each * power;
  }
}

/** A colour that dark words can be read on, of the same hue. */
export function pale(color) {
  const digits =
    color.length === 7 ? color.slice(1) : [...color.slice(1)].map((c) => c + c).join("");
  let parts = [0, 2, 4].map((i) => parseInt(digits.slice(i, i + 2), 16) / 255);
  while (bright(parts) < 0.34) parts = parts.map((part) => part + (1 - part) * 0.12);
  return `rgb(${parts.map((part) => Math.round(part * 255)).join(" ")})`;
}

function bright(parts) {
  const [r, g, b] = parts.map((part) => part ** 2.2);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
