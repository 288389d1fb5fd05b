// What the view of all heads knows of each: its tags at once or soon, its worth as it is measured.

import { computed, signal } from "@preact/signals";
import { breather, Cancelled } from "../analysis/breathe";
import { verdictOf, type HeadPlace, type Worth as Found } from "../analysis/knockouts";
import { tagsOf, type HeadTags, type Pattern } from "../analysis/tags";
import type { Run } from "../engine/header";
import type { Attention } from "./anatomy";
import { placeOf, readout } from "./inside";
import { picked } from "./selection";
import { attentions, run } from "./store";
import { heads, worths, type Worth } from "./worth";

export const forPiece = signal(false); // whether worth is of the selected piece alone
const known = new WeakMap<Run, Map<string, HeadTags>>();
const version = signal(0);

export const keyAt = (at: Pick<HeadPlace, "z" | "head">): string => `${at.z}#${at.head}`;

/** Places in two texts are not compared: there is no "same position" in another language. */
export function tagsBetween(one: Pick<Attention, "queries" | "keys">, pattern: Pattern): HeadTags {
  const found = tagsOf(pattern);
  return one.queries === one.keys ? found : { ...found, looks: { ...found.looks, distance: null } };
}

function tagsAt(of: Run, one: Attention, head: number): HeadTags {
  const { data, shape } = of.pass.values(one.pattern.name);
  const [queries, keys] = shape.slice(-2) as [number, number];
  return tagsBetween(one, { data, offset: shape.length > 2 ? head * queries * keys : 0, queries, keys });
}

/** The tags of all heads of the shown run, filled by `followTags`. */
export const tags = computed<ReadonlyMap<string, HeadTags>>(() => {
  return version.value >= 0 ? new Map(run.value ? known.get(run.value) : []) : new Map();
});

export async function fillTags(of: Run, cancelled: AbortSignal): Promise<void> {
  const found = known.get(of) ?? new Map<string, HeadTags>();
  known.set(of, found);
  const breathe = breather(cancelled);
  try {
    for (const one of attentions.peek()) {
      for (let head = 0; head < one.heads; head++) {
        const key = keyAt({ z: one.z?.name ?? "", head });
        if (!found.has(key)) found.set(key, tagsAt(of, one, head));
        await breathe();
      }
      version.value++;
    }
  } catch (error) {
    if (!(error instanceof Cancelled)) throw error;
  }
}

/** What is counted of a head's worth: for the answer, or for the selected piece. */
export const counted = computed<(worth: Worth) => number>(() => {
  const said = readout.value;
  if (!forPiece.value || !said) return (worth) => worth.loss;
  const at = placeOf({ step: picked.step.value }, said);
  return (worth) => worth.places[at] ?? worth.loss;
});

export interface Ranked {
  place: HeadPlace;
  loss: number;
  tags: HeadTags | undefined;
}

/** All measured heads, the most valuable first. */
export const ranking = computed<Ranked[]>(() => {
  const value = counted.value;
  const all = heads.value.flatMap((at) => {
    const worth = worths.value.get(keyAt(at));
    return worth ? [{ place: at, loss: value(worth), tags: tags.value.get(keyAt(at)) }] : [];
  });
  return all.sort((one, other) => other.loss - one.loss);
});

/** What the measured heads say as a whole; null until all are measured. */
export const verdict = computed(() => {
  if (!ranking.value.length || ranking.value.length < heads.value.length) return null;
  const gone = run.value?.patches ?? []; // heads that this run lacks already cost nothing more
  const there = ranking.value.filter(({ place: at }) => !gone.some((patch) => patch.step === at.z && (patch.head ?? at.head) === at.head));
  const found = there.map(({ place: at, loss }): Found => ({ place: at, losses: [], total: loss }));
  return verdictOf(found, (at) => tags.value.get(keyAt(at)) ?? null, (worth) => worth.total);
});

/** The selected head, where this view can show one. */
export const chosenHead = computed<HeadPlace | null>(() => {
  const all = heads.value;
  const [stack, kind, layer, head] = [picked.stack.value, picked.kind.value, picked.layer.value, picked.head.value];
  const same = all.filter((one) => one.stack === stack && one.kind === kind);
  const inLayer = same.filter((one) => one.layer === layer);
  const near = inLayer.length ? inLayer : same.length ? same : all;
  return near.find((one) => one.head === head) ?? near.at(-1) ?? null;
});

export const chosenAttention = computed<Attention | null>(() => attentions.value.find((one) => one.id === chosenHead.value?.part) ?? null);

