// The operations of the engine on plain matrices, and what lessons need besides.

import { linear, OPS } from "../engine/ops";
import type { Setting, Tensor } from "../engine/header";
import { dim, eachRowOf, tensor, zeros } from "../engine/tensor";

/** One operation of the engine. */
export function op(name: string, inputs: Tensor[], settings: Record<string, Setting> = {}): Tensor {
  return OPS[name]!({ inputs, weights: [], settings, first: 0, linear });
}

export function matrix(rows: readonly (readonly number[])[]): Tensor {
  return tensor(rows.flat(), [rows.length, rows[0]?.length ?? 0]);
}

const oneHead = (x: Tensor): Tensor => ({ data: x.data, shape: [1, ...x.shape] });
const noHead = (x: Tensor): Tensor => ({ data: x.data, shape: x.shape.slice(1) });

/** q k^T: (T, D) and (K, D) -> (T, K) */
export const products = (q: Tensor, k: Tensor): Tensor => noHead(op("scores", [oneHead(q), oneHead(k)]));

/** pattern (T, K) times values (K, D) */
export const mixture = (pattern: Tensor, values: Tensor): Tensor => noHead(op("mix", [oneHead(pattern), oneHead(values)]));

export const scaled = (x: Tensor, factor: number): Tensor => op("scale", [x], { factor });
export const softmax = (x: Tensor): Tensor => op("softmax", [x]);

/** Row by row; the same numbers with rows and columns exchanged. */
export function transposed(x: Tensor): Tensor {
  const [rows, columns] = [dim(x, 0), dim(x, 1)];
  const y = zeros([columns, rows]);
  for (let i = 0; i < rows; i++) for (let j = 0; j < columns; j++) y.data[j * rows + i] = x.data[i * columns + j]!;
  return y;
}

export function row(x: Tensor, number: number): Float32Array {
  const width = dim(x, -1);
  return x.data.subarray(number * width, (number + 1) * width);
}

/** The length of each row of x - y. */
export function distances(x: Tensor, y: Tensor): number[] {
  const found: number[] = [];
  eachRowOf(x, (values, t) => {
    const other = row(y, t);
    found.push(Math.sqrt(values.reduce((sum, value, i) => sum + (value - other[i]!) ** 2, 0)));
  });
  return found;
}

/** The first `width` columns. */
export function narrowed(x: Tensor, width: number): Tensor {
  const rows: number[] = [];
  eachRowOf(x, (values) => { for (let i = 0; i < width; i++) rows.push(values[i]!); });
  return tensor(rows, [dim(x, 0), width]);
}

/** Sines and cosines of positions start .. start + length - 1. */
export function sinusoidal(length: number, width: number, base = 10000, start = 0): Tensor {
  return op("sinusoidal", [tensor(new Float32Array(length))], { width, base, start, order: "pairs" });
}

/** A random vector for a word that Python has not given one, always the same for the same word. */
export function vectorFor(word: string, width: number, spread = 1): number[] {
  let state = 2166136261;
  for (const sign of word) state = Math.imul(state ^ sign.codePointAt(0)!, 16777619);
  const uniform = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  return Array.from({ length: width }, () => Math.round(normal() * spread * 100) / 100);
}

/** The words of a text, at most `most`. */
export const wordsOf = (text: string, most = 12): string[] => text.split(/\s+/).filter(Boolean).slice(0, most);

/** A word that occurs again gets its position. */
export const numbered = (words: readonly string[]): string[] => (
  words.map((word, i) => (words.filter((other) => other === word).length > 1 ? `${word} ${i + 1}` : word))
);
