// The axes of a panel: ticks, grid and labels, and the margins that these need.

import { createLine, createSvg, truncate, truncateMiddle } from "../svg.js";
import { axisRange, createScale } from "./scale.js";
import { findTicks } from "./values.js";

const LINE_HEIGHT = 14;
const MAX_LETTERS = 22;
const MAX_SHARE = 0.35; // of the width or height that the ticks' labels may take
const SLANT = (40 * Math.PI) / 180;

let ruler = null;

function textWidth(text) {
  ruler ??= document.createElement("canvas").getContext("2d");
  return ruler ? ruler.measureText(text).width : text.length * 6;
}

function useFont(family) {
  textWidth("");
  if (ruler) ruler.font = `11px ${family}`;
}

/** Return where the axes are: the plot area, the ticks and the scales; `font` is that of labels. */
export function layOut(panel, width, height, font) {
  useFont(font);
  const [xRange, yRange] = [axisRange(panel, "x"), axisRange(panel, "y")];
  const yTicks = shorten(findTicks(panel.y, ...yRange, height / 50), width * MAX_SHARE);
  let left = Math.ceil(longest(yTicks)) + 10 + (panel.y.label ? LINE_HEIGHT + 6 : 4);
  const right = width - 14;
  const ticks = findTicks(panel.x, ...xRange, (right - left) / (panel.x.kind === "time" ? 90 : 55));
  const xTicks = shorten(ticks, (height * MAX_SHARE - 8) / Math.sin(SLANT));
  const room = (right - left) / Math.max(xTicks.length, 1);
  const isSlanted = panel.x.kind === "category" && longest(xTicks) + 8 > room;
  const slantHeight = longest(xTicks) * Math.sin(SLANT) + 8;
  if (isSlanted) {
    const starts = xTicks.map(({ label }, n) => {
      const share = (n + 0.5) / xTicks.length;
      return (textWidth(label) * Math.cos(SLANT) + 4 - right * share) / (1 - share);
    });
    left = Math.max(left, Math.ceil(Math.max(...starts)));
  }
  const xHeight = isSlanted ? slantHeight : LINE_HEIGHT;
  const top = 10;
  const bottom = height - Math.ceil(xHeight) - 8 - (panel.x.label ? LINE_HEIGHT + 4 : 0);
  const area = { left, right, top, bottom };
  if (panel.square) {
    const side = Math.min(right - left, bottom - top);
    area.right = left + side;
    area.bottom = top + side;
  }
  const xScale = createScale(panel.x, xRange, area.left, area.right);
  const yScale = createScale(panel.y, yRange, area.bottom, area.top);
  // labels of crowded categories are left out
  const space = isSlanted ? LINE_HEIGHT : longest(xTicks) + 10;
  return {
    width,
    area,
    xScale,
    yScale,
    isSlanted,
    xTicks: thin(xTicks, (area.right - area.left) / space),
    yTicks: thin(yTicks, (area.bottom - area.top) / LINE_HEIGHT),
    labelY: area.bottom + xHeight + LINE_HEIGHT + 6,
  };
}

const longest = (ticks) => Math.max(0, ...ticks.map(({ label }) => textWidth(label)));

/**
 * Shorten long labels at the end, or in the middle if more of them differ then; those of numbers
 * are never that long.
 */
function shorten(ticks, space) {
  const [ends, middles] = [truncate, truncateMiddle].map((shortened) =>
    ticks.map(({ label }) => fit(label, space, shortened)),
  );
  const labels = new Set(middles).size > new Set(ends).size ? middles : ends;
  return ticks.map((tick, n) => ({ ...tick, label: labels[n] }));
}

function fit(text, space, shortened) {
  let letters = MAX_LETTERS;
  while (letters > 4 && textWidth(shortened(text, letters)) > space) letters -= 1;
  return shortened(text, letters);
}

function thin(ticks, most) {
  const every = Math.ceil(ticks.length / Math.max(most, 1));
  return ticks.filter((_, index) => index % every === 0);
}

/** Return the grid, which is drawn below the marks. */
export function drawGrid({ area, xScale, yScale, xTicks, yTicks }) {
  return [
    ...xTicks.map(({ value }) => {
      const x = Math.round(xScale(value)) + 0.5;
      return createLine(x, area.top, x, area.bottom, "labext-plot-grid");
    }),
    ...yTicks.map(({ value }) => {
      const y = Math.round(yScale(value)) + 0.5;
      return createLine(area.left, y, area.right, y, "labext-plot-grid");
    }),
  ];
}

/** Return the axes with the labels of ticks and axes. */
export function drawAxes(panel, layout) {
  const { width, area, xScale, yScale, xTicks, yTicks, isSlanted, labelY } = layout;
  const [left, bottom] = [area.left + 0.5, area.bottom + 0.5];
  const elements = [
    createLine(left, area.top, left, bottom, "labext-spine"),
    createLine(left, bottom, area.right, bottom, "labext-spine"),
  ];
  for (const { value, label } of xTicks) {
    const x = xScale(value);
    // A number that is cut off would be another one; the page's font may be wider.
    const isCut = x + 0.6 * textWidth(label) > width;
    const place = isSlanted
      ? { transform: `translate(${x + 4} ${bottom + 12}) rotate(-40)`, "text-anchor": "end" }
      : { x: isCut ? width : x, y: bottom + 16, "text-anchor": isCut ? "end" : "middle" };
    elements.push(createLine(x, bottom, x, bottom + 4, "labext-spine"));
    elements.push(createSvg("text", { ...place, class: "labext-plot-tick" }, label));
  }
  for (const { value, label } of yTicks) {
    const y = yScale(value);
    elements.push(createLine(left - 4, y, left, y, "labext-spine"));
    const place = { x: left - 7, y: y + 4, "text-anchor": "end", class: "labext-plot-tick" };
    elements.push(createSvg("text", place, label));
  }
  const middle = (area.left + area.right) / 2;
  const xLabel = { x: middle, y: labelY, "text-anchor": "middle" };
  const yPlace = `translate(14 ${(area.top + area.bottom) / 2}) rotate(-90)`;
  if (panel.x.label) elements.push(createSvg("text", xLabel, panel.x.label));
  if (panel.y.label) {
    elements.push(createSvg("text", { transform: yPlace, "text-anchor": "middle" }, panel.y.label));
  }
  return elements;
}
