// Helpers of the tests: random numbers that are the same every time, and how far two values differ.

import type { Tensor } from "../src/engine/tensor";

/** Numbers in [-1, 1). */
export function random(seed: number): () => number {
  let state = seed >>> 0 || 1;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2147483648 - 1;
  };
}

/** The largest difference, relative to the largest magnitude; infinite where one has a NaN or an infinity alone. */
export function worst(a: Tensor, b: Tensor): number {
  if (a.shape.join() !== b.shape.join()) return Infinity;
  let [difference, size] = [0, 0];
  a.data.forEach((x, i) => {
    const y = b.data[i]!;
    if (x === y) return;
    const gap = Math.abs(x - y);
    difference = Math.max(difference, Number.isFinite(gap) ? gap : Infinity);
  });
  for (const y of b.data) if (Number.isFinite(y)) size = Math.max(size, Math.abs(y));
  return difference / (size || 1);
}
