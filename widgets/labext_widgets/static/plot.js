// js/dom.js
function createElement(name, className = "", attributes = {}, text = "") {
  const element = document.createElement(name);
  element.className = className;
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.textContent = text;
  return element;
}
function createButton(label, description, onClick) {
  const attributes = { type: "button", title: description, "aria-label": description };
  const button = createElement("button", "labext-button", attributes, label);
  button.addEventListener("click", (event) => {
    if (button.getAttribute("aria-disabled") !== "true") onClick(event);
  });
  return button;
}

// js/style.js
function addStyle(id, css) {
  let style = document.getElementById(id);
  if (!style) {
    style = Object.assign(document.createElement("style"), { id });
    document.head.append(style);
  }
  if (style.textContent !== css) style.textContent = css;
}

// js/format.js
var formatNumber = (value) => value.toLocaleString("en");
var pluralize = (count, noun) => `${formatNumber(count)} ${noun}${count === 1 ? "" : "s"}`;

// js/plot/values.js
var MINUS = "−";
var SECOND = 1e3;
var MINUTE = 60 * SECOND;
var HOUR = 60 * MINUTE;
var DAY = 24 * HOUR;
var TIME_STEPS = [
  ...[1, 2, 5, 10, 15, 30].map((count) => count * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR),
  ...[1, 2, 7, 14, 30, 91, 182, 365].map((count) => count * DAY)
];
function formatValue(axis, value) {
  if (axis.kind === "category") return axis.categories[Math.round(value)] ?? "";
  if (axis.kind === "time") return isoTime(value).slice(0, 19);
  if (Number.isInteger(value)) return formatDigits(value, 15);
  return formatDigits(value, Math.min(Math.max(Math.floor(Math.log10(Math.abs(value))) + 2, 5), 15));
}
function formatDigits(value, digits = 5, size = Math.abs(value)) {
  if (size && (size < 1e-4 || size >= 10 ** (digits + 4))) {
    return value.toExponential(digits - 2).replace(/\.?0+e/, "e").replaceAll("-", MINUS);
  }
  const options = { maximumSignificantDigits: digits };
  return value.toLocaleString("en", options).replace("-", MINUS);
}
var isoTime = (value) => new Date(value).toISOString().replace("T", " ");
function findTicks(axis, low, high, count) {
  if (axis.kind === "category") {
    return axis.categories.map((label, value) => ({ value, label }));
  }
  if (axis.kind === "time") return timeTicks(low, high, count);
  if (axis.log) return powerTicks(low, high, count);
  const step = axis.step ?? niceStep((high - low) / Math.max(count, 1), axis.whole);
  const values = multiples(low, high, step);
  const size = Math.max(...values.map(Math.abs));
  return values.map((value) => ({ value, label: stepLabel(value, step, size) }));
}
function multiples(low, high, step) {
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: Math.min(last - first + 1, 200) }, (_, n) => (first + n) * step);
}
function niceStep(least, whole = false) {
  if (!(least > 0) || whole && least <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(least));
  const factors = whole && power < 10 ? [1, 2, 5] : [1, 2, 2.5, 5];
  return power * (factors.find((factor) => factor * power >= least * 0.999) ?? 10);
}
function stepLabel(value, step, size) {
  if (size >= 1e6 || step < 1e-4) {
    if (value === 0) return "0";
    const digits2 = Math.ceil(Math.log10(size / step)) + 2;
    return formatDigits(value, Math.min(Math.max(digits2, 5), 17), size);
  }
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const needed = Number(step.toFixed(digits)) === step ? digits : digits + 1;
  const label = value.toFixed(Math.min(needed, 8));
  return (Number(label) === 0 ? label.replace("-", "") : label).replace("-", MINUS);
}
function powerTicks(low, high, count) {
  const powers = multiples(Math.log10(low), Math.log10(high), 1).map((power) => 10 ** power);
  const factors = powers.length >= Math.min(count, 3) ? [1] : [1, 2, 5];
  const first = 10 ** Math.floor(Math.log10(low));
  const values = [];
  for (let power = first; power <= high; power *= 10) {
    for (const factor of factors) values.push(factor * power);
  }
  return values.filter((value) => value >= low * 0.999 && value <= high * 1.001).map((value) => ({ value, label: formatDigits(value) }));
}
function timeTicks(low, high, count) {
  const least = (high - low) / Math.max(count, 1);
  const step = TIME_STEPS.find((size) => size >= least) ?? TIME_STEPS.at(-1) * Math.ceil(least / TIME_STEPS.at(-1));
  const [start, end] = step >= DAY ? [0, 10] : step >= MINUTE ? [5, 16] : [11, 19];
  return multiples(low, high, step).map((value) => ({
    value,
    label: isoTime(value).slice(start, end)
  }));
}

// js/plot/describe.js
function nameOf(panel, { rows, mark, index, box }) {
  if (box && mark.texts[index]) return mark.texts[index];
  return panel.names[rows[0]] ?? `Row ${formatNumber(rows[0] + 1)}`;
}
function valuesOf(panel, { mark, index, box }) {
  const lines = [];
  if (!box) {
    for (const which of ["x", "y"]) {
      const axis = panel[which];
      const value2 = formatValue(axis, mark[which][index]);
      lines.push(axis.label ? `${axis.label}: ${value2}` : value2);
    }
  }
  const value = mark.values?.[index];
  if (panel.scale && value !== void 0 && !box) {
    const line2 = `${panel.scale.label}: ${formatValue(panel.scale, value)}`;
    if (!lines.includes(line2)) lines.push(line2);
  }
  if (mark.name && !box) lines.push(panel.legend ? `${panel.legend}: ${mark.name}` : mark.name);
  return lines;
}
function describeSelection(isJobs, all, selected) {
  if (!selected) return "";
  return `${formatNumber(selected)} of ${pluralize(all, isJobs ? "job" : "row")} selected`;
}

// js/svg.js
var NAMESPACE = "http://www.w3.org/2000/svg";
function createSvg(name, attributes = {}, ...children) {
  const element = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== void 0 && value !== "") element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== ""));
  return element;
}
var createLine = (x1, y1, x2, y2, className) => createSvg("line", { x1, y1, x2, y2, class: className });
var createRect = (x, y, width, height, className, attributes = {}) => createSvg("rect", { x, y, width: Math.max(width, 0), height, class: className, ...attributes });
function truncate(text, letters) {
  const characters = [...text];
  if (characters.length <= letters) return text;
  return `${characters.slice(0, Math.max(letters - 1, 0)).join("").trimEnd()}…`;
}
function truncateMiddle(text, letters) {
  const characters = [...text];
  if (characters.length <= letters) return text;
  const tail = Math.floor((letters - 1) / 2);
  const start = truncate(text, letters - tail);
  return `${start}${characters.slice(characters.length - tail).join("").trimStart()}`;
}

// js/plot/scale.js
var HALF_DAY = 432e5;
var PADDING = 0.04;
function axisRange(panel, which) {
  const axis = panel[which];
  if (axis.limits) return axis.limits;
  if (axis.kind === "category") return [-0.5, Math.max(axis.categories.length, 1) - 0.5];
  let [low, high] = [Infinity, -Infinity];
  let isBase = false;
  for (const mark of panel.marks) {
    for (const value of markValues(mark, which)) {
      if (axis.log && value <= 0) continue;
      if (value < low) [low, isBase] = [value, mark.mark === "bars" && which === "y"];
      if (value > high) high = value;
    }
  }
  if (low > high) return axis.log ? [1, 10] : [0, 1];
  if (axis.log) return low === high ? [low / 2, high * 2] : pad(low, high, true);
  if (low === high) {
    const half = axis.kind === "time" ? HALF_DAY : axis.whole ? 1 : Math.abs(low) * 0.05 || 0.5;
    return [low - half, high + half];
  }
  const [below, above] = pad(low, high, false);
  return [isBase ? low : below, above];
}
function pad(low, high, log) {
  if (log) {
    const factor = (high / low) ** PADDING;
    return [low / factor, high * factor];
  }
  const space = (high - low) * PADDING;
  return [low - space, high + space];
}
function* markValues(mark, which) {
  if (mark.mark === "points" || mark.mark === "line") yield* mark[which];
  else if (mark.mark === "bars") {
    yield* mark[`${which}0`];
    yield* mark[`${which}1`];
  } else if (mark.mark === "boxes") {
    if (which === "y") {
      yield* mark.low;
      yield* mark.high;
    } else {
      for (const x of mark.x) yield* [x - mark.width / 2, x + mark.width / 2];
    }
  } else if (mark.mark === "region") {
    for (const outline of mark.outlines) for (const [x, y] of outline) yield which === "x" ? x : y;
  }
}
function createScale(axis, [low, high], from, to) {
  const value = axis.log ? (v) => Math.log(Math.max(v, Number.MIN_VALUE)) : (v) => v;
  if (axis.reverse) [from, to] = [to, from];
  const start = value(low);
  const perUnit = (to - from) / (value(high) - start || 1);
  return (v) => from + (value(v) - start) * perUnit;
}

// js/plot/axes.js
var LINE_HEIGHT = 14;
var MAX_LETTERS = 22;
var MAX_SHARE = 0.35;
var SLANT = 40 * Math.PI / 180;
var ruler = null;
function textWidth(text) {
  ruler ??= document.createElement("canvas").getContext("2d");
  return ruler ? ruler.measureText(text).width : text.length * 6;
}
function useFont(family) {
  textWidth("");
  if (ruler) ruler.font = `11px ${family}`;
}
function layOut(panel, width, height, font) {
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
  const space = isSlanted ? LINE_HEIGHT : longest(xTicks) + 10;
  return {
    width,
    area,
    xScale,
    yScale,
    isSlanted,
    xTicks: thin(xTicks, (area.right - area.left) / space),
    yTicks: thin(yTicks, (area.bottom - area.top) / LINE_HEIGHT),
    labelY: area.bottom + xHeight + LINE_HEIGHT + 6
  };
}
var longest = (ticks) => Math.max(0, ...ticks.map(({ label }) => textWidth(label)));
function shorten(ticks, space) {
  const [ends, middles] = [truncate, truncateMiddle].map(
    (shortened) => ticks.map(({ label }) => fit(label, space, shortened))
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
function drawGrid({ area, xScale, yScale, xTicks, yTicks }) {
  return [
    ...xTicks.map(({ value }) => {
      const x = Math.round(xScale(value)) + 0.5;
      return createLine(x, area.top, x, area.bottom, "labext-plot-grid");
    }),
    ...yTicks.map(({ value }) => {
      const y = Math.round(yScale(value)) + 0.5;
      return createLine(area.left, y, area.right, y, "labext-plot-grid");
    })
  ];
}
function drawAxes(panel, layout) {
  const { width, area, xScale, yScale, xTicks, yTicks, isSlanted, labelY } = layout;
  const [left, bottom] = [area.left + 0.5, area.bottom + 0.5];
  const elements = [
    createLine(left, area.top, left, bottom, "labext-spine"),
    createLine(left, bottom, area.right, bottom, "labext-spine")
  ];
  for (const { value, label } of xTicks) {
    const x = xScale(value);
    const isCut = x + 0.6 * textWidth(label) > width;
    const place = isSlanted ? { transform: `translate(${x + 4} ${bottom + 12}) rotate(-40)`, "text-anchor": "end" } : { x: isCut ? width : x, y: bottom + 16, "text-anchor": isCut ? "end" : "middle" };
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

// js/plot/colors.js
var DASHES = "4 3";
function scaleColor(value, scale, palette) {
  const span = scale.high - scale.low;
  const share = span > 0 ? (value - scale.low) / span : 0.5;
  const place = Math.floor(share * palette.length);
  return palette[Math.min(Math.max(place, 0), palette.length - 1)];
}
var colorOf = (panel, mark, index) => mark.values?.length && panel.scale ? scaleColor(mark.values[index], panel.scale, panel.palette) : mark.color;

// js/plot/points.js
var RIM = "rgba(124, 124, 124, 0.9)";
var SMALL = 4;
var FADED = 0.3;
var OPAQUE = 0.88;
function drawPoints(canvas, panel, xScale, yScale, selected) {
  const ratio = window.devicePixelRatio || 1;
  const { clientWidth: width, clientHeight: height } = canvas;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext("2d");
  if (!context) return;
  context.scale(ratio, ratio);
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
function createSwatch(mark) {
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

// js/plot/legend.js
function createLegend(panel, select) {
  const legend = createElement("div", "labext-plot-legend");
  const named = panel.marks.filter((mark) => mark.name);
  if (named.length) {
    if (panel.legend) legend.append(createElement("strong", "", {}, panel.legend));
    for (const mark of named) legend.append(createEntry(mark, select));
  }
  if (panel.scale) legend.append(createColorBar(panel));
  return legend.childElementCount ? legend : null;
}
function createEntry(mark, select) {
  const rows = (mark.rows ?? []).flat();
  const entry = rows.length ? createElement("button", "labext-plot-legend-entry", {
    type: "button",
    title: `Select ${mark.name} (${formatNumber(rows.length)})`
  }) : createElement("span", "labext-plot-legend-entry");
  entry.append(createSwatch(mark), createElement("span", "", {}, mark.name));
  if (rows.length) {
    entry.addEventListener("click", (event) => select(rows, event.shiftKey || event.ctrlKey || event.metaKey));
  }
  return entry;
}
function createColorBar({ scale, palette }) {
  const share = 100 / palette.length;
  const stops = palette.map((color, n) => `${color} ${n * share}% ${(n + 1) * share}%`);
  const bar = createElement("div", "labext-color-bar");
  const strip = createElement("div", "labext-colors");
  strip.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
  const ends = createElement("div", "labext-color-ends");
  for (const value of [scale.low, scale.high]) {
    ends.append(createElement("span", "", {}, formatValue(scale, value)));
  }
  bar.append(createElement("strong", "", {}, scale.label), strip, ends);
  return bar;
}

// js/plot/marks.js
function drawMark(panel, mark, xScale, yScale, selected) {
  const draw = { region, bars, boxes, line }[mark.mark];
  return draw ? draw(panel, mark, xScale, yScale, selected) : [];
}
function region(_panel, mark, xScale, yScale) {
  return mark.outlines.map(
    (outline) => createSvg("polygon", {
      points: outline.map(([x, y]) => `${round(xScale(x))},${round(yScale(y))}`).join(" "),
      class: "labext-region"
    })
  );
}
function bars(panel, mark, xScale, yScale, selected) {
  return mark.x0.flatMap((x0, index) => {
    const [x, right] = order(xScale(x0), xScale(mark.x1[index]));
    const [y, bottom] = order(yScale(mark.y0[index]), yScale(mark.y1[index]));
    const fill = colorOf(panel, mark, index);
    const width = Math.max(right - x, 1);
    const bar = (height2, className) => createRect(x, bottom - height2, width, height2, className, { fill });
    const height = bottom > y ? Math.max(bottom - y, 1) : 0;
    if (!selected.size) return [bar(height, "")];
    const rows = mark.rows[index] ?? [];
    const share = rows.filter((row) => selected.has(row)).length / (rows.length || 1);
    const full = mark.values.length && share ? 1 : share;
    return [bar(height, "labext-faded"), ...full ? [bar(height * full, "")] : []];
  });
}
function boxes(_panel, mark, xScale, yScale) {
  return mark.x.flatMap((center, index) => {
    const [x, left, right] = [0, -mark.width / 2, mark.width / 2].map((d) => xScale(center + d));
    const cap = (right - left) / 4;
    const [low, q1, median, q3, high] = ["low", "q1", "median", "q3", "high"].map(
      (name) => yScale(mark[name][index])
    );
    return [
      createRect(left, Math.min(q1, q3), right - left, Math.abs(q3 - q1), "labext-box"),
      createLine(x, q1, x, low, "labext-box"),
      createLine(x, q3, x, high, "labext-box"),
      createLine(x - cap, low, x + cap, low, "labext-box"),
      createLine(x - cap, high, x + cap, high, "labext-box"),
      createLine(left, median, right, median, "labext-box labext-median")
    ];
  });
}
function line(_panel, mark, xScale, yScale, selected) {
  const points = mark.x.map((x, index) => `${round(xScale(x))},${round(yScale(mark.y[index]))}`);
  const shown = createSvg("polyline", {
    points: points.join(" "),
    class: `labext-line${selected.size ? " labext-faded" : ""}`,
    stroke: mark.color,
    "stroke-dasharray": mark.dashed ? DASHES : ""
  });
  const dots = mark.rows.flatMap((row, index) => {
    if (!selected.has(row)) return [];
    const [cx, cy] = points[index].split(",");
    return [createSvg("circle", { cx, cy, r: 2.5, fill: mark.color })];
  });
  return [shown, ...dots];
}
var order = (a, b) => a <= b ? [a, b] : [b, a];
var round = (value) => Math.round(value * 10) / 10;

// js/plot/targets.js
var REACH = 14;
function findTargets(panel, xScale, yScale) {
  const targets = [];
  const drawn = /* @__PURE__ */ new Set();
  for (const mark of panel.marks) {
    if (mark.mark === "points") for (const row of mark.rows) drawn.add(row);
  }
  for (const mark of panel.marks) {
    if (mark.mark === "points" || mark.mark === "line") {
      mark.rows.forEach((row, index) => {
        if (mark.mark === "line" && drawn.has(row)) return;
        const [x, y] = [xScale(mark.x[index]), yScale(mark.y[index])];
        targets.push({ x, y, rows: [row], mark, index, box: null });
      });
    } else if (mark.mark === "bars") {
      mark.x0.forEach((x0, index) => {
        const [left, right] = order2(xScale(x0), xScale(mark.x1[index]));
        const [top, bottom] = order2(yScale(mark.y0[index]), yScale(mark.y1[index]));
        const rows = mark.rows[index] ?? [];
        if (!rows.length) return;
        const box = { left, right, top, bottom };
        const [x, y] = [(left + right) / 2, (top + bottom) / 2];
        targets.push({ x, y, rows, mark, index, box });
      });
    }
  }
  return targets;
}
var order2 = (a, b) => a <= b ? [a, b] : [b, a];
function targetAt(targets, x, y) {
  let nearest = null;
  let least = REACH ** 2;
  let bar = null;
  for (const target of targets) {
    const { box } = target;
    if (!box) {
      const distance = (target.x - x) ** 2 + (target.y - y) ** 2;
      if (distance <= least) [nearest, least] = [target, distance];
    } else if (x >= box.left && x <= box.right && y >= box.top - 2 && y <= box.bottom + 2) {
      bar = target;
    }
  }
  return nearest ?? bar;
}
function rowsWithin(targets, { left, right, top, bottom }) {
  const rows = /* @__PURE__ */ new Set();
  for (const { x, y, box, rows: own } of targets) {
    const inside = box ? box.left <= right && box.right >= left && box.top <= bottom && box.bottom >= top : x >= left && x <= right && y >= top && y <= bottom;
    if (inside) for (const row of own) rows.add(row);
  }
  return rows;
}
function orderAlong(targets, which) {
  const other = which === "x" ? "y" : "x";
  const sign = which === "x" ? 1 : -1;
  return targets.map((_, index) => index).sort(
    (a, b) => sign * (targets[a][which] - targets[b][which]) || targets[a][other] - targets[b][other] || a - b
  );
}

// js/plot/panel.js
var MAX_HEIGHT = 420;
var MIN_HEIGHT = 260;
var DRAG_DISTANCE = 4;
var STEPS = {
  ArrowRight: ["x", 1],
  ArrowLeft: ["x", -1],
  ArrowUp: ["y", 1],
  ArrowDown: ["y", -1],
  PageDown: ["x", 10],
  PageUp: ["x", -10],
  Home: ["x", -Infinity],
  End: ["x", Infinity]
};
var PanelView = class {
  element = createElement("div", "labext-plot-panel");
  selected = /* @__PURE__ */ new Set();
  // rows
  #panel;
  #actions;
  #area;
  #base = createSvg("svg", { "aria-hidden": "true" });
  #canvas = createElement("canvas", "", { "aria-hidden": "true" });
  #cursorLayer = createSvg("svg", { "aria-hidden": "true", class: "labext-plot-cursor" });
  #tooltip = createElement("div", "labext-tooltip", { "aria-hidden": "true" });
  #layout = null;
  #targets = [];
  #orders = {};
  #focused = -1;
  // index of a target
  #press = null;
  // {x, y, add, isDrag} while the button is pressed
  #width = 0;
  #frame = 0;
  // of the animation, while a drawing is due
  /** `actions`: select(rows), open(row) or null, announce(text), guarded(callback). */
  constructor(panel, actions) {
    this.#panel = panel;
    this.#actions = actions;
    const keys = actions.open ? "Enter opens the job, Space selects it" : "Space selects";
    this.#area = createElement("div", "labext-plot-area", {
      tabindex: "0",
      role: "application",
      "aria-label": `${panel.title || panel.summary}. Arrow keys move along the axes; ${keys}; Escape clears the selection.`
    });
    this.#tooltip.hidden = true;
    this.#area.append(this.#base, this.#canvas, this.#cursorLayer, this.#tooltip);
    const heading = createElement("div", "labext-plot-title");
    if (panel.title) heading.append(createElement("strong", "", {}, panel.title));
    if (panel.note) heading.append(createElement("span", "labext-plot-note", {}, panel.note));
    const choose = actions.guarded((rows, add) => this.#choose(rows, add));
    const legend = createLegend(panel, choose);
    this.element.append(heading, this.#area, ...legend ? [legend] : []);
    this.#listen();
  }
  /** Draw the panel in a new width. */
  draw(width) {
    this.#width = width;
    const ratio = this.#panel.square ? 0.85 : 0.62;
    const height = Math.round(Math.min(MAX_HEIGHT, Math.max(MIN_HEIGHT, width * ratio)));
    this.#area.style.height = `${height}px`;
    const { fontFamily } = getComputedStyle(this.#base);
    this.#layout = layOut(this.#panel, width, height, fontFamily);
    const { xScale, yScale } = this.#layout;
    this.#targets = findTargets(this.#panel, xScale, yScale);
    this.#orders = {};
    this.#redraw(this.selected);
    this.#showCursor();
  }
  focus() {
    this.#area.focus({ preventScroll: true });
  }
  select(rows) {
    this.selected = new Set(rows);
    if (this.#width) this.#redraw(this.selected);
  }
  #redraw(selected) {
    const { area, xScale, yScale } = this.#layout;
    const [width, height] = [area.right - area.left, area.bottom - area.top];
    const marks = createSvg("svg", {
      ...{ x: area.left, y: area.top, width, height },
      viewBox: `${area.left} ${area.top} ${width} ${height}`
    });
    for (const mark of this.#panel.marks) {
      marks.append(...drawMark(this.#panel, mark, xScale, yScale, selected));
    }
    const axes = drawAxes(this.#panel, this.#layout);
    this.#base.replaceChildren(...drawGrid(this.#layout), marks, ...axes);
    drawPoints(this.#canvas, this.#panel, xScale, yScale, selected);
  }
  #listen() {
    const on = (name, listener) => this.#area.addEventListener(name, this.#actions.guarded(listener));
    on("pointerdown", (event) => this.#startPress(event));
    on("pointermove", (event) => this.#move(event));
    on("pointerup", (event) => this.#endPress(event));
    on("pointercancel", () => this.#cancelPress());
    on("pointerleave", () => this.#press || this.#showCursor());
    on("keydown", (event) => this.#handleKey(event));
    on("blur", () => {
      this.#focused = -1;
      this.#showCursor();
    });
  }
  #position(event) {
    const box = this.#area.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }
  #startPress(event) {
    if (event.button !== 0) return;
    event.preventDefault();
    this.#area.focus({ preventScroll: true });
    this.#area.setPointerCapture(event.pointerId);
    const [x, y] = this.#position(event);
    this.#press = { x, y, add: isAdding(event), isDrag: false };
    this.#focused = -1;
  }
  #move(event) {
    const [x, y] = this.#position(event);
    const press = this.#press;
    if (!press) return this.#showTarget(targetAt(this.#targets, x, y));
    press.isDrag ||= Math.hypot(x - press.x, y - press.y) > DRAG_DISTANCE;
    if (!press.isDrag) return;
    press.box = this.#brush(press, x, y);
    const { left, top, right, bottom } = press.box;
    this.#tooltip.hidden = true;
    this.#cursorLayer.replaceChildren(
      createRect(left, top, right - left, bottom - top, "labext-brush", { height: bottom - top })
    );
    this.#frame ||= requestAnimationFrame(
      this.#actions.guarded(() => {
        this.#frame = 0;
        if (this.#press) this.#redraw(this.#union(rowsWithin(this.#targets, press.box), press.add));
      })
    );
  }
  #brush(press, x, y) {
    return {
      left: Math.min(press.x, x),
      right: Math.max(press.x, x),
      top: Math.min(press.y, y),
      bottom: Math.max(press.y, y)
    };
  }
  #endPress(event) {
    const press = this.#press;
    if (!press) return;
    this.#press = null;
    const [x, y] = this.#position(event);
    if (press.isDrag) {
      this.#cursorLayer.replaceChildren();
      return this.#choose([...rowsWithin(this.#targets, this.#brush(press, x, y))], press.add);
    }
    const target = targetAt(this.#targets, x, y);
    if (!target) return press.add || this.#choose([], false);
    if (press.add) return this.#toggle(target.rows);
    this.#act(target);
  }
  #cancelPress() {
    this.#press = null;
    this.#cursorLayer.replaceChildren();
    this.#redraw(this.selected);
  }
  /** Open the job of a point; select the rows of a bar, or of a point that is no job. */
  #act(target) {
    if (this.#actions.open && !target.box) this.#actions.open(target.rows[0]);
    else this.#choose(target.rows, false);
  }
  #choose(rows, add) {
    this.#actions.select(this.#union(rows, add));
  }
  #union(rows, add) {
    return new Set(add ? [...this.selected, ...rows] : rows);
  }
  #toggle(rows) {
    const remove = rows.every((row) => this.selected.has(row));
    const remaining = new Set(this.selected);
    for (const row of rows) remove ? remaining.delete(row) : remaining.add(row);
    this.#actions.select(remaining);
  }
  #handleKey(event) {
    const target = this.#targets[this.#focused];
    const { key } = event;
    if (key in STEPS && !event.ctrlKey && !event.metaKey && !event.altKey) {
      if (event.shiftKey && target) this.#choose(target.rows, true);
      this.#step(...STEPS[key]);
      const reached = this.#targets[this.#focused];
      if (event.shiftKey && reached) this.#choose(reached.rows, true);
    } else if (key === "Enter" && target) this.#act(target);
    else if (key === " " && target) this.#toggle(target.rows);
    else if (key === "a" && (event.ctrlKey || event.metaKey)) {
      this.#choose([...new Set(this.#targets.flatMap(({ rows }) => rows))], false);
    } else if (key === "Escape" && (this.selected.size || this.#press)) {
      this.#cancelPress();
      this.#choose([], false);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
  #step(which, offset) {
    const order3 = this.#orders[which] ??= orderAlong(this.#targets, which);
    if (!order3.length) return;
    const place = this.#focused < 0 ? offset > 0 ? -1 : order3.length : order3.indexOf(this.#focused);
    const next = Math.min(Math.max(place + offset, 0), order3.length - 1);
    this.#focused = order3[next];
    this.#showCursor();
    const target = this.#targets[this.#focused];
    const position = `${formatNumber(next + 1)} of ${formatNumber(order3.length)}`;
    const isSelected = target.rows.every((row) => this.selected.has(row));
    const words = [nameOf(this.#panel, target), ...valuesOf(this.#panel, target), position];
    this.#actions.announce(words.concat(isSelected ? ["selected"] : []).join("; "));
  }
  /** Show the target that the keyboard has reached, or none. */
  #showCursor() {
    this.#showTarget(this.#targets[this.#focused] ?? null);
  }
  #showTarget(target) {
    this.#tooltip.hidden = !target;
    this.#area.classList.toggle("labext-over", target !== null);
    if (!target) return this.#cursorLayer.replaceChildren();
    const { x, y, box, mark } = target;
    const ring = box ? createRect(box.left, box.top, box.right - box.left, box.bottom - box.top, "labext-cursor-ring") : createSvg("circle", { cx: x, cy: y, r: (mark.size ?? 5) / 2 + 3.5, class: "labext-cursor-ring" });
    this.#cursorLayer.replaceChildren(ring);
    const lines = valuesOf(this.#panel, target).map((line2) => createElement("span", "", {}, line2));
    const name = createElement("strong", "", {}, nameOf(this.#panel, target));
    this.#tooltip.replaceChildren(name, ...lines);
    this.#placeTooltip(x, box ? box.top : y);
  }
  #placeTooltip(x, y) {
    const { style } = this.#tooltip;
    style.left = style.top = "0px";
    const { offsetWidth: width, offsetHeight: height } = this.#tooltip;
    const left = x + 12 + width <= this.#width ? x + 12 : x - 12 - width;
    const top = Math.min(Math.max(y - height / 2, 0), this.#area.clientHeight - height);
    style.left = `${Math.max(left, 0)}px`;
    style.top = `${Math.max(top, 0)}px`;
  }
};
var isAdding = (event) => event.shiftKey || event.ctrlKey || event.metaKey;

// js/plot/style.css
var style_default = ".labext-live:has(> .labext-many) {\n  max-width: 1100px;\n}\n\n.labext-plot-panels {\n  display: grid;\n  grid-template-columns: minmax(0, 1fr);\n  gap: 12px 16px;\n}\n\n.labext-plot-panels.labext-two-columns {\n  grid-template-columns: repeat(2, minmax(0, 1fr));\n}\n\n.labext-plot-title {\n  display: flex;\n  flex-wrap: wrap;\n  gap: 0 12px;\n  align-items: baseline;\n  justify-content: space-between;\n}\n\n.labext-plot-note,\n.labext-plot-summary,\n.labext-plot-hint {\n  color: var(--labext-dim);\n}\n\n.labext-plot-area {\n  position: relative;\n  border-radius: 4px;\n  cursor: crosshair;\n  user-select: none;\n  touch-action: pan-y;\n}\n\n.labext-plot-area:focus-visible {\n  outline: 2px solid var(--labext-accent);\n  outline-offset: -2px; /* a cell's output cuts off what is outside */\n}\n\n.labext-plot-area > svg,\n.labext-plot-area > canvas {\n  position: absolute;\n  inset: 0;\n  width: 100%;\n  height: 100%;\n  font-family: var(--jp-ui-font-family, sans-serif);\n  font-size: 12px;\n  fill: var(--labext-ink);\n}\n\n.labext-plot-area > canvas,\n.labext-plot-area > .labext-plot-cursor {\n  pointer-events: none;\n}\n\n.labext-plot-area.labext-over {\n  cursor: pointer;\n}\n\n.labext-plot-tick {\n  font-size: 11px;\n  fill: var(--labext-dim);\n}\n\n.labext-plot-grid {\n  stroke: var(--labext-dim);\n  stroke-width: 1;\n  opacity: 0.16;\n}\n\n.labext-spine {\n  stroke: var(--labext-dim);\n  stroke-width: 1;\n}\n\n.labext-region {\n  fill: color-mix(in srgb, var(--labext-dim) 16%, transparent);\n  stroke: var(--labext-dim);\n  stroke-width: 0.9;\n}\n\n.labext-box {\n  fill: none;\n  stroke: var(--labext-ink);\n  stroke-width: 1.2;\n}\n\n.labext-median {\n  stroke-width: 2.4;\n}\n\n.labext-line {\n  fill: none;\n  stroke-width: 1.8;\n  stroke-linejoin: round;\n}\n\n.labext-faded {\n  opacity: 0.25;\n}\n\n.labext-brush {\n  fill: color-mix(in srgb, var(--labext-accent) 16%, transparent);\n  stroke: var(--labext-accent);\n  stroke-width: 1;\n}\n\n.labext-cursor-ring {\n  fill: none;\n  stroke: var(--labext-ink);\n  stroke-width: 2;\n}\n\n.labext-tooltip {\n  position: absolute;\n  z-index: 2;\n  max-width: 260px;\n  padding: 4px 8px;\n  overflow-wrap: anywhere;\n  line-height: 1.45;\n  color: var(--labext-ink);\n  background: var(--jp-layout-color1, #fff);\n  border: 1px solid var(--labext-rule);\n  border-radius: 4px;\n  box-shadow: 0 1px 4px rgb(0 0 0 / 25%);\n  pointer-events: none;\n}\n\n.labext-tooltip[hidden] {\n  display: none;\n}\n\n.labext-tooltip > * {\n  display: block;\n}\n\n.labext-plot-legend {\n  display: flex;\n  flex-wrap: wrap;\n  gap: 2px 10px;\n  align-items: baseline;\n}\n\n.labext-plot-legend-entry {\n  display: inline-flex;\n  gap: 5px;\n  align-items: center;\n  max-width: 100%;\n  padding: 1px 5px;\n  font: inherit;\n  color: var(--labext-ink);\n  text-align: start;\n  overflow-wrap: anywhere;\n  background: none;\n  border: 0;\n  border-radius: 4px;\n}\n\n.labext-plot-legend-entry > span {\n  align-self: baseline;\n}\n\nbutton.labext-plot-legend-entry {\n  cursor: pointer;\n}\n\nbutton.labext-plot-legend-entry:hover {\n  background: var(--jp-layout-color2, #eee);\n}\n\nbutton.labext-plot-legend-entry:focus-visible {\n  outline: 2px solid var(--labext-accent);\n  outline-offset: -1px;\n}\n\n.labext-swatch {\n  flex: none;\n}\n\n.labext-color-bar {\n  display: grid;\n  grid-template-columns: auto 180px;\n  gap: 0 10px;\n  align-items: center;\n}\n\n.labext-colors {\n  height: 10px;\n  border-radius: 2px;\n  forced-color-adjust: none;\n}\n\n.labext-color-ends {\n  display: flex;\n  grid-column: 2;\n  justify-content: space-between;\n  font-size: 11px;\n  line-height: 1.3;\n  color: var(--labext-dim);\n}\n\n.labext-plot-status {\n  display: flex;\n  flex-wrap: wrap;\n  gap: 4px 8px;\n  align-items: center;\n  min-height: 30px;\n}\n\n.labext-plot-status [hidden] {\n  display: none;\n}\n";

// js/plot/view.js
var TWO_COLUMNS = 620;
var GAP = 16;
function plot(root, handle) {
  addStyle("labext-plot-style", style_default);
  const { state } = handle;
  const viewId = Math.random().toString(36).slice(2);
  const isMany = state.panels.length > 1;
  let width = 0;
  const grid = createElement("div", `labext-plot-panels${isMany ? " labext-many" : ""}`);
  const spoken = createElement("div", "labext-visually-hidden", { "aria-live": "polite" });
  const status = createElement("span", "", { role: "status", "aria-live": "polite" });
  const clearButton = createButton("Clear", "Clear the selection", () => {
    const view = views2.find(({ selected }) => selected.size);
    select(0, /* @__PURE__ */ new Set());
    view?.focus();
  });
  const hint = createElement("span", "labext-plot-hint");
  const opensPoints = state.opens && state.panels[0].marks.some(({ mark }) => mark !== "bars");
  hint.textContent = opensPoints ? "Click a point to open its job; drag to select." : `Drag to select ${state.opens ? "jobs" : "rows"}.`;
  const statusLine = createElement("div", "labext-plot-status");
  statusLine.append(hint, status, clearButton);
  const summary = createElement("div", "labext-plot-summary", {}, state.summary);
  const views2 = state.panels.map((panel, index) => {
    const isJobs = state.opens && index === 0;
    return new PanelView({ ...panel, isJobs, summary: state.summary }, {
      guarded: (callback) => handle.guarded(callback),
      announce: (text) => spoken.textContent = text,
      select: (rows) => select(index, rows),
      open: isJobs && opensPoints ? (row) => open(panel.names[row] ?? "", row) : null
    });
  });
  grid.append(...views2.map(({ element }) => element));
  root.classList.add("labext-plot");
  root.append(grid, statusLine, summary, spoken);
  function select(index, rows) {
    const selection = { panel: index, rows: [...rows].sort((a, b) => a - b) };
    show(selection);
    handle.send({ do: "select", ...selection, sender: viewId });
  }
  function show({ panel, rows }) {
    views2.forEach((view, index) => {
      const own = index === panel ? rows : [];
      if (own.length || view.selected.size) view.select(own);
    });
    const { isJobs, count } = { ...state.panels[panel], isJobs: state.opens && panel === 0 };
    status.textContent = describeSelection(isJobs, count, rows.length);
    clearButton.hidden = !rows.length;
    hint.hidden = rows.length > 0;
  }
  function open(name, row) {
    spoken.textContent = `Opening ${name} below the plot.`;
    handle.send({ do: "open", row });
  }
  handle.onChange(({ selection }) => {
    if (selection && selection.sender !== viewId) show(selection);
  });
  const resizeObserver = new ResizeObserver(([entry]) => {
    const newWidth = Math.floor(entry.contentRect.width);
    if (newWidth === width || !newWidth) return;
    width = newWidth;
    handle.guard(() => {
      const isSideBySide = isMany && width >= TWO_COLUMNS;
      grid.classList.toggle("labext-two-columns", isSideBySide);
      const own = isSideBySide ? Math.floor((width - GAP) / 2) : width;
      for (const view of views2) view.draw(own);
    });
  });
  resizeObserver.observe(grid);
  return () => resizeObserver.disconnect();
}

// js/plot.js
var views = { plot };
export {
  views
};
