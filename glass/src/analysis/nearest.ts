// Which rows of a table point in the same direction as a given row.

import type { Tensor } from "../engine/header";

export interface Near {
  row: number;
  cosine: number;
}

/** The cosine of every row with the given one, highest first, the row itself left out. */
export function nearest(table: Tensor, row: number, count: number): Near[] {
  const [rows = 0, width = 0] = table.shape;
  const data = table.data;
  const own = length(data, row * width, width);
  if (!own) return [];
  const found: Near[] = [];
  for (let other = 0; other < rows; other++) {
    if (other === row) continue;
    const size = length(data, other * width, width);
    if (!size) continue;
    const cosine = dot(data, row * width, other * width, width) / (own * size);
    if (found.length < count || cosine > found.at(-1)!.cosine) insert(found, { row: other, cosine }, count);
  }
  return found;
}

/** The cosine of two rows of the same table. */
export function cosine(table: Tensor, left: number, right: number): number {
  const width = table.shape[1] ?? 0;
  const sizes = length(table.data, left * width, width) * length(table.data, right * width, width);
  return sizes ? dot(table.data, left * width, right * width, width) / sizes : 0;
}

/** The length of a part of an array, as a vector. */
export function length(data: Float32Array, start: number, width: number): number {
  return Math.sqrt(dot(data, start, start, width));
}

function dot(data: Float32Array, left: number, right: number, width: number): number {
  let sum = 0;
  for (let at = 0; at < width; at++) sum += data[left + at]! * data[right + at]!;
  return sum;
}

function insert(found: Near[], item: Near, count: number) {
  let place = found.length;
  while (place && found[place - 1]!.cosine < item.cosine) place--;
  found.splice(place, 0, item);
  if (found.length > count) found.pop();
}
