// The best guess at every point of the stream, filled in piece by piece while the page stays free.

import { computed, effect, signal, type ReadonlySignal } from "@preact/signals";
import { breather, Cancelled } from "../analysis/breathe";
import type { Point, Stream } from "../analysis/graph";
import { decidedAt, guesses, type Guess } from "../analysis/lens";
import type { Readout } from "../analysis/readout";
import type { Run } from "../engine/header";
import { applyWith, canReadOut, engineOf, output, place, readout, sightOf } from "./inside";
import { picked } from "./selection";
import { run } from "./store";

export interface LensTable {
  points: Point[];
  readout: Readout;
  guesses: (Guess | undefined)[][]; // by point, then by place
  done: number; // cells
  cells: number;
  version: ReadonlySignal<number>; // changes when cells are filled
}

const BUDGET = 2e7; // products in one piece of work
const tables = new WeakMap<Run, LensTable & { version: { value: number } }>();

function tableOf(of: Run, stream: Stream, said: Readout): LensTable & { version: { value: number } } {
  const known = tables.get(of);
  if (known) return known;
  const guessed = stream.points.map(() => new Array<Guess | undefined>(said.places).fill(undefined));
  const made = { points: stream.points, readout: said, guesses: guessed, done: 0, cells: stream.points.length * said.places, version: signal(0) };
  tables.set(of, made);
  return made;
}

/** Places in the order of their distance from the selected one, in runs of `size`. */
function pieces(count: number, size: number, first: number): { begin: number; end: number }[] {
  const all: { begin: number; end: number }[] = [];
  for (let begin = 0; begin < count; begin += size) all.push({ begin, end: Math.min(count, begin + size) });
  const far = ({ begin, end }: { begin: number; end: number }): number => (first < begin ? begin - first : first >= end ? first - end + 1 : 0);
  return all.sort((one, other) => far(one) - far(other));
}

async function fill(of: Run, table: LensTable & { version: { value: number } }, signal: AbortSignal): Promise<void> {
  const engine = engineOf(of);
  const { tail } = output.peek()!;
  if (!engine) return;
  const sight = sightOf(of);
  const breathe = breather(signal);
  const lens = { tail, end: table.points.at(-1)!.step };
  const apply = applyWith(engine);
  const width = of.pass.values(lens.end).shape.at(-1) ?? 1;
  const size = table.readout.across === "column" ? table.readout.places : Math.max(1, Math.floor(BUDGET / (width * table.readout.candidates)));
  let drawn = performance.now();
  for (const range of pieces(table.readout.places, size, place.peek())) {
    for (let point = table.points.length - 1; point >= 0; point--) {
      const row = table.guesses[point]!;
      if (row[range.begin]) continue;
      guesses(sight, lens, table.readout, of.pass.values(table.points[point]!.step), apply, range).forEach((guess, i) => { row[range.begin + i] = guess; });
      table.done += range.end - range.begin;
      await breathe();
      if (performance.now() - drawn > 120) {
        table.version.value++;
        drawn = performance.now();
      }
    }
  }
  table.version.value++;
}

/** The table of the shown run; null where the output cannot be read out of the stream. */
export const lensTable = computed<LensTable | null>(() => {
  const [of, out, said] = [run.value, output.value, readout.value];
  return of && out && said && canReadOut.value ? tableOf(of, out.stream, said) : null;
});

let working: AbortController | null = null;

/** Fills the table of the shown run while the view is open. */
export function followLens(): () => void {
  return effect(() => {
    const [of, table] = [run.value, lensTable.value];
    working?.abort();
    if (!of || !table || picked.view.value !== "stream" || table.done >= table.cells) return;
    working = new AbortController();
    const { signal: cancelled } = working;
    fill(of, table as LensTable & { version: { value: number } }, cancelled).catch((error: unknown) => {
      if (!(error instanceof Cancelled)) throw error;
    });
  });
}

/** The point from which on a place's best guess is what the model says. */
export function decided(table: LensTable, at: number): number | null {
  return decidedAt(table.guesses.map((row) => row[at]), table.readout.chosen[at]!);
}
