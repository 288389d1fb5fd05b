// Scores of random queries and keys, divided by a power of their width, and what the softmax makes of them.

import type { Tensor } from "../engine/header";
import { dim, eachRowOf, tensor, zeros } from "../engine/tensor";
import type { Results } from "./check";
import type { Lesson } from "./data";
import { narrowed, products, row, scaled, softmax } from "./reckon";

export interface Settings {
  width: number;
  widths: number[];
}

export interface Measured {
  scores: Tensor; // (queries, keys)
  shares: Tensor;
  variance: number;
  highest: number; // mean of the largest share of each query
  gradient: number; // mean size of the softmax's Jacobian
}

/** The first `width` dimensions of all vectors; scores divided by width^power. */
export function measured(queries: Tensor, keys: Tensor, width: number, power: number): Measured {
  const scores = scaled(products(narrowed(queries, width), narrowed(keys, width)), width ** -power);
  const shares = softmax(scores);
  const mean = scores.data.reduce((sum, score) => sum + score, 0) / scores.data.length;
  const variance = scores.data.reduce((sum, score) => sum + (score - mean) ** 2, 0) / scores.data.length;
  let [highest, gradient] = [0, 0];
  eachRowOf(shares, (p) => {
    highest += Math.max(...p);
    gradient += size(jacobian(p));
  });
  const count = dim(shares, 0);
  return { scores, shares, variance, highest: highest / count, gradient: gradient / count };
}

/** diag(p) - p p^T: how each share moves with each score. */
export function jacobian(p: Float32Array): Tensor {
  const y = zeros([p.length, p.length]);
  p.forEach((one, i) => p.forEach((other, j) => { y.data[i * p.length + j] = (i === j ? one : 0) - one * other; }));
  return y;
}

export const size = (x: Tensor): number => Math.sqrt(x.data.reduce((sum, value) => sum + value * value, 0));

export const sharesOf = (found: Measured, query: number): Float32Array => row(found.shares, query);

export function results({ settings, arrays }: Lesson<Settings>): Results {
  const found: Record<string, number[]> = {};
  for (const width of settings.widths) {
    for (const [name, power] of [["raw", 0], ["scaled", 0.5]] as const) {
      const one = measured(arrays.queries!, arrays.keys!, width, power);
      for (const what of ["variance", "highest", "gradient"] as const) (found[`${what}, ${name}`] ??= []).push(one[what]);
    }
  }
  return Object.fromEntries(Object.entries(found).map(([name, values]) => [name, tensor(values)]));
}
