// A program as a model that writes: after some tokens, the log-probabilities of the next one.

import type { Patch } from "./header";
import { ForwardPass, lastRow, planOf, RowByRow, type Rows } from "./run";
import type { Model, State } from "./search";
import { logSoftmax } from "./tensor";

export interface Written extends State {
  ids: number[]; // all ids of the sequence so far
  rows: Rows | null;
}

/** A model that continues `beginning` in a sequence. Rows computed once are kept for all hypotheses that share them; where a
 * program or a patch does not allow it, each step is a whole pass. */
export function writer(
  fixed: ForwardPass,
  sequence: string,
  output: string,
  beginning: readonly number[],
  patches: readonly Patch[],
): Model<Written> {
  const plan = planOf(fixed.engine.program, sequence, output, patches);
  const machine = plan && new RowByRow(fixed.engine, plan, fixed, patches);
  const after = (before: Written | null, more: readonly number[]): Written => {
    const ids = [...(before?.ids ?? []), ...more];
    if (machine) {
      const rows = machine.extend(before?.rows ?? null, more);
      return { ids, rows, logProbs: logSoftmax(lastRow(rows.newest)) };
    }
    const pass = fixed.given({ [sequence]: ids }, patches);
    return { ids, rows: null, logProbs: logSoftmax(lastRow(pass.values(output))) };
  };
  return { start: () => after(null, beginning), extend: (state, token) => after(state, [token]) };
}
