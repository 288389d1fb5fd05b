// The operations of attention. Shapes: T queries, K keys, H heads, G key/value heads, E head width, D width.

import type { Call, Op } from "./ops";
import { dim, tensor, zeros, type Tensor } from "./tensor";

const setting = (call: Call, name: string): number => {
  const value = call.settings[name];
  return typeof value === "number" ? value : 0;
};

/** (T, H*E) -> (H, T, E) */
function splitHeads(call: Call): Tensor {
  const [x, heads] = [call.inputs[0]!, setting(call, "heads")];
  const [count, width] = [dim(x, 0), dim(x, 1) / heads];
  const y = zeros([heads, count, width]);
  for (let h = 0; h < heads; h++) {
    for (let t = 0; t < count; t++) {
      const from = (t * heads + h) * width;
      y.data.set(x.data.subarray(from, from + width), (h * count + t) * width);
    }
  }
  return y;
}

/** (H, T, E) -> (T, H*E) */
function joinHeads({ inputs }: Call): Tensor {
  const [heads, count, width] = inputs[0]!.shape as [number, number, number];
  const y = zeros([count, heads * width]);
  for (let h = 0; h < heads; h++) {
    for (let t = 0; t < count; t++) {
      const from = (h * count + t) * width;
      y.data.set(inputs[0]!.data.subarray(from, from + width), (t * heads + h) * width);
    }
  }
  return y;
}

/** Rotates each pair (x_2i, x_2i+1) of row t by (start + t) * turns[i]; what comes after the last pair stays. */
function rotate(call: Call): Tensor {
  const [x, turns] = [call.inputs[0]!, call.settings["turns"] as number[]];
  const [heads, count, width] = x.shape as [number, number, number];
  const first = setting(call, "start") + call.first;
  const y = tensor(x.data.slice(), x.shape);
  for (let t = 0; t < count; t++) {
    turns.forEach((turn, i) => {
      const [cos, sin] = [Math.cos((first + t) * turn), Math.sin((first + t) * turn)];
      for (let h = 0; h < heads; h++) {
        const at = (h * count + t) * width + 2 * i;
        const [even, odd] = [x.data[at]!, x.data[at + 1]!];
        y.data[at] = even * cos - odd * sin;
        y.data[at + 1] = even * sin + odd * cos;
      }
    });
  }
  return y;
}

/** Which key/value head each of H query heads uses: h // (H/G). */
export const sharedHead = (head: number, heads: number, groups: number): number => Math.floor(head / (heads / groups));

/** q k^T: (H, T, E) and (G, K, E) -> (H, T, K) */
function scores({ inputs }: Call): Tensor {
  const [q, k] = [inputs[0]!, inputs[1]!];
  const [heads, count, width] = q.shape as [number, number, number];
  const [groups, keys] = [dim(k, 0), dim(k, 1)];
  const y = zeros([heads, count, keys]);
  for (let h = 0; h < heads; h++) {
    const g = sharedHead(h, heads, groups);
    for (let t = 0; t < count; t++) {
      const row = (h * count + t) * width;
      for (let j = 0; j < keys; j++) {
        const column = (g * keys + j) * width;
        let sum = 0;
        for (let e = 0; e < width; e++) sum += q.data[row + e]! * k.data[column + e]!;
        y.data[(h * count + t) * keys + j] = sum;
      }
    }
  }
  return y;
}

/** pattern v: (H, T, K) and (G, K, E) -> (H, T, E) */
function mix({ inputs }: Call): Tensor {
  const [pattern, v] = [inputs[0]!, inputs[1]!];
  const [heads, count, keys] = pattern.shape as [number, number, number];
  const [groups, width] = [dim(v, 0), dim(v, 2)];
  const y = zeros([heads, count, width]);
  const sums = new Float64Array(width);
  for (let h = 0; h < heads; h++) {
    const g = sharedHead(h, heads, groups);
    for (let t = 0; t < count; t++) {
      sums.fill(0);
      for (let j = 0; j < keys; j++) {
        const share = pattern.data[(h * count + t) * keys + j]!;
        if (share === 0) continue;
        const from = (g * keys + j) * width;
        for (let e = 0; e < width; e++) sums[e]! += share * v.data[from + e]!;
      }
      y.data.set(sums, (h * count + t) * width);
    }
  }
  return y;
}

/** What each head adds by itself: (H, T, E) and W_O (D, H*E) -> (H, T, D) */
function headResults({ inputs, weights }: Call): Tensor {
  const [z, out] = [inputs[0]!, weights[0]!];
  const [heads, count, width] = z.shape as [number, number, number];
  const [outputs, inner] = [dim(out, 0), dim(out, 1)];
  const y = zeros([heads, count, outputs]);
  for (let h = 0; h < heads; h++) {
    for (let t = 0; t < count; t++) {
      const row = (h * count + t) * width;
      for (let n = 0; n < outputs; n++) {
        let sum = 0;
        const column = n * inner + h * width;
        for (let e = 0; e < width; e++) sum += z.data[row + e]! * out.data[column + e]!;
        y.data[(h * count + t) * outputs + n] = sum;
      }
    }
  }
  return y;
}

/** Whether key j is hidden from query t: after it (causal), or `window` or more before it. */
export function isHidden(settings: Call["settings"], t: number, j: number): boolean {
  const window = Number(settings["window"] ?? 0);
  return (settings["causal"] === true && j > t) || (window > 0 && t - j >= window);
}

function mask(call: Call): Tensor {
  const x = call.inputs[0]!;
  const [count, keys] = [dim(x, -2), dim(x, -1)];
  const y = tensor(x.data.slice(), x.shape);
  for (let i = 0; i < y.data.length; i++) {
    const t = call.first + (Math.floor(i / keys) % count);
    if (isHidden(call.settings, t, i % keys)) y.data[i] = -Infinity;
  }
  return y;
}

/** exp(x) / sum exp(x) over the last axis; a row in which everything is hidden gives zeros. */
function softmax({ inputs }: Call): Tensor {
  const x = inputs[0]!;
  const width = dim(x, -1);
  const y = zeros(x.shape);
  for (let from = 0; from < x.data.length; from += width) {
    let top = -Infinity;
    for (let i = 0; i < width; i++) top = Math.max(top, x.data[from + i]!);
    if (top === -Infinity) continue;
    let total = 0;
    for (let i = 0; i < width; i++) total += Math.exp(x.data[from + i]! - top);
    for (let i = 0; i < width; i++) y.data[from + i] = Math.exp(x.data[from + i]! - top) / total;
  }
  return y;
}

/** The bucket of a distance, key - query: bucket b holds the distances from starts[b] on; with both ways, later keys have a
 * second set (Raffel et al. 2019). */
export function distanceBucket(distance: number, settings: Call["settings"]): number {
  const starts = settings["starts"] as number[];
  const both = settings["both_ways"] === true;
  const steps = both ? Math.abs(distance) : Math.max(-distance, 0);
  const bucket = starts.filter((start) => start <= steps).length - 1;
  return both && distance > 0 ? bucket + starts.length : bucket;
}

/** One learned number for each head and bucket of distances: (T), (K) and a table (buckets, H) -> (H, T, K) */
function relativeBias(call: Call): Tensor {
  const [count, keys] = call.inputs.map((x) => dim(x, 0)) as [number, number];
  const table = call.weights[0]!;
  const heads = dim(table, 1);
  const y = zeros([heads, count, keys]);
  for (let t = 0; t < count; t++) {
    for (let j = 0; j < keys; j++) {
      const bucket = distanceBucket(j - (call.first + t), call.settings);
      for (let h = 0; h < heads; h++) y.data[(h * count + t) * keys + j] = table.data[bucket * heads + h]!;
    }
  }
  return y;
}

export const OPS: Record<string, Op> = {
  split_heads: splitHeads,
  join_heads: joinHeads,
  rotate,
  scores,
  mask,
  softmax,
  mix,
  head_results: headResults,
  relative_bias: relativeBias,
};
