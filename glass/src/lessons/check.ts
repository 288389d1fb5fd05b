// What the page computes with the lesson's own settings, against what Python computed.

import { difference } from "../engine/compare";
import { WHOLE_PASS } from "../engine/check";
import type { Tensor } from "../engine/header";

export type Results = Record<string, Tensor>;

export interface Verdict {
  ok: boolean;
  compared: number; // numbers
  worst: number; // difference, relative to the largest magnitude of its result
  failures: string[];
}

/** Every result of Python must be computed here, and be the same but for rounding. */
export function verdictOf(computed: Results, right: Results): Verdict {
  const verdict: Verdict = { ok: true, compared: 0, worst: 0, failures: [] };
  for (const [name, tensor] of Object.entries(right)) {
    const own = computed[name];
    const found = own ? difference(own, tensor) : { error: Infinity, compared: tensor.data.length };
    verdict.compared += found.compared;
    verdict.worst = Math.max(verdict.worst, found.error);
    if (!(found.error <= WHOLE_PASS)) verdict.failures.push(name);
  }
  verdict.ok = verdict.compared > 0 && !verdict.failures.length;
  return verdict;
}
