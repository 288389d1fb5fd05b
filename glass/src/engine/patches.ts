// Changes of a step's result: the what-if of the page.

import type { Patch, Step } from "./header";
import { dim, rowAxis, type Tensor } from "./tensor";

/** A copy of a step's value with its patches applied. `first` is the number of its first row. */
export function patched(value: Tensor, step: Step, patches: readonly Patch[], first = 0): Tensor {
  const result = { data: value.data.slice(), shape: value.shape };
  for (const patch of patches) apply(result, step, patch, first);
  return result;
}

function apply(value: Tensor, step: Step, patch: Patch, first: number): void {
  const { data, shape } = value;
  const columns = dim(value, -1);
  const rows = shape.length > 1 ? shape[rowAxis(shape)]! : 1;
  const headAxis = step.axes.indexOf("head");
  if (patch.head !== undefined && headAxis < 0) throw new Error(`The step ${step.name} has no heads.`);
  const heads = headAxis < 0 ? 1 : shape[headAxis]!;
  const perHead = headAxis < 0 ? data.length : shape.slice(headAxis + 1).reduce((a, b) => a * b, 1);
  const news = patch.how === "mean" ? rowMeans(value) : null;
  for (let i = 0; i < data.length; i++) {
    const row = Math.floor(i / columns) % rows;
    if (patch.head !== undefined && Math.floor(i / perHead) % heads !== patch.head) continue;
    if (patch.row !== undefined && row + first !== (patch.row < 0 ? patch.row + first + rows : patch.row)) continue;
    if (patch.column !== undefined && i % columns !== (patch.column < 0 ? patch.column + columns : patch.column)) continue;
    data[i] = news ? news[Math.floor(i / (rows * columns)) * columns + (i % columns)]! : newValue(patch);
  }
}

function newValue({ how, value }: Patch): number {
  return how === "hide" ? -Infinity : how === "set" ? (value ?? 0) : 0;
}

/** The mean over the rows, for each matrix of the value. */
function rowMeans({ data, shape }: Tensor): Float64Array {
  const columns = shape[shape.length - 1]!;
  const rows = shape[rowAxis(shape)]!;
  const means = new Float64Array(data.length / rows);
  data.forEach((x, i) => (means[Math.floor(i / (rows * columns)) * columns + (i % columns)]! += x / rows));
  return means;
}

export function byStep(patches: readonly Patch[]): Map<string, Patch[]> {
  const found = new Map<string, Patch[]>();
  for (const patch of patches) found.set(patch.step, [...(found.get(patch.step) ?? []), patch]);
  return found;
}
