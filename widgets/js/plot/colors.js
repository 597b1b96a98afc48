// Colors of numbers, as in `chart.scale_color` in Python, and dashes of lines.

export const DASHES = "4 3";

export function scaleColor(value, scale, palette) {
  const span = scale.high - scale.low;
  const share = span > 0 ? (value - scale.low) / span : 0.5;
  const place = Math.floor(share * palette.length);
  return palette[Math.min(Math.max(place, 0), palette.length - 1)];
}

export const colorOf = (panel, mark, index) =>
  mark.values?.length && panel.scale
    ? scaleColor(mark.values[index], panel.scale, panel.palette)
    : mark.color;
