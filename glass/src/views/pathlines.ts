// The lines of the sum that a logit is, with their names.

import { computed } from "@preact/signals";
import type { Part } from "../analysis/contributions";
import { asked, contributions, pointName } from "../state/adding";
import { candidateName, output } from "../state/inside";
import { lensTable } from "../state/lensing";
import { select } from "../state/selection";
import { T } from "../state/strings";

export interface Line {
  step: string;
  name: string;
  layer: number | null;
  value: number;
  guess: { name: string; prob: number } | null; // the best guess after it
  choose(): void;
}

const NAMES: Record<string, string> = {
  token: T.stream.path.token, position: T.stream.path.position, segment: T.stream.path.segment, casing: T.stream.path.casing, biases: T.stream.path.biases,
  extra: T.stream.path.extra, odds: T.stream.path.odds, table: T.stream.path.odds, grid: T.stream.path.position,
};

function lineOf(part: Part, place: number): Line {
  const stream = output.value!.stream;
  const at = stream.points.findIndex((point) => part.layer !== null && point.layer === part.layer && point.what === part.what);
  const point = stream.points[at];
  const table = lensTable.value;
  table?.version.value; // reads it again when it is filled
  const guess = at >= 0 ? table?.guesses[at]?.[place] : undefined;
  return {
    step: part.step, layer: part.layer, value: part.value,
    name: point ? pointName(point) : part.layer !== null ? T.stream.block(part.layer + 1, T.stream.names[part.what] ?? part.what) : (NAMES[part.what] ?? part.what.replaceAll("_", " ")),
    guess: guess ? { name: candidateName(guess.best), prob: guess.prob } : null,
    choose: () => {
      const kind = point && point.what.includes("attention") ? { kind: point.what } : {};
      select({ stack: stream.stack, layer: part.layer ?? 0, ...kind, tap: part.step, row: place, column: 0, query: place });
    },
  };
}

/** From the last sub-layer down to the inputs, as in the picture above; the biases last. */
export const adding = computed<Line[]>(() => {
  const [found, question] = [contributions.value, asked.value];
  if (!found || !question) return [];
  const lines = found.parts.map((part) => lineOf(part, question.place));
  return [...lines.filter((line) => line.step !== "").reverse(), ...lines.filter((line) => line.step === "")];
});
