// The tour: the claims that are true of this run, in the order in which they build on each other.

import type { Claim, Rule } from "./claim";
import { DECIDING_RULES } from "./deciding";
import { INPUT_RULES } from "./inputs";
import { READING_RULES } from "./reading";
import type { Scene } from "./scene";

const { patches, pieces, row, place, parameters } = INPUT_RULES;
const { axis, reads, sum, later } = READING_RULES;
const { needed, effect, decided, sure, ceiling, beam, proof } = DECIDING_RULES;

/** In the order of the tour. */
export const RULES: Rule[] = [patches, pieces, row, place, parameters, reads, axis, sum, later, needed, effect, decided, sure, ceiling, beam, proof];

/** What is left out first where more than this many claims are true. */
const MOST = 12;
const SPARED: string[] = ["beam", "place", "parameters"];

export interface Stop {
  rule: Rule;
  claim: Claim;
}

export function stopsOf(scene: Scene): Stop[] {
  const stops = RULES.flatMap((rule) => {
    const claim = rule.claim(scene);
    return claim?.holds ? [{ rule, claim }] : [];
  });
  for (const id of SPARED) {
    if (stops.length <= MOST) break;
    const at = stops.findIndex((stop) => stop.rule.id === id);
    if (at >= 0) stops.splice(at, 1);
  }
  return stops;
}
