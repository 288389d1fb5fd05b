// The logit lens (nostalgebraist 2020): what the model would answer if the stream ended after a sub-layer. The model's own
// final norm and output layer read the stream at every point instead of only at its end.

import type { Step, Tensor } from "../engine/header";
import { argmax } from "../engine/tensor";
import { rowsOf, widthOf, type Apply, type Sight } from "./graph";
import { logitsAt, logTotal, type Readout } from "./readout";

export interface Guess {
  best: number;
  prob: number; // of the best
  chosen: number; // probability of what the model says in the end
  rank: number; // of that, from 1
}

const MIXES_ROWS = new Set(["pick", "mean_rows", "concat", "scores", "mix"]);

/** Whether one row of the stream is enough to compute one row of the output. */
export function isRowWise(tail: Step[], stream: string): boolean {
  const inside = new Set([stream, ...tail.map((step) => step.name)]);
  return tail.every((step) => !MIXES_ROWS.has(step.op) && step.inputs.every((name) => inside.has(name)));
}

export function rowsFrom(value: Tensor, begin: number, end: number): Tensor {
  const width = widthOf(value);
  return { data: value.data.subarray(begin * width, end * width), shape: [end - begin, width] };
}

/** The output, computed from another value of the stream. */
export function through(sight: Sight, tail: Step[], stream: string, value: Tensor, apply: Apply): Tensor {
  const values = new Map<string, Tensor>([[stream, value]]);
  let last = value;
  for (const step of tail) {
    last = apply(step, step.inputs.map((name) => values.get(name) ?? sight.values(name)));
    values.set(step.name, last);
  }
  return last;
}

export function guessOf(logits: ArrayLike<number>, chosen: number): Guess {
  const top = argmax(logits);
  const total = logTotal(logits);
  let rank = 1;
  for (let i = 0; i < logits.length; i++) if (logits[i]! > logits[chosen]!) rank++;
  return { best: top, prob: Math.exp(logits[top]! - total), chosen: Math.exp(logits[chosen]! - total), rank };
}

export interface Lens {
  tail: Step[];
  end: string; // the step that the tail reads
}

/** The guesses at some places, from the stream's value at one point. Places count rows of the stream where the tail works
 * row by row; otherwise all are computed. */
export function guesses(
  sight: Sight, lens: Lens, readout: Readout, value: Tensor, apply: Apply, range: { begin: number; end: number },
): Guess[] {
  const partial = readout.across === "row" && isRowWise(lens.tail, lens.end) && rowsOf(value) === readout.places;
  const given = partial ? rowsFrom(value, range.begin, range.end) : value;
  const logits = through(sight, lens.tail, lens.end, given, apply);
  const first = partial ? range.begin : 0;
  const found: Guess[] = [];
  for (let place = range.begin; place < range.end; place++) {
    found.push(guessOf(logitsAt(logits, readout, place - first), readout.chosen[place]!));
  }
  return found;
}

/** The point from which on the best guess is what the model says in the end; null: it never is. */
export function decidedAt(column: (Guess | undefined)[], chosen: number): number | null {
  let found: number | null = null;
  for (let point = column.length - 1; point >= 0 && column[point]?.best === chosen; point--) found = point;
  return found;
}

/** The probabilities of all candidates of one place at one point, for outputs with few candidates. */
export function shares(logits: ArrayLike<number>): Float64Array {
  const total = logTotal(logits);
  return Float64Array.from({ length: logits.length }, (_, i) => Math.exp(logits[i]! - total));
}
