// What adds to the logit that is asked about: computed from the selection once it rests.

import { computed, signal } from "@preact/signals";
import { contributionsTo, splitByHead, topNeurons, type Contributions, type Neurons, type Split } from "../analysis/contributions";
import type { Point, Stream } from "../analysis/graph";
import { logitsAt } from "../analysis/readout";
import { largest } from "../engine/tensor";
import { engineOf, output, candidateOf, placeOf, readout, recurrent, settled, sightOf, streams } from "./inside";
import { picked } from "./selection";
import { attentions, run, stepNamed } from "./store";
import { T } from "./strings";

export const againstNext = signal(false); // whether the runner-up's logit is subtracted
const NEURONS = 10;

/** The stream that is shown: that of the selected stack, or the one that the output is read from. */
export const shownStream = computed<Stream | null>(() => {
  const stack = picked.stack.value;
  return streams.value.find((one) => one.stack === stack) ?? output.value?.stream ?? streams.value.at(-1) ?? null;
});

export const isOutputStream = computed(() => shownStream.value !== null && shownStream.value === output.value?.stream);

/** Whether the stream is normed after each sub-layer: then every part goes through the norms that follow it. */
export const isPostNorm = computed(() => !recurrent.value && (output.value?.stream.points.slice(1) ?? []).some((point) => stepNamed(point.step)?.op !== "add"));

/** "block 2: reads the source" */
export function pointName(point: Point): string {
  if (point.layer === null) return T.stream.start;
  const read = attentions.value.find((one) => one.id === point.part);
  const around = read && !point.what.includes("cross") ? T.stream.names.self_attention : undefined;
  const what = read?.causal ? T.stream.looksBack : (around ?? T.stream.names[point.what] ?? point.what.replaceAll("_", " "));
  return T.stream.block(point.layer + 1, what);
}

/** The point that the selected step belongs to; -1: none. */
export function pointOf(tap: string, stream: Stream | null, part: string | undefined): number {
  if (!stream || !tap) return -1;
  const exact = stream.points.findIndex((point) => point.step === tap || point.added === tap);
  return exact >= 0 ? exact : stream.points.findIndex((point) => point.part === part && point.layer !== null);
}

export interface Asked {
  place: number;
  candidate: number;
  next: number; // the best other candidate
}

export const asked = computed<Asked | null>(() => {
  const [said, of] = [readout.value, run.value];
  if (!said || !of) return null;
  const place = placeOf(settled.value, said);
  const candidate = candidateOf(settled.value, said);
  const others = largest(logitsAt(of.pass.values(said.step), said, place), 2);
  return { place, candidate, next: others.find((id) => id !== candidate) ?? candidate };
});

export const contributions = computed<Contributions | null>(() => {
  const [of, out, said, question] = [run.value, output.value, readout.value, asked.value];
  if (!of || !out || !said || !question || !engineOf(of)) return null;
  const against = againstNext.value && question.next !== question.candidate ? question.next : null;
  return contributionsTo(sightOf(of), out.stream, said, { place: question.place, candidate: question.candidate, against });
});

/** Each attention's part by head and piece, by the step that it adds. */
export const splits = computed<Map<string, Split>>(() => {
  const [of, found] = [run.value, contributions.value];
  const all = new Map<string, Split>();
  if (!of || !found) return all;
  for (const part of found.parts) {
    const weights = found.weights.get(part.step);
    if (part.layer === null || !weights || !part.what.includes("attention")) continue;
    const split = splitByHead(sightOf(of), part.step, weights);
    if (split) all.set(part.step, split);
  }
  return all;
});

/** The part that is looked into: that of the selected step, or the sub-layer that adds most. */
export const openPart = computed(() => {
  const [found, out] = [contributions.value, output.value];
  if (!found || !out) return null;
  const tap = settled.value.tap;
  const part = run.value ? sightOf(run.value).steps.get(tap)?.part : undefined;
  const at = pointOf(tap, out.stream, part);
  const sublayers = found.parts.filter((one) => one.layer !== null);
  const point = out.stream.points[at];
  const chosen = point ? sublayers.find((one) => one.layer === point.layer && one.what === point.what) : undefined;
  return chosen ?? sublayers.reduce((best, one) => (Math.abs(one.value) > Math.abs(best.value) ? one : best), sublayers[0]!) ?? null;
});

export const neurons = computed<Neurons | null>(() => {
  const [of, part] = [run.value, openPart.value];
  const weights = part && contributions.value?.weights.get(part.step);
  return of && weights && !part.what.includes("attention") ? topNeurons(sightOf(of), part.step, weights, NEURONS) : null;
});
