// The choice that is looked at: the logits of the selected place, and what a sampler leaves of them.

import { computed, signal } from "@preact/signals";
import { logitsAt, logTotal, type Readout } from "../analysis/readout";
import { ordered, sample, smoothed, type Allowed, type Sampler } from "../analysis/samplers";
import type { Run } from "../engine/header";
import { place, readout, readoutA } from "./inside";
import { picked } from "./selection";
import { header, mode, run, runA, stepNamed } from "./store";

export const PLAIN: Sampler = { temperature: 1, topK: 0, topP: 1 };
export const sampler = signal<Sampler>(PLAIN);

export const logits = computed<Float32Array | null>(() => {
  const [said, of] = [readout.value, run.value];
  return said && of ? logitsAt(of.pass.values(said.step), said, place.value) : null;
});

/** log P of each candidate at this place in A, while B or the difference is shown. */
export const inA = computed<Float32Array | null>(() => {
  const [a, said] = [runA.value, readoutA.value];
  const b = run.value;
  if (mode.value === "A" || !a || !b || !said || b === a || place.value >= said.places || !readSame(a, b, said, place.value)) return null;
  const values = logitsAt(a.pass.values(said.step), said, place.value);
  const total = logTotal(values);
  return values.map((value) => value - total);
});

/** Whether the pieces that the output's row stands for, and all before it, are the same: only then it is the same choice. */
export function readSame(a: Run, b: Run, said: Readout, at: number): boolean {
  const rows = stepNamed(said.step)?.shape.at(-2);
  if (typeof rows !== "string") return true;
  const upTo = (of: Run): string => (of.ids[rows] ?? []).slice(0, said.across === "row" ? at + 1 : undefined).join();
  return upTo(a) === upTo(b);
}

const orders = new WeakMap<Run, Map<number, Uint32Array>>();

/** All candidates of the place, most likely first: sorted once. */
export const order = computed<Uint32Array>(() => {
  const [values, of] = [logits.value, run.value];
  if (!values || !of) return new Uint32Array();
  const known = orders.get(of) ?? new Map<number, Uint32Array>();
  orders.set(of, known);
  const found = known.get(place.value) ?? ordered(values);
  known.set(place.value, found);
  return found;
});

export const allowed = computed<Allowed | null>(() => (logits.value ? sample(logits.value, sampler.value, order.value) : null));

/** Whether the model writes piece by piece, so that a piece can be sampled. */
export const writes = computed(() => readout.value?.kind === "next" && header.value?.decoding !== undefined);

/** The most that label smoothing asks; null where training did not use it. */
export const bounds = computed(() => {
  const smoothing = writes.value ? header.value?.decoding?.smoothing : undefined;
  return smoothing && readout.value ? { smoothing, ...smoothed(smoothing, readout.value.candidates) } : null;
});

/** The selected candidate: that of the selected logit, or what was said. */
export const candidate = computed(() => {
  const said = readout.value;
  if (!said) return 0;
  const onLogit = picked.tap.value === said.step && said.across === "row" && picked.row.value === place.value;
  return onLogit && picked.column.value < said.candidates ? picked.column.value : said.chosen[place.value]!;
});

/** The position in the answer that a place writes; null where it writes none. */
export function positionOf(at: number): number | null {
  const said = readout.value;
  if (!said || !writes.value || !said.answer.includes(at)) return null;
  return at - said.answer[0]!;
}
