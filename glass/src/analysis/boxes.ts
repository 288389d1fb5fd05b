// What one box of the figure does with the selected row, in numbers.

import type { Run, Tensor } from "../engine/header";
import type { Attention } from "../state/anatomy";
import type { Box } from "./figure";

/** The row of a value that belongs to a piece: values may have rows before the first piece, or one row for all. */
export function rowOf(value: Tensor, row: number, count: number): Float32Array | null {
  const width = value.shape.at(-1) ?? 1;
  const rows = value.data.length / width;
  if (value.shape.length !== 2 || !Number.isInteger(rows)) return null;
  const at = rows === 1 ? 0 : row + Math.max(0, rows - count);
  return at < rows ? value.data.subarray(at * width, (at + 1) * width) : null;
}

export interface Change {
  before: number; // lengths
  after: number;
  degrees: number; // the angle between both
}

export function changeOf(before: ArrayLike<number>, after: ArrayLike<number>): Change | null {
  if (before.length !== after.length) return null;
  let [xx, yy, xy] = [0, 0, 0];
  for (let i = 0; i < before.length; i++) {
    xx += before[i]! ** 2;
    yy += after[i]! ** 2;
    xy += before[i]! * after[i]!;
  }
  const cosine = xx && yy ? xy / Math.sqrt(xx * yy) : 1;
  return { before: Math.sqrt(xx), after: Math.sqrt(yy), degrees: (Math.acos(Math.max(-1, Math.min(1, cosine))) * 180) / Math.PI };
}

export interface Reading {
  head: number;
  key: number;
  share: number;
}

/** What each head reads most in one row, the surest heads first. */
export function readingsOf(run: Run, attention: Attention, row: number): Reading[] {
  const { data, shape } = run.pass.values(attention.pattern.name);
  const [queries = 1, keys = 1] = shape.slice(-2);
  const heads = data.length / (queries * keys);
  const found: Reading[] = [];
  for (let head = 0; head < heads; head++) {
    const at = (head * queries + Math.min(row, queries - 1)) * keys;
    let key = 0;
    for (let column = 1; column < keys; column++) if (data[at + column]! > data[at + key]!) key = column;
    found.push({ head, key, share: data[at + key]! });
  }
  return found.sort((one, other) => other.share - one.share);
}

/** The inner numbers of a feed-forward box, and how many of them are above zero. */
export function activityOf(run: Run, box: Box, row: number, count: number): { inner: number; active: number } | null {
  const step = box.steps.find((one) => one.op === "activation" && one.axes.at(-1) === "inner");
  const values = step && rowOf(run.pass.values(step.name), row, count);
  return values ? { inner: values.length, active: values.filter((value) => value > 0).length } : null;
}
