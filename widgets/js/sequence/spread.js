// Labels that do not touch: each as near as can be to the place it wants.

/** Move places, given in order, as little as keeps them `gap` apart. Neighbours that would touch
 * are pooled, and a pool stands around the middle of what it wants. */
export function spread(wanted, gap, most) {
  const pools = [];
  for (const place of wanted) {
    pools.push({ sum: place, count: 1 });
    for (;;) {
      const [one, two] = pools.slice(-2);
      if (!two || one.sum / one.count + one.count * gap <= two.sum / two.count) break;
      one.sum += two.sum - one.count * two.count * gap;
      one.count += two.count;
      pools.pop();
    }
  }
  const placed = pools.flatMap(({ sum, count }) =>
    Array.from({ length: count }, (_, i) => sum / count + i * gap),
  );
  for (let i = 0, least = -most; i < placed.length; i++, least = placed[i - 1] + gap) {
    placed[i] = Math.max(placed[i], least);
  }
  for (let i = placed.length - 1, high = most; i >= 0; high = placed[i--] - gap) {
    placed[i] = Math.min(placed[i], high);
  }
  return placed;
}
