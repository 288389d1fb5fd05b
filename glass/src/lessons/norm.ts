// LayerNorm along rows, BatchNorm down columns, on tokens with padding.

import type { Tensor } from "../engine/header";
import { tensor } from "../engine/tensor";
import type { Results } from "./check";
import type { Lesson } from "./data";
import { matrix, op, transposed } from "./reckon";

export interface Settings {
  names: string[];
  features: string[];
  values: number[][];
  padding: number[];
  eps: number;
}

export type Kind = "batch" | "layer";

/** Each row minus its mean, divided by its size. */
export function layerNorm(x: Tensor, eps: number): Tensor {
  const centred = op("center", [x]);
  return op("divide", [centred, op("rms", [centred], { eps })]);
}

/** The same for each column. */
export const batchNorm = (x: Tensor, eps: number): Tensor => transposed(layerNorm(transposed(x), eps));

/** The outputs of the real tokens, with so many zero vectors in the batch. */
export function normalised(kind: Kind, values: number[][], padding: number, eps: number): Tensor {
  const width = values[0]!.length;
  const zeros = Array.from({ length: padding }, () => new Array<number>(width).fill(0));
  const all = (kind === "batch" ? batchNorm : layerNorm)(matrix([...values, ...zeros]), eps);
  return tensor(all.data.slice(0, values.length * width), [values.length, width]);
}

/** Whether an output needs an input. */
export const needs = (kind: Kind, output: { row: number; column: number }, row: number, column: number): boolean => (
  kind === "batch" ? column === output.column : row === output.row
);

export function results({ settings }: Lesson<Settings>): Results {
  const found: Results = {};
  for (const count of settings.padding) {
    for (const kind of ["batch", "layer"] as const) found[`${kind} norm ${count}`] = normalised(kind, settings.values, count, settings.eps);
  }
  return found;
}
