// The positions of values along an axis, in pixels.

const HALF_DAY = 43_200_000; // ms on either side of a single time
const PADDING = 0.04; // share of the range that is left free at either end

/** Return the lowest and the highest value of an axis. */
export function axisRange(panel, which) {
  const axis = panel[which];
  if (axis.limits) return axis.limits;
  if (axis.kind === "category") return [-0.5, Math.max(axis.categories.length, 1) - 0.5];
  let [low, high] = [Infinity, -Infinity];
  let isBase = false; // bars stand on the lowest value
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

/** Return a function from values to pixels: `low` is at `from`, `high` at `to`. */
export function createScale(axis, [low, high], from, to) {
  const value = axis.log ? (v) => Math.log(Math.max(v, Number.MIN_VALUE)) : (v) => v;
  if (axis.reverse) [from, to] = [to, from];
  const start = value(low);
  const perUnit = (to - from) / (value(high) - start || 1);
  return (v) => from + (value(v) - start) * perUnit;
}
