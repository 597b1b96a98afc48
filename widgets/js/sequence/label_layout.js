// Place labels without overlap.

/** Move sorted positions minimally so that they are `gap` apart and within ±`limit`. Neighbours that
 * would overlap are pooled, and a pool is centered on its desired positions. */
export function spreadLabels(positions, gap, limit) {
  const pools = [];
  for (const position of positions) {
    pools.push({ sum: position, count: 1 });
    for (;;) {
      const [previous, last] = pools.slice(-2);
      if (!last) break;
      if (previous.sum / previous.count + previous.count * gap <= last.sum / last.count) break;
      previous.sum += last.sum - previous.count * last.count * gap;
      previous.count += last.count;
      pools.pop();
    }
  }
  const placed = pools.flatMap(({ sum, count }) =>
    Array.from({ length: count }, (_, i) => sum / count + i * gap),
  );
  for (let i = 0, low = -limit; i < placed.length; i++, low = placed[i - 1] + gap) {
    placed[i] = Math.max(placed[i], low);
  }
  for (let i = placed.length - 1, high = limit; i >= 0; high = placed[i--] - gap) {
    placed[i] = Math.min(placed[i], high);
  }
  return placed;
}
