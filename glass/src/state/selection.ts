// The one selection that drives all views. It is in the address after '#', so a link or a reload shows the same thing.

import { computed, signal, type ReadonlySignal } from "@preact/signals";

export const VIEWS = ["whole", "pieces", "head", "heads", "stream", "choice", "proof"] as const;
export type View = (typeof VIEWS)[number];

export interface Selection {
  view: View;
  stack: string; // "encoder", "decoder"; "" in models with one stack
  kind: string; // of the attention: "self_attention", "cross_attention", "attention"
  layer: number; // from 0
  head: number; // from 0
  query: number; // the row that reads
  key: number; // the column that is read
  tap: string; // the step whose number is selected
  row: number; // in the last two axes of that step
  column: number;
  step: number; // position of the output
  node: number; // of the search tree
}

export const START: Selection = {
  view: "whole", stack: "", kind: "", layer: 0, head: 0, query: 0, key: 0, tap: "", row: 0, column: 0, step: 0, node: 0,
};

export const selection = signal<Selection>(START);

/** Changes some fields. Nothing happens where all of them are as they were. */
export function select(change: Partial<Selection>): void {
  const before = selection.peek();
  const same = (Object.keys(change) as (keyof Selection)[]).every((key) => before[key] === change[key]);
  if (!same) selection.value = { ...before, ...change };
}

const FIELDS = Object.keys(START) as (keyof Selection)[];

/** One field as a signal of its own: who reads it is not disturbed by changes of the others. */
export const picked = Object.fromEntries(FIELDS.map((key) => [key, computed(() => selection.value[key])])) as {
  [K in keyof Selection]: ReadonlySignal<Selection[K]>;
};

/** What the address says besides the selection: texts and changes, as the store has them. */
export type Extra = Record<string, string>;

export function toHash(chosen: Selection, extra: Extra): string {
  const pairs = new URLSearchParams();
  for (const key of FIELDS) if (key !== "view" && chosen[key] !== START[key]) pairs.set(key, String(chosen[key]));
  for (const [key, value] of Object.entries(extra)) if (value) pairs.set(key, value);
  const rest = pairs.toString();
  return `#${chosen.view}${rest ? `?${rest}` : ""}`;
}

/** Reads an address. An address with a selection says everything: what it leaves out, and what cannot be understood, has
 * its starting value. */
export function fromHash(hash: string): { chosen: Partial<Selection>; extra: Extra } {
  const [view = "", rest = ""] = hash.replace(/^#/, "").split(/\?(.*)/s);
  const chosen: Partial<Selection> = {};
  const extra: Extra = {};
  for (const [key, value] of new URLSearchParams(rest)) {
    if (key === "view") continue;
    if (!Object.hasOwn(START, key)) extra[key] = value;
    else if (typeof START[key as keyof Selection] === "string") Object.assign(chosen, { [key]: value });
    else if (/^\d{1,9}$/.test(value)) Object.assign(chosen, { [key]: Number(value) });
  }
  const known = (VIEWS as readonly string[]).includes(view) ? { view: view as View } : {};
  const { view: _, ...unsaid } = START;
  return { chosen: { ...(rest && known.view ? unsaid : {}), ...chosen, ...known }, extra };
}
