// What the output loses without a head: the same ids, one head's result set to zero or to its mean over the rows.

import type { Patch, Run, Source } from "../src/engine/header";
import { rowAxis } from "../src/engine/tensor";

export interface Loss {
  step: string; // the step with the heads' results
  head: number;
  loss: number; // log P of the written tokens with the head minus without it, in nats
  byRow: Float32Array; // the same for each token
}

/** The log-probability of each written token. Of a text that is only read, those of its own next tokens. */
export function writtenLogProbs(run: Run): Float32Array {
  const targets = targetsOf(run);
  return Float32Array.from(targets, (id, row) => run.logProbs(row)[id]!);
}

/** The token that each row of the output should predict. */
function targetsOf(run: Run): number[] {
  const { written, ids } = run;
  const own = Object.values(ids);
  if (!written) return [];
  const read = own[own.length - 1]!;
  const follows = written.ids.slice(0, -1).every((id, i) => read[i + 1] === id);
  return follows && read.length === written.ids.length ? written.ids : read.slice(1);
}

/** The steps that hold what heads read, one matrix per head. */
export function headSteps(source: Source): { step: string; heads: number }[] {
  const { steps } = source.header.program;
  return steps.filter(({ op }) => op === "mix").map((mix) => {
    const tap = steps.find((step) => step.op === "same" && step.tapped && step.inputs[0] === mix.name) ?? mix;
    return { step: tap.name, heads: Number(mix.shape[rowAxis(mix.shape) - 1]) };
  });
}

/** The loss without each head, one after another. */
export function knockOuts(source: Source, run: Run, how: "zero" | "mean" = "zero"): Loss[] {
  return headSteps(source).flatMap(({ step, heads }) =>
    Array.from({ length: heads }, (_, head) => lossOf(source, run, { step, head, how })),
  );
}

export function lossOf(source: Source, run: Run, patch: Patch & { head: number }): Loss {
  const [before, after] = [writtenLogProbs(run), writtenLogProbs(source.changed(run, [...run.patches, patch]))];
  const byRow = before.map((value, row) => value - after[row]!);
  return { step: patch.step, head: patch.head, byRow, loss: byRow.reduce((a, b) => a + b, 0) };
}
