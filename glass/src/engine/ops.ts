// Every operation of a forward pass, as plainly as possible: the reference that faster code must agree with.
// Shapes: T rows, K keys, D width, H heads, G key/value heads, E head width, N outputs.

import type { Setting } from "./header";
import * as attention from "./attention";
import * as mixtures from "./mixtures";
import * as recurrent from "./recurrent";
import { combine, dim, eachRowOf, flat, like, rowAxis, rowsOf, tensor, zeros, type Tensor } from "./tensor";

export type Linear = (x: Tensor, weight: Tensor, bias: Tensor | undefined, begin: number, end: number) => Tensor;

/** What an operation gets: the values of its inputs and weights, its settings, and the number of its first row (not 0 when
 * only the newest rows of a sequence are computed). */
export interface Call {
  inputs: Tensor[];
  weights: Tensor[];
  settings: Record<string, Setting>;
  first: number;
  linear: Linear;
}

export type Op = (call: Call) => Tensor;

export const numberOf = (call: Call, name: string, usual = 0): number => {
  const value = call.settings[name];
  return typeof value === "number" ? value : usual;
};

// Inputs

function embed(call: Call): Tensor {
  const [ids, table] = [call.inputs[0]!, call.weights[0]!];
  const scale = numberOf(call, "scale", 1);
  const width = dim(table, -1);
  const y = zeros([ids.data.length, width]);
  ids.data.forEach((id, t) => {
    if (id < 0 || id >= dim(table, 0)) throw new Error(`The id ${id} is not in a table of ${dim(table, 0)} rows.`);
    for (let i = 0; i < width; i++) y.data[t * width + i] = table.data[id * width + i]! * scale;
  });
  return y;
}

/** Sines and cosines of pos / base^(2i/width): neighbours ("pairs"), or all sines first ("halves"). */
function sinusoidal(call: Call): Tensor {
  const [length, width] = [call.inputs[0]!.data.length, numberOf(call, "width")];
  const [base, first] = [numberOf(call, "base", 10000), numberOf(call, "start") + call.first];
  const halves = call.settings["order"] === "halves";
  const y = zeros([length, width]);
  const pairs = Math.ceil(width / 2);
  for (let t = 0; t < length; t++) {
    for (let i = 0; i < pairs; i++) {
      const turn = (first + t) / base ** ((2 * i) / width);
      const [sine, cosine] = halves ? [i, pairs + i] : [2 * i, 2 * i + 1];
      y.data[t * width + sine] = Math.sin(turn);
      if (cosine < width) y.data[t * width + cosine] = Math.cos(turn);
    }
  }
  return y;
}

function rows(call: Call): Tensor {
  const begin = numberOf(call, "start") + call.first;
  const [table, end] = [call.weights[0]!, begin + call.inputs[0]!.data.length];
  if (end > dim(table, 0)) throw new Error(`The text has ${end} pieces; this model learned ${dim(table, 0)} positions.`);
  return rowsOf(table, begin, end);
}

/** A learned vector is one row. */
function constant({ weights }: Call): Tensor {
  const weight = weights[0]!;
  return weight.shape.length === 1 ? tensor(weight.data, [1, weight.data.length]) : weight;
}

// Sums and products

function add({ inputs }: Call): Tensor {
  return inputs.slice(1).reduce((total, part) => combine(total, part, (a, b) => a + b), inputs[0]!);
}

function pair(f: (a: number, b: number) => number): Op {
  return ({ inputs }) => combine(inputs[0]!, inputs[1]!, f);
}

/** x W^T + b: the definition. */
export const linear: Linear = (x, weight, bias, begin, end) => {
  const [count, inner] = flat(x);
  const outputs = end - begin;
  const y = zeros([...x.shape.slice(0, -1), outputs]);
  for (let t = 0; t < count; t++) {
    for (let n = 0; n < outputs; n++) {
      let sum = bias ? bias.data[begin + n]! : 0;
      const [row, column] = [t * inner, (begin + n) * inner];
      for (let i = 0; i < inner; i++) sum += x.data[row + i]! * weight.data[column + i]!;
      y.data[t * outputs + n] = sum;
    }
  }
  return y;
};

function linearOp(call: Call): Tensor {
  const [weight, bias] = call.weights;
  if (dim(weight!, -1) !== dim(call.inputs[0]!, -1)) throw new Error("The weight does not fit the width of the input.");
  return call.linear(call.inputs[0]!, weight!, bias, numberOf(call, "begin"), numberOf(call, "end", dim(weight!, 0)));
}

// Norms and activations

function center({ inputs }: Call): Tensor {
  return eachRow(inputs[0]!, (x, y) => {
    let sum = 0;
    for (const value of x) sum += value;
    const mean = sum / x.length;
    for (let i = 0; i < x.length; i++) y[i] = x[i]! - mean;
  });
}

function rms(call: Call): Tensor {
  const x = call.inputs[0]!;
  const [count, width] = flat(x);
  const y = zeros([...x.shape.slice(0, -1), 1]);
  for (let t = 0; t < count; t++) {
    let sum = 0;
    for (let i = 0; i < width; i++) sum += x.data[t * width + i]! ** 2;
    y.data[t] = Math.sqrt(sum / width + numberOf(call, "eps"));
  }
  return y;
}

function gain({ inputs, weights }: Call): Tensor {
  const [g, b] = weights;
  return eachRow(inputs[0]!, (x, y) => {
    for (let i = 0; i < x.length; i++) y[i] = x[i]! * g!.data[i]! + (b ? b.data[i]! : 0);
  });
}

function eachRow(x: Tensor, f: (row: Float32Array, to: Float32Array) => void): Tensor {
  const y = zeros(x.shape);
  eachRowOf(x, (row, t) => f(row, y.data.subarray(t * row.length, (t + 1) * row.length)));
  return y;
}

/** The error function, by its series near 0 and its continued fraction farther out; exact to 1e-15. */
export function erf(x: number): number {
  const z = Math.abs(x);
  if (z > 6) return Math.sign(x);
  if (z < 2.5) {
    let [term, sum] = [z, z];
    for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); n++) {
      term *= (-z * z) / n;
      sum += term / (2 * n + 1);
    }
    return Math.sign(x) * (2 / Math.sqrt(Math.PI)) * sum;
  }
  let rest = z;
  for (let n = 60; n > 0; n--) rest = z + n / 2 / rest;
  return Math.sign(x) * (1 - Math.exp(-z * z) / Math.sqrt(Math.PI) / rest);
}

export const sigmoid = (x: number): number => (x < 0 ? Math.exp(x) / (1 + Math.exp(x)) : 1 / (1 + Math.exp(-x)));

export const ACTIVATIONS: Record<string, (x: number) => number> = {
  relu: (x) => Math.max(x, 0),
  gelu: (x) => 0.5 * x * (1 + erf(x / Math.SQRT2)),
  gelu_tanh: (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  silu: (x) => x * sigmoid(x),
  tanh: Math.tanh,
  sigmoid,
};

function activation(call: Call): Tensor {
  const f = ACTIVATIONS[String(call.settings["kind"])];
  if (!f) throw new Error(`There is no activation ${String(call.settings["kind"])}.`);
  return like(call.inputs[0]!, f);
}

// Rows

function pick(call: Call): Tensor {
  const [x, at] = [call.inputs[0]!, numberOf(call, "at")];
  const row = at < 0 ? x.shape[rowAxis(x.shape)]! + at : at;
  return rowsOf(x, row, row + 1);
}

function meanRows({ inputs }: Call): Tensor {
  const [count, width] = flat(inputs[0]!);
  const y = zeros([1, width]);
  for (let i = 0; i < width; i++) {
    let sum = 0;
    for (let t = 0; t < count; t++) sum += inputs[0]!.data[t * width + i]!;
    y.data[i] = sum / count;
  }
  return y;
}

/** Along the first axis. */
function concat({ inputs }: Call): Tensor {
  const count = inputs.reduce((sum, x) => sum + x.shape[0]!, 0);
  const y = zeros([count, ...inputs[0]!.shape.slice(1)]);
  let place = 0;
  for (const x of inputs) {
    y.data.set(x.data, place);
    place += x.data.length;
  }
  return y;
}

/** (C, height, width) -> (P, C * patch height * patch width), row by row; incomplete patches are left out. */
function patches(call: Call): Tensor {
  const image = call.inputs[0]!;
  const [ph, pw] = [numberOf(call, "height"), numberOf(call, "width")];
  const [channels, height, width] = image.shape as [number, number, number];
  const [down, across] = [Math.floor(height / ph), Math.floor(width / pw)];
  const values: number[] = [];
  for (let p = 0; p < down * across; p++) {
    const [top, left] = [Math.floor(p / across) * ph, (p % across) * pw];
    for (let c = 0; c < channels; c++) {
      for (let y = 0; y < ph; y++) {
        for (let x = 0; x < pw; x++) values.push(image.data[(c * height + top + y) * width + left + x]!);
      }
    }
  }
  return tensor(values, [down * across, channels * ph * pw]);
}

export const OPS: Record<string, Op> = {
  embed,
  sinusoidal,
  rows,
  constant,
  same: ({ inputs }) => inputs[0]!,
  add,
  multiply: pair((a, b) => a * b),
  divide: pair((a, b) => a / b),
  scale: (call) => like(call.inputs[0]!, (x) => x * numberOf(call, "factor", 1)),
  linear: linearOp,
  center,
  rms,
  gain,
  activation,
  pick,
  mean_rows: meanRows,
  concat,
  patches,
  ...attention.OPS,
  ...mixtures.OPS,
  ...recurrent.OPS,
};
