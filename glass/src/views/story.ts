// A share of attention told from its beginning: the products of q and k, the scale, the mask, softmax.

import type { Group, Reckoning, Run, Step } from "../engine/header";
import { attentions, type Reckoner } from "../state/store";
import { T } from "../state/strings";
import { brief } from "./format";

/** The lines of attention up to a step; none if it is not one of them, or the first. */
function linesTo(step: Step): Step[] {
  const lines = attentions.value.find((one) => one.lines.includes(step))?.lines ?? [];
  const upTo = lines.slice(0, lines.indexOf(step) + 1).filter((one) => one.op !== "same");
  return upTo.length > 1 ? upTo : [];
}

function plain(label: string, result: number): Group {
  return { label, how: "value", terms: [], result };
}

/** A factor that is one over the root of a whole number is written as a division. */
export function factorInWords(factor: number): string {
  const width = Math.round(1 / factor ** 2);
  const rooted = width > 1 && Math.abs(factor * Math.sqrt(width) - 1) < 1e-6;
  return rooted ? T.reckoning.root(width, Math.sqrt(width).toFixed(3)) : T.reckoning.times(brief(factor));
}

function groupsOf(step: Step, found: Reckoning): Group[] {
  const words = T.reckoning;
  const { groups } = found;
  const [first, second] = groups;
  if (step.op === "scores" && first) return [{ ...first, label: words.products(first.terms.length) }];
  if (step.op === "scale") return Number(step.settings.factor) === 1 ? [] : [plain(factorInWords(Number(step.settings.factor)), found.computed)];
  if (step.op === "add" && first) return [{ ...first, label: words.added }];
  if (step.op === "mask") return [plain(found.computed === -Infinity ? words.masked : words.unmasked, found.computed)];
  if (step.op !== "softmax" || !second || !first?.terms[0]) return groups;
  const own = first.terms[0].value;
  const top = own - Math.log(first.result);
  if (first.result === 0) return groups;
  return [{ label: words.softmax(brief(own), brief(top), second.result.toFixed(4)), how: "quotient", terms: second.terms, result: found.computed }];
}

/** All groups of the reckoning: of a line of attention, those of the lines before it as well. */
export function storyOf(step: Step, found: Reckoning, run: Run, reckon: Reckoner): Group[] {
  const lines = linesTo(step);
  if (!lines.length || !found.groups.length) return found.groups;
  const groups = lines.flatMap((line) => groupsOf(line, line === step ? found : reckon(run, line.name, found.index)));
  return groups.length ? groups : found.groups;
}
