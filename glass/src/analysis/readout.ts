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
  answer: number[]; // the places that make the answer: what is written, the masked pieces, or all
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

type About = Pick<Header, "program" | "task" | "decoding" | "tokenizers">;

/** What was written at each place. Of a text that is continued only the last place has written something. */
function writtenAt(about: About, run: Run, places: number): (number | undefined)[] {
  const ids = about.task.head === "next" ? (run.written?.ids ?? []) : [];
  if (about.decoding?.start !== -1) return ids.slice(0, places);
  return [...new Array<undefined>(places - 1).fill(undefined), ids[0]];
}

function answerPlaces(about: About, run: Run, places: number): number[] {
  const all = Array.from({ length: places }, (_, place) => place);
  if (about.task.head === "next" && about.decoding?.start === -1) return [places - 1];
  const masks = new Set(Object.values(about.tokenizers).map((one) => one.mask?.id));
  const masked = about.task.head === "words" ? all.filter((place) => Object.values(run.ids).some((ids) => masks.has(ids[place]))) : [];
  return masked.length ? masked : all;
}

/** null: this model says nothing in words or classes, such as one that makes vectors or numbers. */
export function readoutOf(about: About, run: Run): Readout | null {
  const { head } = about.task;
  const step = about.program.outputs["logits"];
  if (head === "vector" || head === "number" || !step) return null;
  const logits = run.pass.values(step);
  const across = head === "span" ? "column" : "row";
  const [rows, width] = [rowsOf(logits), widthOf(logits)];
  const [places, candidates] = across === "row" ? [rows, width] : [width, rows];
  const written = writtenAt(about, run, places);
  const chosen = Array.from({ length: places }, (_, place) => written[place] ?? argmax(logitsAt(logits, { across }, place)));
  return { step, kind: head, candidates, across, places, chosen, answer: answerPlaces(about, run, places) };
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
