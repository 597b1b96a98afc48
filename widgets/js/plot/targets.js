// What can be hovered, focused and selected in a panel: points, vertices of lines, and bars.

const REACH = 14; // pixels from which a point is near

/** Return targets `{x, y, rows, mark, index, box}` in pixels; bars alone have a box. */
export function findTargets(panel, xScale, yScale) {
  const targets = [];
  const drawn = new Set(); // rows with a point of their own
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
        const [left, right] = order(xScale(x0), xScale(mark.x1[index]));
        const [top, bottom] = order(yScale(mark.y0[index]), yScale(mark.y1[index]));
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

const order = (a, b) => (a <= b ? [a, b] : [b, a]);

/** Return the nearest point within reach, else the bar at a position, else null. */
export function targetAt(targets, x, y) {
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

/** Return the rows of the targets in a rectangle: points inside it, bars that it touches. */
export function rowsWithin(targets, { left, right, top, bottom }) {
  const rows = new Set();
  for (const { x, y, box, rows: own } of targets) {
    const inside = box
      ? box.left <= right && box.right >= left && box.top <= bottom && box.bottom >= top
      : x >= left && x <= right && y >= top && y <= bottom;
    if (inside) for (const row of own) rows.add(row);
  }
  return rows;
}

/** Return the positions of targets ordered along an axis, for steps by keyboard. */
export function orderAlong(targets, which) {
  const other = which === "x" ? "y" : "x";
  const sign = which === "x" ? 1 : -1; // upwards is forwards
  return targets
    .map((_, index) => index)
    .sort(
      (a, b) =>
        sign * (targets[a][which] - targets[b][which]) ||
        targets[a][other] - targets[b][other] ||
        a - b,
    );
}
