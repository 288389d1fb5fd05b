// Direct attribution: what each sub-layer, each head, each piece that a head reads, and each neuron adds to one logit.
// The final norm's scale is kept as it is ("frozen"), so the parts add up to the logit.

import type { Step, Tensor } from "../engine/header";
import { rowsOf, source, sum, widthOf, type Sight, type Stream } from "./graph";
import { at, pull, worth, type Pulled, type Weights } from "./pull";
import { cellOf, type Readout } from "./readout";

export interface Part {
  step: string; // "" for the biases
  what: string; // "token", "position", "self_attention", "feed_forward", "biases", ...
  layer: number | null;
  value: number;
}

export interface Contributions {
  parts: Part[]; // in the order of the forward pass; the biases are last
  total: number; // of the parts
  logit: number; // what the pass has
  missing: string[];
  weights: Map<string, Weights>; // by sub-layer: what a unit of its result adds
}

/** Which candidate, and against which other one (null: the logit itself). */
export interface Question {
  place: number;
  candidate: number;
  against: number | null;
}

function seed(sight: Sight, readout: Readout, question: Question): Weights {
  const cells = [{ ...cellOf(readout, question.place, question.candidate), by: 1 }];
  if (question.against !== null) cells.push({ ...cellOf(readout, question.place, question.against), by: -1 });
  const weights: Weights = new Map();
  for (const { row, column, by } of cells) {
    const [[, one]] = [...at(sight, readout.step, row, column, by)] as [[number, Float64Array]];
    const known = weights.get(row);
    if (known) known[column] = (known[column] ?? 0) + by;
    else weights.set(row, one);
  }
  return weights;
}

function logitOf(sight: Sight, readout: Readout, question: Question): number {
  const value = sight.values(readout.step);
  const read = (candidate: number): number => {
    const { row, column } = cellOf(readout, question.place, candidate);
    return value.data[row * widthOf(value) + column]!;
  };
  return read(question.candidate) - (question.against === null ? 0 : read(question.against));
}

const last = (name: string): string => name.split(".").at(-1)!;

function whatIs(name: string): string {
  return { vectors: "token", places: "position" }[last(name)] ?? last(name);
}

/** What a recurrent model reads of another stack: the joined mixtures. */
function contextsOf(sight: Sight): Step[] {
  return sight.program.steps.filter((step) => step.op === "join_heads" && step.part.includes("attention"));
}

/** What every sub-layer of a stream and its inputs add to a logit. */
export function contributionsTo(sight: Sight, stream: Stream, readout: Readout, question: Question): Contributions {
  const added = stream.points.filter((point) => point.layer !== null);
  const known = new Map(added.map((point) => [source(point.added ?? point.step, sight.steps), point]));
  const contexts = added.some((point) => point.added) ? [] : contextsOf(sight);
  const stops = new Set([...known.keys(), ...contexts.map((step) => step.name)]);
  const pulled = pull(sight, readout.step, seed(sight, readout, question), stops);
  const order = new Map(sight.program.steps.map((step, index) => [step.name, index]));
  const parts: Part[] = [...pulled.stops].map(([step, weights]) => {
    const point = known.get(step);
    const context = contexts.find((one) => one.name === step);
    const what = point?.what ?? (context ? context.part.split(".").at(-1)! : whatIs(step));
    const layer = point?.layer ?? (context ? 0 : null);
    return { step, what, layer, value: worth(sight.values(step), weights).total };
  });
  parts.sort((one, other) => order.get(one.step)! - order.get(other.step)!);
  const biases = sum(pulled.biases.values());
  if (biases !== 0) parts.push({ step: "", what: "biases", layer: null, value: biases });
  const total = sum(parts.map((part) => part.value));
  return { parts, total, logit: logitOf(sight, readout, question), missing: pulled.missing, weights: pulled.stops };
}

export interface HeadPart {
  head: number;
  value: number;
  keys: number[]; // what it brings from each piece that it reads; they add up to value
}

export interface Split {
  heads: HeadPart[];
  rest: number; // the bias of the output projection
}

/** The first step of this kind on the way back from a sub-layer's result. */
function behind(sight: Sight, from: string, wanted: (step: Step) => boolean): Step | null {
  const open = [from];
  const seen = new Set(open);
  while (open.length) {
    const step = sight.steps.get(open.shift()!);
    if (!step) continue;
    if (wanted(step)) return step;
    for (const name of step.inputs) if (!seen.has(name)) { seen.add(name); open.push(name); }
  }
  return null;
}

/** An attention's part, split by head and by piece read. null: this is not an attention. */
export function splitByHead(sight: Sight, added: string, weights: Weights): Split | null {
  const part = sight.steps.get(added)?.part;
  const z = behind(sight, added, (step) => step.op === "mix" && step.part === part);
  if (!z) return null;
  const pulled = pull(sight, added, weights, new Set([z.name]));
  const found = pulled.stops.get(z.name);
  if (!found) return null;
  return { heads: headParts(sight, z, found), rest: sum(pulled.biases.values()) };
}

function headParts(sight: Sight, z: Step, weights: Weights): HeadPart[] {
  const pattern = sight.values(z.inputs[0]!);
  const v = sight.values(z.inputs[1]!);
  const byHead = pattern.shape.length > 2;
  const [heads, queries, keys] = (byHead ? pattern.shape : [1, ...pattern.shape]) as [number, number, number];
  const perGroup = heads / (v.shape.length > 2 ? v.shape[0]! : 1);
  const result: HeadPart[] = Array.from({ length: heads }, (_, head) => ({ head, value: 0, keys: new Array<number>(keys).fill(0) }));
  for (const [row, g] of weights) {
    const part = result[Math.floor(row / queries)]!;
    const group = Math.floor(part.head / perGroup);
    for (let key = 0; key < keys; key++) {
      const share = pattern.data[row * keys + key]!;
      if (share !== 0) part.keys[key]! += share * along(g, v, group * keys + key);
    }
  }
  const brought = worth(sight.values(z.name), weights).rows;
  for (const [row, value] of brought) result[Math.floor(row / queries)]!.value += value;
  return result;
}

function along(g: Float64Array, value: Tensor, row: number): number {
  let total = 0;
  for (let i = 0; i < g.length; i++) total += g[i]! * value.data[row * g.length + i]!;
  return total;
}

export interface Neuron {
  step: string; // the hidden layer, where it can be silenced
  neuron: number;
  row: number;
  active: number; // its value there
  value: number; // what it adds
}

export interface Neurons {
  top: Neuron[]; // by what they add, largest magnitude first
  count: number; // of all
  rest: number; // what all others add
  bias: number;
}

/** The hidden layers of a feed-forward network: one, or one for each expert. */
function hiddenLayers(sight: Sight, added: string): string[] {
  const part = sight.steps.get(added)?.part;
  return sight.program.steps.filter((step) => step.part === part && /\.post$/.test(step.name)).map((step) => step.name);
}

/** What the neurons of a feed-forward network add. null: there are none here. */
export function topNeurons(sight: Sight, added: string, weights: Weights, n: number): Neurons | null {
  const layers = hiddenLayers(sight, added);
  if (!layers.length) return null;
  const pulled = pull(sight, added, weights, new Set(layers));
  const all: Neuron[] = [];
  for (const step of layers) all.push(...neuronsOf(sight, step, pulled));
  if (!all.length) return null;
  all.sort((one, other) => Math.abs(other.value) - Math.abs(one.value));
  return { top: all.slice(0, n), count: all.length, rest: sum(all.slice(n).map((one) => one.value)), bias: sum(pulled.biases.values()) };
}

/** Where several rows count, a neuron's parts are added up, and its row is that of the largest. */
function neuronsOf(sight: Sight, step: string, pulled: Pulled): Neuron[] {
  const value = sight.values(step);
  const found: Neuron[] = [];
  const most: number[] = [];
  for (const [row, g] of pulled.stops.get(step) ?? []) {
    for (let neuron = 0; neuron < g.length; neuron++) {
      const active = value.data[row * g.length + neuron]!;
      const part = active * g[neuron]!;
      const known = (found[neuron] ??= { step, neuron, row, active, value: 0 });
      known.value += part;
      if (Math.abs(part) > (most[neuron] ?? -1)) {
        most[neuron] = Math.abs(part);
        Object.assign(known, { row, active });
      }
    }
  }
  return found;
}

/** The length of each row; and how large what was added is beside what it was added to. */
export function lengths(value: Tensor): Float64Array {
  const [rows, width] = [rowsOf(value), widthOf(value)];
  return Float64Array.from({ length: rows }, (_, row) => {
    let total = 0;
    for (let i = row * width; i < (row + 1) * width; i++) total += value.data[i]! ** 2;
    return Math.sqrt(total);
  });
}
