// How far two values of a step differ, relative to the step's largest magnitude.

import type { Proof } from "./header";
import type { Tensor } from "./tensor";

export interface Difference {
  error: number; // infinite: a NaN, an infinity in one of them only, or another shape
  compared: number;
}

function gap(a: number, b: number): number {
  if (a === b) return 0;
  const found = Math.abs(a - b);
  return Number.isFinite(found) ? found : Infinity;
}

function relative(largest: number, size: number): number {
  return largest === 0 ? 0 : largest / (size || 1);
}

/** All numbers against recorded ones. */
export function difference(computed: Tensor, recorded: Tensor): Difference {
  const compared = recorded.data.length;
  if (computed.data.length !== compared) return { error: Infinity, compared };
  let [largest, size] = [0, 0];
  for (let i = 0; i < compared; i++) {
    const [a, b] = [computed.data[i]!, recorded.data[i]!];
    largest = Math.max(largest, gap(a, b));
    if (Number.isFinite(b)) size = Math.max(size, Math.abs(b));
  }
  return { error: relative(largest, size), compared };
}

/** A value against what is known of it: its largest magnitude, its sum and some of its numbers. */
export function differenceFromProof(computed: Tensor, proof: Proof): Difference {
  let [size, sum, finite, nan] = [0, 0, 0, false];
  for (const value of computed.data) {
    if (Number.isNaN(value)) nan = true;
    if (!Number.isFinite(value)) continue;
    size = Math.max(size, Math.abs(value));
    sum += value;
    finite++;
  }
  const compared = proof.at.length + 2;
  if (nan) return { error: Infinity, compared };
  let largest = Math.max(gap(size, proof.max), gap(sum, proof.sum) / (finite || 1));
  proof.at.forEach((place, i) => {
    const value = computed.data[place];
    largest = Math.max(largest, value === undefined ? Infinity : gap(value, proof.values[i] ?? -Infinity));
  });
  return { error: relative(largest, proof.max), compared };
}
