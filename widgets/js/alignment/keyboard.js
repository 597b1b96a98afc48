// The keys of the alignment: move the cursor, select rows.

/** Return the cursor after a key, or null if the key does not move it. */
export function moveCursor(event, cursor, { rows, columns }, perPage) {
  const { row, column } = cursor ?? { row: 0, column: columns ? 0 : null };
  const limitRow = (value) => Math.min(Math.max(value, 0), rows - 1);
  const limitColumn = (value) =>
    columns ? Math.min(Math.max(value, 0), columns - 1) : null;
  const far = event.ctrlKey || event.metaKey;
  switch (event.key) {
    case "ArrowLeft":
      return { row, column: limitColumn(column - (far ? 10 : 1)) };
    case "ArrowRight":
      return { row, column: limitColumn(column + (far ? 10 : 1)) };
    case "ArrowUp":
      return { row: limitRow(row - 1), column };
    case "ArrowDown":
      return { row: limitRow(row + 1), column };
    case "PageUp":
      return { row: limitRow(row - perPage), column };
    case "PageDown":
      return { row: limitRow(row + perPage), column };
    case "Home":
      return { row: far ? 0 : row, column: limitColumn(0) };
    case "End":
      return { row: far ? rows - 1 : row, column: limitColumn(columns - 1) };
    default:
      return null;
  }
}
