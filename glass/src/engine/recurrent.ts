// Operations of recurrent models: each token changes a state, which the next token continues.
// Shapes: T tokens, S source tokens, D width, H units, A width of the alignment model, M width of the memory.

import type { Call, Op } from "./ops";
import { dim, eachRowOf, flat, zeros, type Tensor } from "./tensor";

const sigmoid = (x: number): number => (x < 0 ? Math.exp(x) / (1 + Math.exp(x)) : 1 / (1 + Math.exp(-x)));
const row = (x: Tensor, t: number): Float32Array => x.data.subarray(t * dim(x, -1), (t + 1) * dim(x, -1));

/** W x + b for one vector, in float64. */
export function product(weight: Tensor, x: ArrayLike<number>, bias?: Tensor): Float64Array {
  const [rows, columns] = flat(weight);
  const y = new Float64Array(rows);
  for (let n = 0; n < rows; n++) {
    let sum = bias ? bias.data[n]! : 0;
    for (let i = 0; i < columns; i++) sum += weight.data[n * columns + i]! * x[i]!;
    y[n] = sum;
  }
  return y;
}

/** Writes the values of one token into (parts, T, H). */
function put(y: Tensor, t: number, parts: Float64Array[]): void {
  const [, count, units] = y.shape as [number, number, number];
  parts.forEach((values, part) => y.data.set(values, (part * count + t) * units));
}

/** Input, forget gate, candidate, output gate, cell and hidden state of every token: (T, 4H) -> (6, T, H) */
function lstm({ inputs, weights }: Call): Tensor {
  const [given, start, startCell] = inputs;
  const recurrent = weights[0]!;
  const [count, units] = [dim(given!, 0), dim(recurrent, 1)];
  const y = zeros([6, count, units]);
  let [h, c]: ArrayLike<number>[] = [start?.data ?? new Float64Array(units), startCell?.data ?? new Float64Array(units)];
  for (let t = 0; t < count; t++) {
    const gates = product(recurrent, h!).map((value, n) => value + row(given!, t)[n]!);
    const part = (n: number, f: (x: number) => number): Float64Array => gates.slice(n * units, (n + 1) * units).map(f);
    const [i, f, g, o] = [part(0, sigmoid), part(1, sigmoid), part(2, Math.tanh), part(3, sigmoid)];
    const cell = f.map((keep, n) => keep * c![n]! + i[n]! * g[n]!);
    const hidden = o.map((open, n) => open * Math.tanh(cell[n]!));
    put(y, t, [i, f, g, o, cell, hidden]);
    [h, c] = [hidden, cell];
  }
  return y;
}

/** One token of a gated unit: reset gate, update gate, candidate and hidden state. */
function gated(given: ArrayLike<number>, recalled: Float64Array, h: ArrayLike<number>): Float64Array[] {
  const units = h.length;
  const r = new Float64Array(units).map((_, n) => sigmoid(given[n]! + recalled[n]!));
  const z = r.map((_, n) => sigmoid(given[units + n]! + recalled[units + n]!));
  const candidate = r.map((reset, n) => Math.tanh(given[2 * units + n]! + reset * recalled[2 * units + n]!));
  return [r, z, candidate, candidate.map((value, n) => value + z[n]! * (h[n]! - value))];
}

/** (T, 3H) -> (4, T, H) */
function gru({ inputs, weights }: Call): Tensor {
  const [given, start] = inputs;
  const [recurrent, bias] = weights;
  const [count, units] = [dim(given!, 0), dim(recurrent!, 1)];
  const y = zeros([4, count, units]);
  let h: ArrayLike<number> = start?.data ?? new Float64Array(units);
  for (let t = 0; t < count; t++) {
    const parts = gated(row(given!, t), product(recurrent!, h, bias), h);
    put(y, t, parts);
    h = parts[3]!;
  }
  return y;
}

/** What additive attention reads from a memory for one state: softmax(tanh(keys + W s) v + mask) memory. */
export function additiveRead(keys: Tensor, memory: Tensor, mask: Tensor, query: Float64Array, v: Tensor): Float64Array {
  const scores = Array.from({ length: dim(keys, 0) }, (_, s) => additiveScore(row(keys, s), query, v) + mask.data[s]!);
  const top = Math.max(...scores);
  const powers = scores.map((score) => (top === -Infinity ? 0 : Math.exp(score - top)));
  const total = powers.reduce((a, b) => a + b, 0) || 1;
  const read = new Float64Array(dim(memory, 1));
  powers.forEach((power, s) => row(memory, s).forEach((value, m) => (read[m]! += (power / total) * value)));
  return read;
}

/** v · tanh(key + query) */
function additiveScore(key: ArrayLike<number>, query: ArrayLike<number> | null, v: Tensor): number {
  let sum = 0;
  for (let a = 0; a < v.data.length; a++) sum += v.data[a]! * Math.tanh(key[a]! + (query ? query[a]! : 0));
  return sum;
}

/** A gated unit whose input is also what attention read for the last state: (T, 3H) -> (4, T, H) */
function attentiveGru({ inputs, weights }: Call): Tensor {
  const [given, start, keys, memory, mask] = inputs as [Tensor, Tensor, Tensor, Tensor, Tensor];
  const [query, v, context, recurrent, bias] = weights as [Tensor, Tensor, Tensor, Tensor, Tensor];
  const y = zeros([4, dim(given, 0), dim(recurrent, 1)]);
  let h: ArrayLike<number> = start.data;
  for (let t = 0; t < dim(given, 0); t++) {
    const read = additiveRead(keys, memory, mask, product(query, h), v);
    const more = product(context, read).map((value, n) => value + row(given, t)[n]!);
    const parts = gated(more, product(recurrent, h, bias), h);
    put(y, t, parts);
    h = parts[3]!;
  }
  return y;
}

/** One of several values: (N, T, H) -> (T, H) */
function part(call: Call): Tensor {
  const x = call.inputs[0]!;
  const size = x.data.length / x.shape[0]!;
  const at = Number(call.settings["at"]);
  return { data: x.data.slice(at * size, (at + 1) * size), shape: x.shape.slice(1) };
}

/** v · tanh(key + query) for every key: (S, A), (T, A) -> (1, T, S); without queries (1, S) */
function additiveScores({ inputs, weights }: Call): Tensor {
  const [keys, queries] = inputs;
  const sources = dim(keys!, 0);
  const targets = queries ? dim(queries, 0) : 1;
  const y = zeros(queries ? [1, targets, sources] : [1, sources]);
  for (let t = 0; t < targets; t++) {
    for (let s = 0; s < sources; s++) y.data[t * sources + s] = additiveScore(row(keys!, s), queries ? row(queries, t) : null, weights[0]!);
  }
  return y;
}

/** The state before each token: the first one, then those after each token but the last. */
function before({ inputs }: Call): Tensor {
  const [states, start] = inputs as [Tensor, Tensor];
  const y = zeros(states.shape);
  y.data.set(start.data);
  y.data.set(states.data.subarray(0, states.data.length - start.data.length), start.data.length);
  return y;
}

/** Rows (1, D), ... -> (groups, rows / groups, D) */
function stack(call: Call): Tensor {
  const [groups, width] = [Number(call.settings["groups"]), dim(call.inputs[0]!, -1)];
  const y = zeros([groups, call.inputs.length / groups, width]);
  call.inputs.forEach((x, i) => y.data.set(x.data, i * width));
  return y;
}

/** The rows in reverse order. */
function reverse({ inputs }: Call): Tensor {
  const x = inputs[0]!;
  if (x.shape.length === 1) return { data: x.data.slice().reverse(), shape: x.shape };
  const y = zeros(x.shape);
  const count = dim(x, 0);
  eachRowOf(x, (values, t) => y.data.set(values, (count - 1 - t) * values.length));
  return y;
}

/** Along the last axis. */
function beside({ inputs }: Call): Tensor {
  const widths = inputs.map((x) => dim(x, -1));
  const total = widths.reduce((a, b) => a + b, 0);
  const y = zeros([...inputs[0]!.shape.slice(0, -1), total]);
  let first = 0;
  inputs.forEach((x, i) => {
    eachRowOf(x, (values, t) => y.data.set(values, t * total + first));
    first += widths[i]!;
  });
  return y;
}

function columns(call: Call): Tensor {
  const [x, begin, end] = [call.inputs[0]!, Number(call.settings["begin"]), Number(call.settings["end"])];
  const y = zeros([...x.shape.slice(0, -1), end - begin]);
  eachRowOf(x, (values, t) => y.data.set(values.subarray(begin, end), t * (end - begin)));
  return y;
}

/** a x: (R, K), (K, D) -> (R, D) */
function weigh({ inputs }: Call): Tensor {
  const [a, x] = inputs as [Tensor, Tensor];
  const width = dim(x, 1);
  const y = zeros([dim(a, 0), width]);
  eachRowOf(a, (shares, r) => {
    const sums = new Float64Array(width);
    shares.forEach((share, k) => row(x, k).forEach((value, i) => (sums[i]! += share * value)));
    y.data.set(sums, r * width);
  });
  return y;
}

/** The larger of neighbours 2i and 2i+1. */
function maxout({ inputs }: Call): Tensor {
  const x = inputs[0]!;
  const y = zeros([...x.shape.slice(0, -1), dim(x, -1) / 2]);
  for (let i = 0; i < y.data.length; i++) y.data[i] = Math.max(x.data[2 * i]!, x.data[2 * i + 1]!);
  return y;
}

export const OPS: Record<string, Op> = {
  lstm,
  gru,
  attentive_gru: attentiveGru,
  part,
  additive_scores: additiveScores,
  before,
  nothing_hidden: ({ inputs }) => zeros([1, dim(inputs[0]!, 0)]),
  stack,
  reverse,
  beside,
  columns,
  weigh,
  maxout,
};
