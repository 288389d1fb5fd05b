// Takes one number of a forward pass apart into what earlier steps add to it.
//
// With the scale of every norm, the pattern of every attention and the gate of every activation kept as they are, the
// rest of a forward pass is linear, so the number is exactly the sum of its parts: one part for each step at which the
// walk back stops, and one for the biases on the way. An activation's gate is act(x) / x: 0 or 1 for ReLU.

import type { Step, Tensor } from "../engine/header";
import { rowsOf, widthOf, type Sight } from "./graph";

/** How much one unit of each number of a step adds to the number taken apart: by row of the flattened leading axes.
 * Rows that are absent add nothing. */
export type Weights = Map<number, Float64Array>;

export interface Pulled {
  stops: Map<string, Weights>; // by the step at which the walk stopped
  biases: Map<string, number>; // what each bias on the way adds, by step
  missing: string[]; // steps whose weights the file does not have; then the parts do not add up
}

interface Walk {
  sight: Sight;
  open: Map<string, Weights>; // what still has to be walked through
  result: Pulled;
}

function plus(all: Map<string, Weights>, name: string, row: number, add: Float64Array): void {
  const rows = all.get(name) ?? new Map<number, Float64Array>();
  all.set(name, rows);
  const known = rows.get(row);
  if (!known) rows.set(row, add.slice());
  else for (let i = 0; i < add.length; i++) known[i]! += add[i]!;
}

function dot(one: ArrayLike<number>, other: ArrayLike<number>, offset: number): number {
  let total = 0;
  for (let i = 0; i < one.length; i++) total += one[i]! * other[offset + i]!;
  return total;
}

function addBias(walk: Walk, step: Step, value: number): void {
  walk.result.biases.set(step.name, (walk.result.biases.get(step.name) ?? 0) + value);
}

type Rule = (walk: Walk, step: Step, rows: Weights) => boolean;

const same: Rule = (walk, step, rows) => {
  for (const [row, g] of rows) plus(walk.open, step.inputs[0]!, row, g);
  return true;
};

/** Broadcast inputs, such as one row for all, get the sum. */
const add: Rule = (walk, step, rows) => {
  for (const name of step.inputs) {
    const value = walk.sight.values(name);
    const [count, width] = [rowsOf(value), widthOf(value)];
    for (const [row, g] of rows) {
      const given = width === g.length ? g : Float64Array.of(g.reduce((a, b) => a + b, 0));
      plus(walk.open, name, row % count, given);
    }
  }
  return true;
};

const scale: Rule = (walk, step, rows) => {
  const factor = Number(step.settings.factor);
  for (const [row, g] of rows) plus(walk.open, step.inputs[0]!, row, g.map((value) => value * factor));
  return true;
};

const linear: Rule = (walk, step, rows) => {
  const [weight, bias] = step.weights.map((name) => walk.sight.weight(name));
  if (!weight || bias === null) return false;
  const begin = Number(step.settings.begin ?? 0);
  const width = widthOf(weight);
  for (const [row, g] of rows) {
    const back = new Float64Array(width);
    for (let n = 0; n < g.length; n++) {
      const by = g[n]!;
      if (by === 0) continue;
      const at = (begin + n) * width;
      for (let k = 0; k < width; k++) back[k]! += by * weight.data[at + k]!;
    }
    plus(walk.open, step.inputs[0]!, row, back);
    if (bias) addBias(walk, step, dot(g, bias.data, begin));
  }
  return true;
};

const gain: Rule = (walk, step, rows) => {
  const [weight, bias] = step.weights.map((name) => walk.sight.weight(name));
  if (!weight || bias === null) return false;
  for (const [row, g] of rows) {
    plus(walk.open, step.inputs[0]!, row, g.map((value, i) => value * weight.data[i]!));
    if (bias) addBias(walk, step, dot(g, bias.data, 0));
  }
  return true;
};

/** The scale is frozen: nothing is passed to the second input. */
const divide: Rule = (walk, step, rows) => {
  const by = walk.sight.values(step.inputs[1]!);
  const [count, width] = [rowsOf(by), widthOf(by)];
  for (const [row, g] of rows) {
    const at = (row % count) * width;
    plus(walk.open, step.inputs[0]!, row, g.map((value, i) => value / by.data[width === 1 ? at : at + i]!));
  }
  return true;
};

const center: Rule = (walk, step, rows) => {
  for (const [row, g] of rows) {
    const mean = g.reduce((a, b) => a + b, 0) / g.length;
    plus(walk.open, step.inputs[0]!, row, g.map((value) => value - mean));
  }
  return true;
};

const activation: Rule = (walk, step, rows) => {
  if (step.settings.kind === "sigmoid") return false; // not 0 at 0, so it has no gate
  const [x, y] = [walk.sight.values(step.inputs[0]!), walk.sight.values(step.name)];
  for (const [row, g] of rows) {
    const at = row * g.length;
    plus(walk.open, step.inputs[0]!, row, g.map((value, i) => (x.data[at + i] ? (value * y.data[at + i]!) / x.data[at + i]! : 0)));
  }
  return true;
};

const pick: Rule = (walk, step, rows) => {
  const at = Number(step.settings.at);
  const count = rowsOf(walk.sight.values(step.inputs[0]!));
  for (const [row, g] of rows) plus(walk.open, step.inputs[0]!, (at < 0 ? count + at : at) + row, g);
  return true;
};

const meanRows: Rule = (walk, step, rows) => {
  const count = rowsOf(walk.sight.values(step.inputs[0]!));
  for (const [, g] of rows) {
    const share = g.map((value) => value / count);
    for (let row = 0; row < count; row++) plus(walk.open, step.inputs[0]!, row, share);
  }
  return true;
};

const concat: Rule = (walk, step, rows) => {
  let begin = 0;
  for (const name of step.inputs) {
    const count = rowsOf(walk.sight.values(name));
    for (const [row, g] of rows) if (row >= begin && row < begin + count) plus(walk.open, name, row - begin, g);
    begin += count;
  }
  return true;
};

/** (T, H*E) from (H, T, E). */
const joinHeads: Rule = (walk, step, rows) => {
  const [heads, count, width] = walk.sight.values(step.inputs[0]!).shape as [number, number, number];
  for (const [row, g] of rows) {
    for (let h = 0; h < heads; h++) plus(walk.open, step.inputs[0]!, h * count + row, g.subarray(h * width, (h + 1) * width));
  }
  return true;
};

/** Who reads whom is frozen: everything goes to the values, each by its share. */
const mix: Rule = (walk, step, rows) => {
  const pattern = walk.sight.values(step.inputs[0]!);
  const v = walk.sight.values(step.inputs[1]!);
  const keys = widthOf(pattern);
  const queries = pattern.shape.at(-2)!;
  const groups = v.shape.length > 2 ? v.shape[0]! : 1;
  const perGroup = (pattern.shape.length > 2 ? pattern.shape[0]! : 1) / groups;
  for (const [row, g] of rows) {
    const group = Math.floor(Math.floor(row / queries) / perGroup);
    for (let key = 0; key < keys; key++) {
      const share = pattern.data[row * keys + key]!;
      if (share !== 0) plus(walk.open, step.inputs[1]!, group * keys + key, g.map((value) => value * share));
    }
  }
  return true;
};

/** One of two factors is a single number per row, such as an expert's share: it is frozen. */
const multiply: Rule = (walk, step, rows) => {
  const by = walk.sight.values(step.inputs[1]!);
  if (widthOf(by) !== 1) return false;
  const count = rowsOf(by);
  for (const [row, g] of rows) plus(walk.open, step.inputs[0]!, row, g.map((value) => value * by.data[row % count]!));
  return true;
};

/** sure * logits + (1 - sure) * shares + odds. */
const withOdds: Rule = (walk, step, rows) => {
  const [sure, shares] = step.weights.map((name) => walk.sight.weight(name));
  if (!sure || !shares) return false;
  const sureness = sure.data[0]!;
  for (const [row, g] of rows) {
    plus(walk.open, step.inputs[0]!, row, g.map((value) => value * sureness));
    plus(walk.open, step.inputs[1]!, row, g);
    addBias(walk, step, (1 - sureness) * dot(g, shares.data, 0));
  }
  return true;
};

// --- What recurrent models add ----------------------------------------------------------------------------------------

/** Along the last axis. */
const beside: Rule = (walk, step, rows) => {
  let begin = 0;
  for (const name of step.inputs) {
    const width = widthOf(walk.sight.values(name));
    for (const [row, g] of rows) plus(walk.open, name, row, g.subarray(begin, begin + width));
    begin += width;
  }
  return true;
};

const columns: Rule = (walk, step, rows) => {
  const width = widthOf(walk.sight.values(step.inputs[0]!));
  for (const [row, g] of rows) {
    const back = new Float64Array(width);
    back.set(g, Number(step.settings["begin"]));
    plus(walk.open, step.inputs[0]!, row, back);
  }
  return true;
};

const reverse: Rule = (walk, step, rows) => {
  const count = rowsOf(walk.sight.values(step.name));
  for (const [row, g] of rows) plus(walk.open, step.inputs[0]!, count - 1 - row, g);
  return true;
};

/** Which of two neighbours is the larger is frozen. */
const maxout: Rule = (walk, step, rows) => {
  const x = walk.sight.values(step.inputs[0]!);
  for (const [row, g] of rows) {
    const back = new Float64Array(2 * g.length);
    const at = row * back.length;
    for (let i = 0; i < g.length; i++) back[2 * i + (x.data[at + 2 * i + 1]! > x.data[at + 2 * i]! ? 1 : 0)] = g[i]!;
    plus(walk.open, step.inputs[0]!, row, back);
  }
  return true;
};

const RULES: Record<string, Rule> = {
  beside, columns, reverse, maxout, weigh: mix, multiply, with_odds: withOdds, same, add, scale, linear, gain, divide, center, activation, pick, mean_rows: meanRows, concat, join_heads: joinHeads, mix,
};

/** Walks back from one or several numbers of a step to the given stops, and to whatever is not linear. */
export function pull(sight: Sight, from: string, weights: Weights, stops: ReadonlySet<string>): Pulled {
  const walk: Walk = { sight, open: new Map([[from, weights]]), result: { stops: new Map(), biases: new Map(), missing: [] } };
  const names = sight.program.steps.map((step) => step.name);
  for (let at = names.lastIndexOf(from); at >= 0 && walk.open.size; at--) {
    const step = sight.program.steps[at]!;
    const rows = walk.open.get(step.name);
    if (!rows) continue;
    walk.open.delete(step.name);
    const stopped = step.name !== from && stops.has(step.name);
    const rule = RULES[step.op];
    if (!stopped && rule?.(walk, step, rows)) continue;
    if (!stopped && rule && step.op !== "activation") walk.result.missing.push(step.name);
    walk.result.stops.set(step.name, rows);
  }
  return walk.result;
}

/** One number of a step: weight 1 there, 0 elsewhere. */
export function at(sight: Sight, step: string, row: number, column: number, by = 1): Weights {
  const one = new Float64Array(widthOf(sight.values(step)));
  one[column] = by;
  return new Map([[row, one]]);
}

/** What a step adds by these weights, in all; and by row. */
export function worth(value: Tensor, weights: Weights): { total: number; rows: Map<number, number> } {
  const rows = new Map<number, number>();
  let total = 0;
  for (const [row, g] of weights) {
    const part = dot(g, value.data, row * g.length);
    rows.set(row, part);
    total += part;
  }
  return { total, rows };
}
