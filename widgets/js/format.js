// Format numbers and times for display.

/** Format seconds as `0:07`, `12:07` or `1:12:07`, like `clock` in Python. */
export function formatTime(seconds) {
  const total = Math.max(0, Math.floor(seconds));
  const [hours, minutes, rest] = [total / 3600, (total / 60) % 60, total % 60].map(Math.floor);
  const pad = (number) => String(number).padStart(2, "0");
  return hours ? `${hours}:${pad(minutes)}:${pad(rest)}` : `${minutes}:${pad(rest)}`;
}

export const formatNumber = (value) => value.toLocaleString("en");

export const pluralize = (count, noun) => `${formatNumber(count)} ${noun}${count === 1 ? "" : "s"}`;
