// Points, drawn on a canvas, since elements for thousands of them would make the page slow.

import { createSvg } from "../svg.js";
import { colorOf, DASHES } from "./colors.js";

const RIM = "rgba(124, 124, 124, 0.9)"; // readable on white and on black
const SMALL = 4; // pixels up to which points have no rim, which takes the most time
const FADED = 0.3;
const OPAQUE = 0.88;

/** Draw the points of a panel; unselected ones are faded if `selected` has rows. */
export function drawPoints(canvas, panel, xScale, yScale, selected) {
  const ratio = window.devicePixelRatio || 1;
  const { clientWidth: width, clientHeight: height } = canvas;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext("2d");
  if (!context) return;
  context.scale(ratio, ratio);
  // selected points are drawn last, above the others
  for (const wanted of selected.size ? [false, true] : [false]) {
    context.globalAlpha = selected.size && !wanted ? FADED : OPAQUE;
    for (const mark of panel.marks) {
      if (mark.mark !== "points") continue;
      const outline = new Path2D(shapePath(mark.shape, mark.size));
      const isFilled = mark.shape !== "cross";
      const hasRim = isFilled && mark.size > SMALL;
      mark.rows.forEach((row, index) => {
        if (selected.has(row) !== wanted) return;
        const color = colorOf(panel, mark, index);
        const [x, y] = [xScale(mark.x[index]), yScale(mark.y[index])];
        context.translate(x, y);
        if (isFilled) {
          context.fillStyle = color;
          context.fill(outline);
        }
        if (hasRim || !isFilled) {
          context.strokeStyle = hasRim ? RIM : color;
          context.lineWidth = hasRim ? 0.7 : 1.5;
          context.stroke(outline);
        }
        context.translate(-x, -y);
      });
    }
  }
}

function shapePath(shape, size) {
  const r = size / 2;
  if (shape === "square") return `M${-r} ${-r}h${size}v${size}h${-size}z`;
  if (shape === "triangle") return `M0 ${-r * 1.1}L${r * 1.1} ${r * 0.9}H${-r * 1.1}z`;
  if (shape === "diamond") return `M0 ${-r * 1.25}L${r * 1.25} 0L0 ${r * 1.25}L${-r * 1.25} 0z`;
  if (shape === "cross") return `M${-r} ${-r}L${r} ${r}M${r} ${-r}L${-r} ${r}`;
  return `M${-r} 0a${r} ${r} 0 1 0 ${size} 0a${r} ${r} 0 1 0 ${-size} 0z`;
}

/** Return a small picture of a mark for the legend. */
export function createSwatch(mark) {
  const svg = createSvg("svg", { width: 18, height: 14, class: "labext-swatch", "aria-hidden": "true" });
  const color = mark.color;
  if (mark.mark === "points") {
    const attributes = { d: shapePath(mark.shape, 9), transform: "translate(9 7)" };
    const isCross = mark.shape === "cross";
    svg.append(createSvg("path", { ...attributes, [isCross ? "stroke" : "fill"]: color }));
  } else if (mark.mark === "line") {
    const dashes = { "stroke-dasharray": mark.dashed ? DASHES : "" };
    svg.append(createSvg("line", { x1: 0, x2: 18, y1: 7, y2: 7, stroke: color, "stroke-width": 2, ...dashes }));
  } else if (mark.mark === "region") {
    svg.append(createSvg("rect", { x: 1, y: 2, width: 16, height: 10, class: "labext-region" }));
  } else {
    svg.append(createSvg("rect", { x: 2, y: 2, width: 14, height: 10, fill: color }));
  }
  return svg;
}
