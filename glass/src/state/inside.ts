// What several views need of the shown run: what it says at each place, its streams, and the selection once it rests.

import { computed, effect, signal } from "@preact/signals";
import { isRecurrent, outputOf, statesOf, streamsOf, type Apply, type Sight } from "../analysis/graph";
import { cellOf, readoutOf, type Readout } from "../analysis/readout";
import type { Run } from "../engine/header";
import { compute, ForwardPass, stepsOf, type Engine } from "../engine/run";
import { numbered } from "./labels";
import { picked, select, selection, type Selection } from "./selection";
import { header, program, run, runA, stepNamed, vocabularyText } from "./store";

export const recurrent = computed(() => program.value !== null && isRecurrent(program.value));
export const streams = computed(() => (program.value ? (recurrent.value ? statesOf : streamsOf)(program.value) : []));
export const output = computed(() => (program.value ? outputOf(program.value, streams.value) : null));

/** What computes a run's steps; null where they are only recorded. */
export function engineOf(of: Run | null): Engine | null {
  return of?.pass instanceof ForwardPass ? of.pass.engine : null;
}

const sights = new WeakMap<Run, Sight>();

export function sightOf(of: Run): Sight {
  const known = sights.get(of);
  if (known) return known;
  const engine = engineOf(of);
  const weights = header.peek()?.weights ?? {};
  const sight: Sight = {
    program: program.peek()!,
    steps: stepsOf(program.peek()!),
    values: (name) => of.pass.values(name),
    weight: (name) => (engine && name in weights ? engine.weight(name) : null),
  };
  sights.set(of, sight);
  return sight;
}

/** Whether the file has the weights that the output is made with: without them nothing can be read out of the stream. */
export const canReadOut = computed(() => {
  const weights = header.value?.weights ?? {};
  return !recurrent.value && engineOf(run.value) !== null && (output.value?.tail ?? []).every((step) => step.weights.every((name) => name in weights));
});

export function applyWith(engine: Engine): Apply {
  return (step, inputs) => compute(engine, step, inputs);
}

const readouts = new WeakMap<Run, Readout | null>();

export function readoutFor(of: Run | null): Readout | null {
  const about = header.peek();
  if (!of || !about) return null;
  if (!readouts.has(of)) readouts.set(of, readoutOf(about, of));
  return readouts.get(of)!;
}

/** Of the shown run; and of A. */
export const readout = computed(() => (header.value ? readoutFor(run.value) : null));
export const readoutA = computed(() => (header.value ? readoutFor(runA.value) : null));

/** The selection a moment after it was made, so that the page shows it first and calculates then. */
export const settled = signal<Selection>(selection.peek());
let waiting = 0;
effect(() => {
  const now = selection.value;
  clearTimeout(waiting);
  waiting = setTimeout(() => { settled.value = now; }, 0) as unknown as number;
});

/** The selected place of the output. */
export function placeOf(chosen: Pick<Selection, "step">, said: Readout): number {
  return Math.max(0, Math.min(said.places - 1, chosen.step));
}

export const place = computed(() => (readout.value ? placeOf({ step: picked.step.value }, readout.value) : 0));

/** The candidate that is asked about: the selected logit's, or what was said. */
export function candidateOf(chosen: Selection, said: Readout): number {
  const at = placeOf(chosen, said);
  if (chosen.tap === said.step && said.across === "row" && chosen.row === at && chosen.column < said.candidates) return chosen.column;
  return said.chosen[at]!;
}

/** The sequence whose pieces are the rows of the output. */
function rowSequence(said: Readout): string {
  const size = stepNamed(said.step)?.shape.at(-2);
  return typeof size === "string" ? size : "";
}

/** A class, a token of the vocabulary, or for spans a piece of the input. */
export function candidateName(id: number, said: Readout | null = readout.value): string {
  if (!said) return String(id);
  if (said.kind === "class" || said.kind === "tokens") return header.value?.task.classes?.[id] ?? `#${id}`;
  if (said.kind === "span") return run.value?.pieces[rowSequence(said)]?.[id] ?? String(id + 1);
  return vocabularyText(id);
}

/** The piece that is read at each place, where there is one. */
export const inputsOfPlaces = computed<readonly string[]>(() => {
  const said = readout.value;
  if (!said) return [];
  if (said.across === "column") return ["begin", "end"].slice(0, said.places);
  const pieces = run.value?.pieces[rowSequence(said)];
  return pieces?.length === said.places ? pieces : numbered(said.places);
});

/** What the model says at each place, in its own words. */
export const saidAtPlaces = computed<readonly string[]>(() => readout.value?.chosen.map((id) => candidateName(id)) ?? []);

/** What a place is called in titles: what is said there; for classes of pieces, the piece. */
export function placeName(at: number): string {
  const said = readout.value;
  if (!said) return "";
  return said.kind === "tokens" || said.kind === "words" ? (inputsOfPlaces.value[at] ?? "") : (saidAtPlaces.value[at] ?? "");
}

/** Selects a place of the output, a candidate's logit there, and in the matrices of the stack that writes it the row. */
export function selectPlace(at: number, candidate?: number): void {
  const said = readout.peek();
  if (!said) return;
  const { row, column } = cellOf(said, at, candidate ?? said.chosen[at]!);
  select({ step: at, query: at, tap: said.step, row, column });
}
