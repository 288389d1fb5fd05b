// Tensors: a Float32Array, row major, and its shape. Sums are accumulated in float64 (JavaScript's numbers) and rounded once.

import type { Tensor } from "./header";

export type { Tensor } from "./header";

export const sizeOf = (shape: readonly number[]): number => shape.reduce((product, size) => product * size, 1);

export function zeros(shape: number[]): Tensor {
  return { data: new Float32Array(sizeOf(shape)), shape };
}

export function tensor(values: ArrayLike<number>, shape: number[] = [values.length]): Tensor {
  if (values.length !== sizeOf(shape)) throw new Error(`${values.length} numbers do not fill the shape ${shape.join(" × ")}.`);
  return { data: values instanceof Float32Array ? values : Float32Array.from(values), shape };
}

/** The size of an axis; -1 is the last one. */
export function dim(x: Tensor, axis: number): number {
  return x.shape[axis < 0 ? x.shape.length + axis : axis] ?? 1;
}

/** The numbers of rows and columns, if all axes before the last count as rows. */
export function flat(x: Tensor): [number, number] {
  const columns = dim(x, -1);
  return [columns ? x.data.length / columns : 0, columns];
}

export function like(x: Tensor, f: (value: number) => number): Tensor {
  const y = zeros(x.shape);
  for (let i = 0; i < x.data.length; i++) y.data[i] = f(x.data[i]!);
  return y;
}

export function eachRowOf(x: Tensor, f: (row: Float32Array, number: number) => void): void {
  const [count, width] = flat(x);
  for (let t = 0; t < count; t++) f(x.data.subarray(t * width, (t + 1) * width), t);
}

/** The numbers of one index, as [head, row, column] -> place in `data`. */
export function placeOf(shape: readonly number[], index: readonly number[]): number {
  return shape.reduce((place, size, axis) => place * size + (index[axis] ?? 0), 0);
}

export function indexOf(shape: readonly number[], place: number): number[] {
  const index: number[] = [];
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    const size = shape[axis]!;
    index.unshift(place % size);
    place = Math.floor(place / size);
  }
  return index;
}

/** The axis of the rows: the one before the last, or the only one. */
export const rowAxis = (shape: readonly unknown[]): number => Math.max(0, shape.length - 2);

/** Rows begin .. end along the row axis: (..., T, n) -> (..., end - begin, n). */
export function rowsOf(x: Tensor, begin: number, end: number): Tensor {
  const axis = rowAxis(x.shape);
  const rows = x.shape[axis]!;
  if (begin === 0 && end === rows) return x;
  const columns = axis === x.shape.length - 1 ? 1 : dim(x, -1);
  const outer = x.data.length / (rows * columns || 1);
  const shape = x.shape.map((size, i) => (i === axis ? end - begin : size));
  const y = zeros(shape);
  for (let o = 0; o < outer; o++) {
    const from = (o * rows + begin) * columns;
    y.data.set(x.data.subarray(from, from + (end - begin) * columns), o * (end - begin) * columns);
  }
  return y;
}

/** x, then y below it along the row axis. */
export function appendRows(x: Tensor, y: Tensor): Tensor {
  const axis = rowAxis(x.shape);
  const [above, below] = [x.shape[axis]!, y.shape[axis]!];
  const columns = axis === x.shape.length - 1 ? 1 : dim(x, -1);
  const outer = (x.data.length + y.data.length) / ((above + below) * columns || 1);
  const all = zeros(x.shape.map((size, i) => (i === axis ? above + below : size)));
  for (let o = 0; o < outer; o++) {
    const to = o * (above + below) * columns;
    all.data.set(x.data.subarray(o * above * columns, (o + 1) * above * columns), to);
    all.data.set(y.data.subarray(o * below * columns, (o + 1) * below * columns), to + above * columns);
  }
  return all;
}

/** The shape that two shapes are broadcast to, from the last axis on. */
export function commonShape(a: readonly number[], b: readonly number[]): number[] {
  const length = Math.max(a.length, b.length);
  return Array.from({ length }, (_, i) => {
    const [m, n] = [a[i - length + a.length] ?? 1, b[i - length + b.length] ?? 1];
    if (m !== n && m !== 1 && n !== 1) throw new Error(`The shapes ${a.join(" × ")} and ${b.join(" × ")} do not fit.`);
    return m === 1 ? n : m;
  });
}

/** For each place of `shape`, the place of the same number in a tensor that is broadcast to it. */
export function broadcastPlaces(x: Tensor, shape: readonly number[]): (place: number) => number {
  const missing = shape.length - x.shape.length;
  if (missing === 0 && x.shape.every((size, i) => size === shape[i])) return (place) => place;
  const steps = new Array<number>(shape.length).fill(0);
  let step = 1;
  for (let axis = shape.length - 1; axis >= missing; axis--) {
    const size = x.shape[axis - missing]!;
    steps[axis] = size === 1 ? 0 : step;
    step *= size;
  }
  return (place) => {
    let found = 0;
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      const size = shape[axis]!;
      found += (place % size) * steps[axis]!;
      place = Math.floor(place / size);
    }
    return found;
  };
}

/** f(x, y) number by number, with broadcasting. */
export function combine(x: Tensor, y: Tensor, f: (a: number, b: number) => number): Tensor {
  const out = zeros(commonShape(x.shape, y.shape));
  const n = out.data.length;
  if (x.data.length === n && y.data.length === n) {
    for (let i = 0; i < n; i++) out.data[i] = f(x.data[i]!, y.data[i]!);
    return out;
  }
  const [ofX, ofY] = [broadcastPlaces(x, out.shape), broadcastPlaces(y, out.shape)];
  for (let i = 0; i < n; i++) out.data[i] = f(x.data[ofX(i)]!, y.data[ofY(i)]!);
  return out;
}

export function argmax(values: ArrayLike<number>): number {
  let best = 0;
  for (let i = 1; i < values.length; i++) if (values[i]! > values[best]!) best = i;
  return best;
}

/** The places of the n largest values, largest first; equal ones in their order. NaN counts as smallest. */
export function largest(values: ArrayLike<number>, n: number): number[] {
  const found: number[] = [];
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (found.length === n && !(value > values[found[n - 1]!]!)) continue;
    let place = found.length;
    while (place > 0 && value > values[found[place - 1]!]!) place--;
    found.splice(place, 0, i);
    if (found.length > n) found.pop();
  }
  return found;
}

/** log softmax of one row, accumulated in float64. */
export function logSoftmax(row: Float32Array): Float32Array {
  let top = -Infinity;
  for (const value of row) if (value > top) top = value;
  let total = 0;
  for (const value of row) total += Math.exp(value - top);
  const norm = top + Math.log(total);
  const found = new Float32Array(row.length);
  for (let i = 0; i < row.length; i++) found[i] = row[i]! - norm;
  return found;
}
