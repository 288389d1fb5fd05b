// What temperature, top-k and top-p leave of a distribution, as in decode/choosers.py: the k most likely tokens, their
// logits divided by the temperature, then the most likely ones that together have the probability p.

import { logTotal } from "./readout";

export interface Sampler {
  temperature: number;
  topK: number; // 0: all
  topP: number; // 1: all
}

export interface Allowed {
  order: Uint32Array; // all candidates, most likely first; forbidden ones (-Infinity) are last
  before: Float64Array; // log-probability of each candidate, by id
  after: Float64Array; // probability of each candidate once the sampler is applied, by id; 0: excluded
  count: number; // how many remain
  kept: number; // probability that the remaining ones had before
}

export function ordered(logits: ArrayLike<number>): Uint32Array {
  return Uint32Array.from({ length: logits.length }, (_, i) => i).sort((a, b) => logits[b]! - logits[a]! || a - b);
}

export function sample(logits: ArrayLike<number>, sampler: Sampler, order: Uint32Array = ordered(logits)): Allowed {
  const size = logits.length;
  const total = logTotal(logits);
  const before = Float64Array.from({ length: size }, (_, i) => logits[i]! - total);
  const after = new Float64Array(size);
  const limit = sampler.topK > 0 ? Math.min(sampler.topK, size) : size;
  const top = logits[order[0]!]!;
  let sum = 0;
  for (let i = 0; i < limit; i++) sum += after[order[i]!] = Math.exp((logits[order[i]!]! - top) / sampler.temperature);
  let [cumulative, count, rest, kept] = [0, 0, 0, 0];
  for (let i = 0; i < limit; i++) {
    const id = order[i]!;
    const share = after[id]! / sum;
    if (cumulative >= sampler.topP || share === 0) after[id] = 0;
    else {
      count++;
      rest += share;
      kept += Math.exp(before[id]!);
    }
    cumulative += share;
  }
  for (let i = 0; i < limit; i++) after[order[i]!] = after[order[i]!]! / sum / rest;
  return { order, before, after, count, kept };
}

/** The most that training with label smoothing asks of the right token, and what it asks of each other one. */
export function smoothed(smoothing: number, vocabulary: number): { ceiling: number; floor: number } {
  return { ceiling: 1 - smoothing + smoothing / vocabulary, floor: smoothing / vocabulary };
}
