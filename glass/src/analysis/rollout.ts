// Attention rollout (Abnar and Zuidema 2020): which input pieces reach which position through all layers, if every
// sub-layer passes half of what was there and half of what its heads read on average. It knows the patterns only, not
// what the values say or what feed-forward networks do.

export interface Layer {
  pattern: ArrayLike<number>; // (H, T, K)
  heads: number;
  cross: boolean; // reads the other stack
}

export interface Flow {
  rows: number;
  own: Float64Array; // (T, T): from each position of the same stack
  other: Float64Array; // (T, S): from each position of the stack that is read; S may be 0
}

/** The mean of all heads, (T, K). */
export function meanOfHeads({ pattern, heads }: Layer, rows: number, keys: number): Float64Array {
  const mean = new Float64Array(rows * keys);
  for (let h = 0; h < heads; h++) for (let i = 0; i < mean.length; i++) mean[i]! += pattern[h * mean.length + i]! / heads;
  return mean;
}

function product(a: Float64Array, b: Float64Array, rows: number, inner: number, columns: number): Float64Array {
  const result = new Float64Array(rows * columns);
  for (let i = 0; i < rows; i++) {
    for (let k = 0; k < inner; k++) {
      const by = a[i * inner + k]!;
      if (by === 0) continue;
      for (let j = 0; j < columns; j++) result[i * columns + j]! += by * b[k * columns + j]!;
    }
  }
  return result;
}

function half(before: Float64Array, read: Float64Array): Float64Array {
  return before.map((value, i) => (value + read[i]!) / 2);
}

/** Rows whose pattern is all 0 read nothing: they keep what they had. */
function keepIdle(flow: Float64Array, before: Float64Array, pattern: Float64Array, keys: number, columns: number): Float64Array {
  for (let row = 0; row * keys < pattern.length; row++) {
    const reads = pattern.subarray(row * keys, (row + 1) * keys).some((share) => share > 0);
    if (!reads) flow.set(before.subarray(row * columns, (row + 1) * columns), row * columns);
  }
  return flow;
}

function identity(n: number): Float64Array {
  const result = new Float64Array(n * n);
  for (let i = 0; i < n; i++) result[i * n + i] = 1;
  return result;
}

/** Through the layers of one stack, in order. `memory` (S, S) is the flow within the stack that cross-attention reads. */
export function rollout(layers: Layer[], rows: number, memory: { flow: Float64Array; size: number } = { flow: new Float64Array(0), size: 0 }): Flow {
  let own = identity(rows);
  let other = new Float64Array(rows * memory.size);
  for (const layer of layers) {
    const keys = layer.cross ? memory.size : rows;
    const mean = meanOfHeads(layer, rows, keys);
    const zero = (columns: number): Float64Array => new Float64Array(rows * columns);
    const readOwn = layer.cross ? zero(rows) : product(mean, own, rows, rows, rows);
    const readOther = layer.cross ? product(mean, memory.flow, rows, keys, keys) : product(mean, other, rows, rows, memory.size);
    own = keepIdle(half(own, readOwn), own, mean, keys, rows);
    other = keepIdle(half(other, readOther), other, mean, keys, memory.size) as Float64Array<ArrayBuffer>;
  }
  return { rows, own, other };
}
