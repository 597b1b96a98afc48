// Regions, bars, box plots and lines as SVG; points are drawn on a canvas above them.

import { createLine, createRect, createSvg } from "../svg.js";
import { colorOf, DASHES } from "./colors.js";

/** Return the SVG elements of a mark. */
export function drawMark(panel, mark, xScale, yScale, selected) {
  const draw = { region, bars, boxes, line }[mark.mark];
  return draw ? draw(panel, mark, xScale, yScale, selected) : [];
}

function region(_panel, mark, xScale, yScale) {
  return mark.outlines.map((outline) =>
    createSvg("polygon", {
      points: outline.map(([x, y]) => `${round(xScale(x))},${round(yScale(y))}`).join(" "),
      class: "labext-region",
    }),
  );
}

function bars(panel, mark, xScale, yScale, selected) {
  return mark.x0.flatMap((x0, index) => {
    const [x, right] = order(xScale(x0), xScale(mark.x1[index]));
    const [y, bottom] = order(yScale(mark.y0[index]), yScale(mark.y1[index]));
    const fill = colorOf(panel, mark, index);
    const width = Math.max(right - x, 1); // narrower ones would be pale
    const bar = (height, className) =>
      createRect(x, bottom - height, width, height, className, { fill });
    const height = bottom > y ? Math.max(bottom - y, 1) : 0;
    if (!selected.size) return [bar(height, "")];
    const rows = mark.rows[index] ?? [];
    const share = rows.filter((row) => selected.has(row)).length / (rows.length || 1);
    const full = mark.values.length && share ? 1 : share; // a cell of a heat map is one row
    return [bar(height, "labext-faded"), ...(full ? [bar(height * full, "")] : [])];
  });
}

function boxes(_panel, mark, xScale, yScale) {
  return mark.x.flatMap((center, index) => {
    const [x, left, right] = [0, -mark.width / 2, mark.width / 2].map((d) => xScale(center + d));
    const cap = (right - left) / 4;
    const [low, q1, median, q3, high] = ["low", "q1", "median", "q3", "high"].map((name) =>
      yScale(mark[name][index]),
    );
    return [
      createRect(left, Math.min(q1, q3), right - left, Math.abs(q3 - q1), "labext-box"),
      createLine(x, q1, x, low, "labext-box"),
      createLine(x, q3, x, high, "labext-box"),
      createLine(x - cap, low, x + cap, low, "labext-box"),
      createLine(x - cap, high, x + cap, high, "labext-box"),
      createLine(left, median, right, median, "labext-box labext-median"),
    ];
  });
}

function line(_panel, mark, xScale, yScale, selected) {
  const points = mark.x.map((x, index) => `${round(xScale(x))},${round(yScale(mark.y[index]))}`);
  const shown = createSvg("polyline", {
    points: points.join(" "),
    class: `labext-line${selected.size ? " labext-faded" : ""}`,
    stroke: mark.color,
    "stroke-dasharray": mark.dashed ? DASHES : "",
  });
  const dots = mark.rows.flatMap((row, index) => {
    if (!selected.has(row)) return [];
    const [cx, cy] = points[index].split(",");
    return [createSvg("circle", { cx, cy, r: 2.5, fill: mark.color })];
  });
  return [shown, ...dots];
}

const order = (a, b) => (a <= b ? [a, b] : [b, a]);
const round = (value) => Math.round(value * 10) / 10;
