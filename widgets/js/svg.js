// Create SVG elements; text is never parsed as markup.

const NAMESPACE = "http://www.w3.org/2000/svg";

export function createSvg(name, attributes = {}, ...children) {
  const element = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== "") element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== ""));
  return element;
}

export const createLine = (x1, y1, x2, y2, className) =>
  createSvg("line", { x1, y1, x2, y2, class: className });

export const createRect = (x, y, width, height, className, attributes = {}) =>
  createSvg("rect", { x, y, width: Math.max(width, 0), height, class: className, ...attributes });

export function truncate(text, letters) {
  const characters = [...text]; // an emoji is one character, but has two units
  if (characters.length <= letters) return text;
  return `${characters.slice(0, Math.max(letters - 1, 0)).join("").trimEnd()}…`;
}

/** Return the text shortened in the middle to at most `letters` characters. */
export function truncateMiddle(text, letters) {
  const characters = [...text];
  if (characters.length <= letters) return text;
  const tail = Math.floor((letters - 1) / 2);
  const start = truncate(text, letters - tail);
  return `${start}${characters.slice(characters.length - tail).join("").trimStart()}`;
}

/** Return a round tick distance for about `ticks` ticks. */
export function tickStep(length, ticks) {
  for (let power = 1; ; power *= 10) {
    for (const factor of [1, 2, 5]) if (factor * power * ticks >= length) return factor * power;
  }
}

/** Lighten a color, keeping its hue, until dark text on it is readable. */
export function lighten(color) {
  const digits =
    color.length === 7 ? color.slice(1) : [...color.slice(1)].map((c) => c + c).join("");
  let channels = [0, 2, 4].map((i) => parseInt(digits.slice(i, i + 2), 16) / 255);
  while (luminance(channels) < 0.34) channels = channels.map((value) => value + (1 - value) * 0.12);
  return `rgb(${channels.map((value) => Math.round(value * 255)).join(" ")})`;
}

function luminance(channels) {
  const [r, g, b] = channels.map((value) => value ** 2.2);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
