// The state of the page: the source of numbers, the two runs that are compared, and which of them is shown.

import { batch, computed, signal } from "@preact/signals";
import type { Checks, Patch, Program, Reckoning, Run, Source, Step, Tensor } from "../engine/header";
import { placeOf } from "../engine/tensor";
import { attentionsOf, placesOf, stepsByName, type Attention } from "./anatomy";
import { picked, select, selection } from "./selection";
import { whyNoDifference } from "./whatif";

export type Mode = "A" | "B" | "B-A";

/** What makes B differ from A. */
export interface WhatIf {
  text: string | null; // null: A's text
  patches: Patch[];
  forced: Record<number, number>; // output position -> token
  pruned: number[][]; // beginnings of answers that the search does not follow
  keep: boolean; // B is given A's output, so that all numbers can be subtracted; false: B writes its own
}

export const UNCHANGED: WhatIf = { text: null, patches: [], forced: {}, pruned: [], keep: false };

export const source = signal<Source | null>(null);
export const runA = signal<Run | null>(null);
export const runB = signal<Run | null>(null);
export const mode = signal<Mode>("A");
export const whatIf = signal<WhatIf>(UNCHANGED);
/** Takes one number apart into its sum. */
export type Reckoner = (run: Run, step: string, index: number[]) => Reckoning;
export const reckoner = signal<Reckoner | null>(null);
export const checks = signal<Checks | null>(null);
export const checkedText = signal(""); // the recorded text that they are of
export const busy = signal("");
export const trouble = signal("");

/** The tokens that an output is made of, or the classes, by id, as a reader sees them. */
export const vocabulary = signal<readonly string[]>([]);

export function vocabularyText(id: number): string {
  return vocabulary.value[id] ?? `#${id}`;
}

export const header = computed(() => source.value?.header ?? null);
export const program = computed<Program | null>(() => header.value?.program ?? null);
export const places = computed(() => (program.value ? placesOf(program.value) : []));
export const attentions = computed(() => (program.value ? attentionsOf(program.value) : []));
const byName = computed(() => (program.value ? stepsByName(program.value) : new Map<string, Step>()));

export function stepNamed(name: string): Step | undefined {
  return byName.value.get(name);
}

/** The run whose pieces label the page. */
export const run = computed(() => (mode.value === "A" ? runA.value : (runB.value ?? runA.value)));

/** Which numbers are shown. Where A and B have different lengths no piece has its counterpart: then B, although B - A was asked for. */
export const showing = computed<Mode>(() => {
  const [a, b, asked] = [runA.value, runB.value, mode.value];
  return asked === "B-A" && (!a || !b || whyNoDifference(a, b)) ? "B" : asked;
});

export const changed = computed(() => isChanged(whatIf.value));

export function isChanged(one: WhatIf): boolean {
  return one.text !== null || one.patches.length > 0 || Object.keys(one.forced).length > 0 || one.pruned.length > 0;
}

export interface Shown extends Tensor {
  which: Mode;
  signed: boolean; // whether zero is in the middle of the scale
}

function sameShape(one: Tensor, other: Tensor): boolean {
  return one.shape.length === other.shape.length && one.shape.every((size, axis) => size === other.shape[axis]);
}

const differences = new WeakMap<Run, WeakMap<Run, Map<string, Tensor>>>();

function difference(a: Run, b: Run, name: string): Tensor | null {
  const ofB = differences.get(b) ?? new WeakMap<Run, Map<string, Tensor>>();
  differences.set(b, ofB);
  const known = ofB.get(a) ?? new Map<string, Tensor>();
  ofB.set(a, known);
  const done = known.get(name);
  if (done) return done;
  const [before, after] = [a.pass.values(name), b.pass.values(name)];
  if (!sameShape(before, after)) return null;
  const data = after.data.map((value, i) => (value === before.data[i] ? 0 : value - before.data[i]!));
  const result = { data, shape: after.shape };
  known.set(name, result);
  return result;
}

/** A step's values in A, in B, or B - A. */
export function tensorShown(name: string): Shown | null {
  const [a, b, how] = [runA.value, runB.value, showing.value];
  const signed = !isShare(name);
  const chosen = how === "A" ? a : b;
  if (!chosen || !chosen.pass.has(name)) return null;
  if (how === "B-A" && a?.pass.has(name)) {
    const minus = difference(a, chosen, name);
    if (minus) return { ...minus, which: "B-A", signed: true };
  }
  return { ...chosen.pass.values(name), which: how === "A" ? "A" : "B", signed };
}

/** Whether a step's values are shares between 0 and 1. */
export function isShare(name: string): boolean {
  const op = stepNamed(name)?.op;
  return op === "softmax";
}

// --- What is selected ----------------------------------------------------------------------------------------------

/** The attention of the selected stack, kind and layer; the nearest one there is. */
export const attention = computed<Attention | null>(() => {
  const [stack, kind, layer] = [picked.stack.value, picked.kind.value, picked.layer.value];
  const all = attentions.value;
  const same = all.filter((one) => one.stack === stack && one.kind === kind);
  return same.find((one) => one.layer === layer) ?? same.at(-1) ?? all.at(-1) ?? null;
});

/** Selects a number of a step by its full index, and with it the head, row and position that belong to it. */
export function selectNumber(name: string, index: readonly number[]): void {
  const step = stepNamed(name);
  if (!step) return;
  const [row = 0, column = 0] = index.length > 1 ? index.slice(-2) : [0, index[0]];
  const change: Parameters<typeof select>[0] = { tap: name, row, column };
  if (step.axes[0] === "head" && index.length > 2) change.head = index[0];
  const read = attentions.value.find((one) => one.lines.includes(step));
  if (read) Object.assign(change, { stack: read.stack, kind: read.kind, layer: read.layer, query: row, key: column });
  if (isOutputRow(step)) change.step = row;
  select(change);
}

/** Whether the rows of a step are positions of the output. */
export function isOutputRow(step: Step): boolean {
  const rows = step.shape.length > 1 ? step.shape.at(-2) : undefined;
  const output = stepNamed(Object.values(program.value?.outputs ?? {})[0] ?? "");
  return typeof rows === "string" && rows === output?.shape.at(-2);
}

/** The selected number: its step and full index. */
export const focus = computed<{ step: Step; index: number[] } | null>(() => {
  const chosen = selection.value;
  const step = stepNamed(chosen.tap) ?? attention.value?.pattern;
  const tensor = step && run.value?.pass.has(step.name) ? run.value.pass.values(step.name) : null;
  if (!step || !tensor) return null;
  const [row, column] = chosen.tap ? [chosen.row, chosen.column] : [chosen.query, chosen.key];
  const wanted = [...(step.axes[0] === "head" ? [chosen.head] : []), row, column].slice(-tensor.shape.length);
  while (wanted.length < tensor.shape.length) wanted.unshift(0);
  return { step, index: wanted.map((at, axis) => Math.max(0, Math.min(at, tensor.shape[axis]! - 1))) };
});

export interface Both {
  before: number;
  after: number;
}

/** Whether a place of a step is of other pieces in A than in B: those it reads, or the one that its row writes. */
export function otherPieces(step: Step, index: readonly number[]): boolean {
  const [a, b] = [runA.value, runB.value];
  if (!a || !b) return false;
  const reads = step.shape.some((size, axis) => typeof size === "string" && a.ids[size]?.[index[axis]!] !== b.ids[size]?.[index[axis]!]);
  const row = index.at(-2) ?? 0;
  return reads || (isOutputRow(step) && a.written?.ids[row] !== b.written?.ids[row]);
}

/** The selected number in A and in B; null where it is of other pieces in A, or while only A is shown. */
export const both = computed<Both | null>(() => {
  const [at, a, b] = [focus.value, runA.value, runB.value];
  if (!at || !a || !b || mode.value === "A" || whyNoDifference(a, b) || otherPieces(at.step, at.index)) return null;
  const [before, after] = [a, b].map((of) => of.pass.values(at.step.name)) as [Tensor, Tensor];
  return sameShape(before, after) ? { before: before.data[placeOf(before.shape, at.index)]!, after: after.data[placeOf(after.shape, at.index)]! } : null;
});

// --- Asking the model ----------------------------------------------------------------------------------------------

/** Questions of one kind, of which only the latest counts: what comes of earlier ones is dropped. */
class Latest {
  private last = 0;

  constructor(private readonly what: "A" | "B") {}

  /** The answer; null if there is none, or if another question came after it. `failed` is called if the latest fails. */
  async ask<T>(work: () => Promise<T>, failed?: () => void): Promise<T | null> {
    const mine = ++this.last;
    busy.value = this.what;
    trouble.value = "";
    try {
      const found = await work();
      return mine === this.last ? found : null;
    } catch (error) {
      if (mine !== this.last) return null;
      trouble.value = error instanceof Error ? error.message : String(error);
      failed?.();
      return null;
    } finally {
      if (mine === this.last && busy.peek() === this.what) busy.value = "";
    }
  }

  /** Drops what is still being computed. */
  cancel(): void {
    this.last++;
    if (busy.peek() === this.what) busy.value = "";
  }
}

const [ofA, ofB] = [new Latest("A"), new Latest("B")];

/** Another sentence for A. */
export async function ask(text: string): Promise<void> {
  const from = source.value;
  if (!from) return;
  const recorded = from.header.traces.findIndex((trace) => trace.text === text);
  const found = await ofA.ask(recorded >= 0 ? async () => from.recorded(recorded) : () => from.run(text));
  if (!found) return;
  const shown = mode.peek();
  batch(() => { runA.value = found; withoutB(); });
  if (changed.peek()) await compare(whatIf.peek(), shown === "A" ? "B" : shown);
}

/** A alone: B was made from another sentence or by other changes. */
function withoutB(): void {
  ofB.cancel();
  batch(() => { runB.value = null; mode.value = "A"; });
}

/** The ids of A's output, which B is given where it keeps them; forced ones are put in their places. */
function given(a: Run, change: WhatIf): number[] | undefined {
  const sameText = change.text === null || change.text === a.text;
  return change.keep && sameText && !change.pruned.length ? a.written?.ids.map((id, at) => change.forced[at] ?? id) : undefined;
}

/** Computes B, and shows it unless something of it is shown already. */
export async function compare(change: WhatIf, show: Mode = mode.peek() === "A" ? "B" : mode.peek()): Promise<void> {
  const [from, a] = [source.value, runA.value];
  whatIf.value = change;
  if (!from || !a || !isChanged(change)) {
    withoutB();
    return;
  }
  const target = given(a, change);
  const width = from.header.decoding?.search_beam; // as wide as the tree that is shown
  const options = { patches: change.patches, forced: change.forced, pruned: change.pruned, target, ...(change.pruned.length && width && { beam: width }) };
  const found = await ofB.ask(() => from.run(change.text ?? a.text, options), withoutB);
  if (found) batch(() => { runB.value = found; mode.value = show; });
}

/** Whether two patches change the same numbers, in whatever way. */
export function samePatch(one: Patch, other: Patch): boolean {
  return one.step === other.step && one.head === other.head && one.row === other.row && one.column === other.column;
}

export function addPatch(...patches: Patch[]): Promise<void> {
  const kept = whatIf.value.patches.filter((old) => !patches.some((patch) => samePatch(patch, old)));
  return compare({ ...whatIf.value, patches: [...kept, ...patches] });
}

export function removePatch(...patches: Patch[]): Promise<void> {
  const kept = whatIf.value.patches.filter((old) => !patches.some((patch) => samePatch(patch, old)));
  return compare({ ...whatIf.value, patches: kept });
}

export function hasPatch(patch: Patch): boolean {
  return whatIf.value.patches.some((old) => samePatch(old, patch));
}

/** The search for B's answer does not follow a beginning any more. */
export function prune(ids: number[]): Promise<void> {
  return compare({ ...whatIf.value, pruned: [...whatIf.value.pruned, ids] });
}

export function force(position: number, token: number | null): Promise<void> {
  const forced = { ...whatIf.value.forced };
  if (token === null) delete forced[position];
  else forced[position] = token;
  return compare({ ...whatIf.value, forced });
}
