// The test that the future is hidden, run live: one piece of the output is replaced, and everything is compared.

import { signal } from "@preact/signals";
import type { Run, Step } from "../engine/header";
import { placeOf } from "./anatomy";
import { program, runA, source } from "./store";

export interface Leak {
  run: Run; // the run that was changed
  at: number; // the first row of the sequence that differs
  layers: { name: string; step: Step }[];
  moved: Float32Array; // (layers, positions): largest change relative to the layer's largest magnitude
  positions: number;
  earlier: number; // numbers compared before the change
  broken: number; // of them, those that moved
}

export const leak = signal<Leak | null>(null);

/** Steps with one row for each position of the sequence, the last of each place of the figure. */
function layersOf(sequence: string): Leak["layers"] {
  const last = new Map<string, Step>();
  for (const step of program.peek()?.steps ?? []) {
    if (step.shape.length === 2 && step.shape[0] === sequence && step.shape[1] !== sequence) last.set(step.part, step);
  }
  return [...last.values()].map((step) => {
    const place = placeOf(step.part);
    return { step, name: [place.layer === null ? "" : String(place.layer + 1), place.what.replaceAll("_", " ")].filter(Boolean).join(" ") };
  });
}

/** The sequence whose later rows never change earlier ones. */
export function causalSequence(): string {
  const name = program.value?.causal[0] ?? "";
  return (runA.value?.ids[name]?.length ?? 0) > 1 ? name : "";
}

/** The second most probable token at a row of the output. */
export function runnerUp(run: Run, row: number, chosen: number): number {
  const probs = run.logProbs(row);
  let best = chosen === 0 ? 1 : 0;
  for (let id = 0; id < probs.length; id++) if (id !== chosen && probs[id]! > probs[best]!) best = id;
  return best;
}

function compareRows(a: Run, b: Run, layers: Leak["layers"], at: number, positions: number): Pick<Leak, "moved" | "earlier" | "broken"> {
  const moved = new Float32Array(layers.length * positions);
  let [earlier, broken] = [0, 0];
  for (const [line, { step }] of layers.entries()) {
    const [before, after] = [a.pass.values(step.name), b.pass.values(step.name)];
    const width = before.shape[1]!;
    const top = before.data.reduce((most, value) => Math.max(most, Math.abs(value)), 0) || 1;
    for (let i = 0; i < positions * width; i++) {
      const change = Math.abs((after.data[i] ?? NaN) - before.data[i]!);
      const row = Math.floor(i / width);
      if (row < at) { earlier++; if (change !== 0) broken++; }
      const place = line * positions + row;
      moved[place] = Math.max(moved[place]!, change / top);
    }
  }
  return { moved, earlier, broken };
}

/** Replaces one piece that the model wrote by another token, runs the model on it and compares. */
export async function testLeak(position: number, token: number): Promise<void> {
  const [from, a, sequence] = [source.peek(), runA.peek(), causalSequence()];
  if (!from?.live || !a?.written || !sequence) return;
  const target = a.written.ids.map((id, i) => (i === position ? token : id));
  const b = await from.run(a.text, { target });
  const [mine, theirs] = [a.ids[sequence]!, b.ids[sequence]!];
  const positions = Math.min(mine.length, theirs.length);
  const first = mine.findIndex((id, i) => id !== theirs[i]);
  const at = first < 0 ? positions : first;
  const layers = layersOf(sequence);
  leak.value = { run: a, at, layers, positions, ...compareRows(a, b, layers, at, positions) };
}
