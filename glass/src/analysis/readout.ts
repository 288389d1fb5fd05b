// What a model says at each place of its output: where the candidates' logits are, and which candidate it chose.

import type { Header, Run, Tensor } from "../engine/header";
import { argmax } from "../engine/tensor";
import { rowsOf, widthOf } from "./graph";

export type Kind = "next" | "words" | "class" | "tokens" | "span";

export interface Readout {
  step: string; // the logits
  kind: Kind;
  places: number; // where something is said: rows, or the begin and the end of a span
  candidates: number; // of each place
  across: "row" | "column"; // the candidates of a place: a row of the logits, or for spans a column
  chosen: number[]; // by place
}

/** The whole vocabulary's or all classes' logits at one place. */
export function logitsAt(logits: Tensor, readout: Pick<Readout, "across">, place: number): Float32Array {
  const width = widthOf(logits);
  if (readout.across === "row") return logits.data.subarray(place * width, (place + 1) * width);
  return Float32Array.from({ length: rowsOf(logits) }, (_, row) => logits.data[row * width + place]!);
}

/** log sum exp, in float64. */
export function logTotal(logits: ArrayLike<number>, temperature = 1): number {
  let top = -Infinity;
  for (let i = 0; i < logits.length; i++) top = Math.max(top, logits[i]!);
  if (top === -Infinity) return -Infinity;
  let total = 0;
  for (let i = 0; i < logits.length; i++) total += Math.exp((logits[i]! - top) / temperature);
  return top / temperature + Math.log(total);
}

/** The chosen candidates: what was written, or where nothing is written the most likely one. */
function chosenOf(run: Run, kind: Kind, logits: Tensor, readout: Pick<Readout, "across" | "places">): number[] {
  const written = kind === "next" ? run.written?.ids : undefined;
  return Array.from({ length: readout.places }, (_, place) => written?.[place] ?? argmax(logitsAt(logits, readout, place)));
}

/** null: this model says nothing in words or classes, such as one that makes vectors. */
export function readoutOf(header: Pick<Header, "program" | "task">, run: Run): Readout | null {
  const { head } = header.task;
  const step = Object.values(header.program.outputs)[0];
  if (head === "vector" || !step || !run.pass.has(step)) return null;
  const logits = run.pass.values(step);
  const across = head === "span" ? "column" : "row";
  const [rows, width] = [rowsOf(logits), widthOf(logits)];
  const [places, candidates] = across === "row" ? [rows, width] : [width, rows];
  const shape = { across, places } as const;
  return { step, kind: head, candidates, ...shape, chosen: chosenOf(run, head, logits, shape) };
}

/** Row and column of a candidate's logit. */
export function cellOf(readout: Pick<Readout, "across">, place: number, candidate: number): { row: number; column: number } {
  return readout.across === "row" ? { row: place, column: candidate } : { row: candidate, column: place };
}

/** log P of what was chosen, at each place. */
export function logProbsOf(logits: Tensor, readout: Readout): number[] {
  return readout.chosen.map((id, place) => {
    const all = logitsAt(logits, readout, place);
    return all[id]! - logTotal(all);
  });
}
