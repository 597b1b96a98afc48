// Colours of numbers, as in `chart.scale_colour` in Python.

export function scaleColour(value, scale, palette) {
  const span = scale.high - scale.low;
  const share = span > 0 ? (value - scale.low) / span : 0.5;
  const place = Math.floor(share * palette.length);
  return palette[Math.min(Math.max(place, 0), palette.length - 1)];
}

export const colourOf = (panel, mark, index) =>
  mark.values?.length && panel.scale
    ? scaleColour(mark.values[index], panel.scale, panel.palette)
    : mark.colour;
