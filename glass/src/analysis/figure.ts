// The figure of a model, built from its program: the steps with the same part are one box, boxes are in towers.

import type { Header, Program, Step } from "../engine/header";
import { placeOf } from "../state/anatomy";

export interface Box {
  part: string; // "decoder.1.cross_attention"
  stack: string; // "encoder", "decoder", or "" for a model with one tower
  layer: number | null; // from 0
  what: string; // "inputs", "self_attention", "feed_forward", "output" ...
  steps: Step[];
  parameters: number | null; // of the weights that no earlier box has; null: the file has not got their shapes
  shared: boolean; // uses weights that an earlier box has
  result: Step; // the value that leaves the box upwards
  reads: string | null; // the part of another tower whose result it reads
}

export interface Tower {
  name: string;
  sequence: string; // whose tokens pass through it
  boxes: Box[]; // in the order of computation
}

export interface Figure {
  towers: Tower[]; // in the order of computation; the last one has the output
  parameters: number | null;
}

/** A part and its steps, in the order of the program; a part that comes back later is the same box. */
function groups(program: Program): Map<string, Step[]> {
  const found = new Map<string, Step[]>();
  for (const step of program.steps) {
    const steps = found.get(step.part);
    if (steps) steps.push(step);
    else found.set(step.part, [step]);
  }
  return found;
}

/** The step whose value later parts or the outputs read; of several, the one that most steps read, then the last. */
function resultOf(program: Program, steps: Step[]): Step {
  const part = steps[0]!.part;
  const own = new Set(steps.map((step) => step.name));
  const readers = new Map<string, number>();
  for (const step of program.steps) {
    if (step.part === part) continue;
    for (const name of step.inputs) if (own.has(name)) readers.set(name, (readers.get(name) ?? 0) + 1);
  }
  for (const name of Object.values(program.outputs)) if (own.has(name)) readers.set(name, (readers.get(name) ?? 0) + 0.5);
  let best = steps.at(-1)!;
  let most = 0;
  for (const step of steps) {
    const count = readers.get(step.name) ?? 0;
    if (count >= most && count > 0) [best, most] = [step, count];
  }
  return best;
}

/** How many numbers a weight has; null: unknown. */
export type Sizes = (weight: string) => number | null;

export function sizesOf(header: Header): Sizes {
  return (weight) => {
    const shape = header.weights[weight]?.shape;
    return shape ? shape.reduce((product, size) => product * size, 1) : null;
  };
}

export function figureOf(program: Program, size: Sizes): Figure {
  const boxes = boxesOf(program, size);
  const output = boxes.filter((box) => box.stack === "" && box.layer === null);
  const names = [...new Set(boxes.map((box) => box.stack))];
  const named = names.filter((name) => name !== "");
  const towers: Tower[] = (named.length ? named : [""]).map((name) => ({
    name,
    sequence: "",
    boxes: boxes.filter((box) => box.stack === name),
  }));
  if (named.length) towers.at(-1)!.boxes.push(...output);
  for (const tower of towers) tower.sequence = sequenceOf(program, tower);
  const known = boxes.every((box) => box.parameters !== null);
  return { towers: towers.filter((tower) => tower.boxes.length), parameters: known ? boxes.reduce((sum, box) => sum + (box.parameters ?? 0), 0) : null };
}

function boxesOf(program: Program, size: Sizes): Box[] {
  const used = new Set<string>();
  const towerOf = new Map(program.steps.map((step) => [step.name, placeOf(step.part).stack]));
  const partOf = new Map(program.steps.map((step) => [step.name, step.part]));
  const boxes: Box[] = [];
  for (const [part, steps] of groups(program)) {
    const place = placeOf(part);
    const weights = [...new Set(steps.flatMap((step) => step.weights))];
    const fresh = weights.filter((weight) => !used.has(weight));
    const sizes = fresh.map(size);
    for (const weight of fresh) used.add(weight);
    const other = steps.flatMap((step) => step.inputs).find((name) => {
      const tower = towerOf.get(name);
      return place.stack !== "" && tower !== undefined && tower !== place.stack && tower !== "";
    });
    boxes.push({
      part,
      stack: place.stack,
      layer: place.layer,
      what: place.what || "block",
      steps,
      parameters: sizes.every((one) => one !== null) ? sizes.reduce((sum: number, one) => sum + one!, 0) : null,
      shared: fresh.length < weights.length,
      result: resultOf(program, steps),
      reads: other ? (partOf.get(other) ?? null) : null,
    });
  }
  return boxes;
}

/** The sequence that a tower's first step reads. */
function sequenceOf(program: Program, tower: Tower): string {
  for (const box of tower.boxes) {
    for (const step of box.steps) {
      const name = step.inputs.find((input) => input in program.sequences);
      if (name) return name;
    }
  }
  return Object.keys(program.sequences)[0] ?? "";
}

/** All boxes in the order of computation. */
export function inOrder(figure: Figure, program: Program): Box[] {
  const first = new Map<string, number>();
  program.steps.forEach((step, at) => first.has(step.part) || first.set(step.part, at));
  return figure.towers.flatMap((tower) => tower.boxes).sort((a, b) => (first.get(a.part) ?? 0) - (first.get(b.part) ?? 0));
}

/** "4,096" or "1.2 M" or "22.7 M". */
export function countText(count: number): string {
  if (count >= 1e9) return `${(count / 1e9).toFixed(1)} G`;
  if (count >= 1e6) return `${(count / 1e6).toFixed(1)} M`;
  return count.toLocaleString("en-US");
}
