// What each head is worth: the answer's log-probability, minus the same with this one head removed.

import type { Patch, Tensor } from "../engine/header";
import type { Breathe } from "./breathe";
import { sum } from "./graph";
import type { HeadTags } from "./tags";

/** One head, and the step that holds what it mixed. */
export interface HeadPlace {
  part: string;
  stack: string;
  kind: string;
  layer: number; // from 0
  head: number; // from 0
  z: string;
}

/** mean: its result is replaced by the mean over all positions; zero: by nothing. */
export type Removal = "mean" | "zero";

export interface Worth {
  place: HeadPlace;
  losses: number[]; // by place of the output: log P with the head minus log P without it
  total: number;
}

interface Readable {
  id: string;
  stack: string;
  kind: string;
  layer: number;
  heads: number;
  z?: { name: string } | undefined;
}

/** All heads of some attentions, in their order. */
export function headsOf(attentions: readonly Readable[]): HeadPlace[] {
  const places: HeadPlace[] = [];
  for (const { id, stack, kind, layer, heads, z } of attentions) {
    if (!z) continue;
    for (let head = 0; head < heads; head++) places.push({ part: id, stack, kind, layer, head, z: z.name });
  }
  return places;
}

/** Where a mixture has no axis of heads, all of it is removed. */
export function patchOf(place: HeadPlace, how: Removal, byHead = true): Patch {
  return byHead ? { step: place.z, how, head: place.head } : { step: place.z, how };
}

/** A pass that can be repeated with patches: what they do not change is not computed again. */
export interface Repeatable {
  with(patches: readonly Patch[]): { values(name: string): Tensor };
}

/** Removes one head after the other. Reports each as soon as it is known. */
export async function removeEach(
  places: readonly HeadPlace[],
  options: {
    how: Removal;
    pass: Repeatable;
    steps: readonly string[]; // in the order in which they can be computed, the output last
    read: (output: Tensor) => number[]; // log P of what was chosen, at each place
    before: number[];
    breathe: Breathe;
    found: (worth: Worth) => void;
    byHead?: (place: HeadPlace) => boolean; // whether the mixture has an axis of heads
  },
): Promise<void> {
  for (const place of places) {
    const pass = options.pass.with([patchOf(place, options.how, options.byHead?.(place))]);
    let output: Tensor | null = null;
    for (const step of options.steps) {
      output = pass.values(step);
      await options.breathe();
    }
    const after = options.read(output!);
    const losses = options.before.map((value, i) => value - after[i]!);
    options.found({ place, losses, total: sum(losses) });
  }
}

/** What the losses say as a whole, for the sentence above them. */
export interface Verdict {
  count: number;
  most: Worth | null;
  idle: number; // heads whose removal costs at most `little`
  little: number;
  sharpIdle: { worth: Worth; tags: HeadTags } | null; // the sharpest head that does next to nothing
  harmful: Worth | null; // without it the answer is more probable
}

const SHARP = 0.6; // the same bound as "one piece" in what a head looks at

/** Next to nothing: a twentieth of what the most important head is worth, and at most a tenth of a nat. */
export function verdictOf(worths: readonly Worth[], tags: (place: HeadPlace) => HeadTags | null, value: (worth: Worth) => number): Verdict {
  const sorted = [...worths].sort((one, other) => value(other) - value(one));
  const most = sorted[0] ?? null;
  const little = Math.min(0.1, Math.max(0.01, most ? value(most) / 20 : 0));
  const idle = worths.filter((one) => Math.abs(value(one)) <= little);
  let sharpIdle: Verdict["sharpIdle"] = null;
  for (const worth of idle) {
    const found = tags(worth.place);
    if (found && found.sharpness > SHARP && found.sharpness > (sharpIdle?.tags.sharpness ?? 0)) sharpIdle = { worth, tags: found };
  }
  const last = sorted.at(-1);
  return { count: worths.length, most, idle: idle.length, little, sharpIdle, harmful: last && value(last) < -little ? last : null };
}
