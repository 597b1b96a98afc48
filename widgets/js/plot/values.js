// Format numbers and times as texts, and find where ticks are.

const MINUS = "−";
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const TIME_STEPS = [
  ...[1, 2, 5, 10, 15, 30].map((count) => count * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR),
  ...[1, 2, 7, 14, 30, 91, 182, 365].map((count) => count * DAY),
];

/**
 * Format a value of an axis or scale: whole numbers exactly, others to five digits, and one behind
 * the point; times in UTC.
 */
export function formatValue(axis, value) {
  if (axis.kind === "category") return axis.categories[Math.round(value)] ?? "";
  if (axis.kind === "time") return isoTime(value).slice(0, 19);
  if (Number.isInteger(value)) return formatDigits(value, 15);
  return formatDigits(value, Math.min(Math.max(Math.floor(Math.log10(Math.abs(value))) + 2, 5), 15));
}

/** Return a number with `digits` digits, in the notation for numbers up to `size`. */
function formatDigits(value, digits = 5, size = Math.abs(value)) {
  if (size && (size < 1e-4 || size >= 10 ** (digits + 4))) {
    return value.toExponential(digits - 2).replace(/\.?0+e/, "e").replaceAll("-", MINUS);
  }
  const options = { maximumSignificantDigits: digits };
  return value.toLocaleString("en", options).replace("-", MINUS);
}

const isoTime = (value) => new Date(value).toISOString().replace("T", " ");

/** Return ticks `{value, label}` between two values, about `count` of them. */
export function findTicks(axis, low, high, count) {
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

/**
 * Return the smallest of 1, 2, 2.5 and 5 times a power of ten that is at least `least`; if `whole`
 * is set, a whole number.
 */
export function niceStep(least, whole = false) {
  if (!(least > 0) || (whole && least <= 1)) return 1;
  const power = 10 ** Math.floor(Math.log10(least));
  const factors = whole && power < 10 ? [1, 2, 5] : [1, 2, 2.5, 5];
  return power * (factors.find((factor) => factor * power >= least * 0.999) ?? 10);
}

function stepLabel(value, step, size) {
  if (size >= 1e6 || step < 1e-4) {
    if (value === 0) return "0";
    const digits = Math.ceil(Math.log10(size / step)) + 2; // neighbours differ
    return formatDigits(value, Math.min(Math.max(digits, 5), 17), size);
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
  return values
    .filter((value) => value >= low * 0.999 && value <= high * 1.001)
    .map((value) => ({ value, label: formatDigits(value) }));
}

function timeTicks(low, high, count) {
  const least = (high - low) / Math.max(count, 1);
  const step = TIME_STEPS.find((size) => size >= least) ?? TIME_STEPS.at(-1) * Math.ceil(least / TIME_STEPS.at(-1));
  const [start, end] = step >= DAY ? [0, 10] : step >= MINUTE ? [5, 16] : [11, 19];
  return multiples(low, high, step).map((value) => ({
    value,
    label: isoTime(value).slice(start, end),
  }));
}
