// The parts of a program: its stacks, blocks and attentions, found from its steps alone. No model is known by name.

import type { Program, Step } from "../engine/header";

/** One place of the model's figure. */
export interface Place {
  id: string; // the step's part: "decoder.1.cross_attention"
  stack: string; // "decoder"; "" in models with one stack
  layer: number | null; // from 0; null outside of blocks
  what: string; // "cross_attention", "feed_forward", "inputs", "final_norm", "output"
  steps: Step[];
}

/** One layer's attention of one kind. */
export interface Attention {
  id: string; // its part
  stack: string;
  layer: number;
  kind: string; // "self_attention", "cross_attention", "attention"
  heads: number; // 1 where the pattern has no axis of heads
  queries: string; // the sequence whose rows read; "" if it is none
  keys: string; // the sequence that is read
  causal: boolean;
  lines: Step[]; // from the scores to the pattern, each made of the one before
  pattern: Step; // the last line
  q?: Step;
  k?: Step;
  v?: Step;
  z?: Step; // the mixture of values
  result?: Step; // what each head adds by itself
}

export function placeOf(part: string): Omit<Place, "steps"> {
  const words = part.split(".");
  const number = words.findIndex((word) => /^\d+$/.test(word));
  const layer = number < 0 ? null : Number(words[number]);
  const what = words.slice(number < 0 ? -1 : number + 1).join(".");
  const stack = words.slice(0, number < 0 ? -1 : number).join(".");
  return { id: part, stack, layer, what, };
}

/** In the order of the forward pass. */
export function placesOf(program: Program): Place[] {
  const places = new Map<string, Place>();
  for (const step of program.steps) {
    const known = places.get(step.part);
    if (known) known.steps.push(step);
    else places.set(step.part, { ...placeOf(step.part), steps: [step] });
  }
  return [...places.values()];
}

export type ByName = ReadonlyMap<string, Step>;

export function stepsByName(program: Program): Map<string, Step> {
  return new Map(program.steps.map((step) => [step.name, step]));
}

/** The steps that lead to `step`, each by its first input, while they have its part and as many axes; oldest first. */
function chainTo(step: Step, steps: ByName): Step[] {
  const chain = [step];
  for (;;) {
    const before = steps.get(chain[0]!.inputs[0] ?? "");
    if (!before || before.part !== step.part || before.axes.length !== step.axes.length) return chain;
    if (before.axes.at(-1) !== step.axes.at(-1)) return chain;
    chain.unshift(before);
    if (before.op === "scores") return chain;
  }
}

/** The nearest step with this op that uses `name`. */
function userOf(name: string, ops: string[], program: Program): Step | undefined {
  return program.steps.find((step) => ops.includes(step.op) && step.inputs.includes(name));
}

function attentionAt(pattern: Step, program: Program, steps: ByName): Attention {
  const place = placeOf(pattern.part);
  const lines = chainTo(pattern, steps);
  const first = lines[0]!;
  const mix = userOf(pattern.name, ["mix"], program) ?? program.steps.find((step) => step.inputs.includes(pattern.name));
  const byHead = pattern.axes[0] === "head";
  const [rows, columns] = pattern.shape.slice(-2);
  const masks = lines.filter((step) => step.op === "mask");
  return {
    ...place, layer: place.layer ?? 0, kind: place.what, lines, pattern,
    heads: byHead ? Number(pattern.shape[0]) : 1,
    queries: typeof rows === "string" ? rows : (pattern.axes.at(-2) ?? ""),
    keys: typeof columns === "string" ? columns : (pattern.axes.at(-1) ?? ""),
    causal: masks.some((step) => step.settings.causal === true),
    q: first.op === "scores" ? steps.get(first.inputs[0]!) : undefined,
    k: first.op === "scores" ? steps.get(first.inputs[1]!) : undefined,
    v: mix && steps.get(mix.inputs[1] ?? ""),
    z: mix,
    result: mix && userOf(mix.name, ["head_results"], program),
  };
}

/** Every softmax over a sequence, in the order of the forward pass. */
export function attentionsOf(program: Program): Attention[] {
  const steps = stepsByName(program);
  const patterns = program.steps.filter((step) => step.op === "softmax" && step.part !== "output" && step.axes.at(-1) !== "expert");
  return patterns.filter((step) => step.axes.at(-1) !== "vocabulary").map((step) => attentionAt(step, program, steps));
}
