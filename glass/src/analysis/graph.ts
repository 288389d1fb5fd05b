// A program as a graph: what depends on what, and the stream of each stack with the sub-layers that add to it.

import type { Program, Step, Tensor } from "../engine/header";

/** One forward pass as the calculations see it: its steps, their values, and the weights that the file has. */
export interface Sight {
  program: Program;
  steps: ReadonlyMap<string, Step>;
  values(name: string): Tensor;
  weight(name: string): Tensor | null; // null: the file does not have it
}

/** Computes one step from the values of its inputs. */
export type Apply = (step: Step, inputs: Tensor[]) => Tensor;

/** A point of the stream: its start, or what it is after a sub-layer. */
export interface Point {
  step: string; // the stream's value here
  added: string | null; // what the sub-layer added; null at the start
  layer: number | null; // from 0
  what: string; // "inputs", "self_attention", "cross_attention", "attention", "feed_forward"
  part: string;
}

export interface Stream {
  stack: string; // "encoder", "decoder"; "" in models with one stack
  points: Point[]; // from the inputs to the last sub-layer
}

const AFTER = /_residual\.after$/;

function partOf(part: string): { stack: string; layer: number | null; what: string } {
  const words = part.split(".");
  const at = words.findIndex((word) => /^\d+$/.test(word));
  if (at < 0) return { stack: words.slice(0, -1).join("."), layer: null, what: words.at(-1) ?? "" };
  return { stack: words.slice(0, at).join("."), layer: Number(words[at]), what: words.slice(at + 1).join(".") };
}

/** The step that has the value first: taps that only pass it on are skipped. */
export function source(name: string, steps: ReadonlyMap<string, Step>): string {
  for (;;) {
    const step = steps.get(name);
    if (step?.op !== "same") return name;
    name = step.inputs[0]!;
  }
}

/** Whether a model hands a state from one time step to the next instead of adding to a stream. */
export function isRecurrent(program: Program): boolean {
  return !program.steps.some((step) => AFTER.test(step.name)) && program.steps.some((step) => step.name.endsWith(".hidden") && step.op === "part");
}

/** The states of a recurrent model's layers, as a stream to which nothing is added: what is read, then each layer's
 * state, in the order of the text. */
export function statesOf(program: Program): Stream[] {
  const streams = new Map<string, Stream>();
  for (const step of program.steps) {
    const { stack, layer, what } = partOf(step.part);
    const begins = step.op === "embed" && !streams.has(stack);
    if (!begins && !(step.name.endsWith(".hidden") && step.op === "part")) continue;
    const stream = streams.get(stack) ?? { stack, points: [] };
    streams.set(stack, stream);
    const turned = program.steps.find((one) => one.op === "reverse" && one.inputs[0] === step.name);
    stream.points.push({ step: turned?.name ?? step.name, added: null, layer: begins ? null : layer, what, part: step.part });
  }
  return [...streams.values()].filter((stream) => stream.points.length > 1);
}

/** The residual streams of all stacks, in the order of the forward pass. */
export function streamsOf(program: Program): Stream[] {
  const steps = new Map(program.steps.map((step) => [step.name, step]));
  const streams = new Map<string, Stream>();
  for (const step of program.steps) {
    if (!AFTER.test(step.name)) continue;
    const { stack, layer, what } = partOf(step.part);
    const added = step.name.replace(AFTER, "_residual.added");
    if (!steps.has(added)) continue;
    const stream = streams.get(stack) ?? { stack, points: [start(step, steps, stack)] };
    streams.set(stack, stream);
    stream.points.push({ step: step.name, added, layer, what, part: step.part });
  }
  return [...streams.values()];
}

function start(first: Step, steps: ReadonlyMap<string, Step>, stack: string): Point {
  const before = source(first.name.replace(AFTER, "_residual.before"), steps);
  const part = steps.get(before)?.part ?? "";
  return { step: before, added: null, layer: null, what: "inputs", part: part || (stack ? `${stack}.inputs` : "inputs") };
}

/** The steps between `from` and `to` that depend on `from`, in their order; `to` is the last. Empty: none does. */
export function pathBetween(program: Program, from: string, to: string): Step[] {
  const reached = new Set([from]);
  const steps: Step[] = [];
  for (const step of program.steps) {
    if (!step.inputs.some((name) => reached.has(name))) continue;
    reached.add(step.name);
    steps.push(step);
    if (step.name === to) break;
  }
  if (!reached.has(to)) return [];
  const needed = new Set([to]);
  for (const step of [...steps].reverse()) {
    if (needed.has(step.name)) for (const name of step.inputs) needed.add(name);
  }
  return steps.filter((step) => needed.has(step.name));
}

/** The stream from which the output is read, and the steps that read it: the final norm and the output layer. */
export function outputOf(program: Program, streams: Stream[]): { stream: Stream; logits: string; tail: Step[] } | null {
  const logits = Object.values(program.outputs)[0];
  if (!logits) return null;
  for (const stream of [...streams].reverse()) {
    const last = stream.points.at(-1)!;
    const tail = last.step === logits ? [] : pathBetween(program, last.step, logits);
    if (tail.length || last.step === logits) return { stream, logits, tail };
  }
  return null;
}

export function rowsOf(tensor: Tensor): number {
  return tensor.shape.slice(0, -1).reduce((product, size) => product * size, 1);
}

export function widthOf(tensor: Tensor): number {
  return tensor.shape.at(-1) ?? 1;
}

export function sum(values: Iterable<number>): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}
