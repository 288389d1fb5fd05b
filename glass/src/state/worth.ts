// What a head is worth: how much less probable the model's own answer becomes without it.

import { batch, computed, signal } from "@preact/signals";
import type { Patch, Run, Source } from "../engine/header";
import type { Attention } from "./anatomy";
import { header, program, runA, source, stepNamed } from "./store";

/** One choice of the model: the row of its output and the token or class that it chose. */
export interface Chosen {
  row: number;
  id: number;
}

function largestAt(values: Float32Array): number {
  return values.reduce((best, value, i) => (value > values[best]! ? i : best), 0);
}

/** How many rows the output has. */
export function outputRows(run: Run): number {
  const name = Object.values(program.value?.outputs ?? {})[0] ?? "";
  return run.pass.has(name) ? (run.pass.values(name).shape.at(-2) ?? 1) : 0;
}

/** What the model chose, at each row where it chose something. Models without probabilities chose nothing. */
export function choicesOf(run: Run): Chosen[] {
  const head = header.value?.task.head;
  if (head === "vector" || head === "span" || !program.value?.outputs.logits) return [];
  const rows = outputRows(run);
  if (run.written) {
    const from = Math.max(0, rows - run.written.ids.length);
    return run.written.ids.map((id, i) => ({ row: from + i, id })).filter((one) => one.row < rows);
  }
  return Array.from({ length: head === "class" ? 1 : rows }, (_, row) => ({ row, id: largestAt(run.logProbs(row)) }));
}

/** log P of these choices, in nats. */
export function logProbOf(run: Run, choices: readonly Chosen[]): number {
  return choices.reduce((sum, { row, id }) => sum + (run.logProbs(row)[id] ?? 0), 0);
}

/** The patch that removes a head: its mixture becomes the mean over the positions. */
export function withoutHead(one: Attention, head: number): Patch | null {
  if (!one.z) return null;
  return one.heads > 1 || stepNamed(one.z.name)?.axes[0] === "head" ? { step: one.z.name, how: "mean", head } : { step: one.z.name, how: "mean" };
}

export interface Worth {
  loss: number; // log P of the answer with all heads, minus that without this one, in nats
  rows: number[]; // the same for each choice
}

type Known = ReadonlyMap<string, Worth>;
const known = signal<{ run: Run | null; worths: Known }>({ run: null, worths: new Map() });

export function keyOf(one: Attention, head: number): string {
  return `${one.z?.name ?? ""}#${head}`;
}

/** What is known so far about run A. */
export const worths = computed<Known>(() => (known.value.run === runA.value ? known.value.worths : new Map()));

const asked = new Set<string>();

async function measure(from: Source, a: Run, one: Attention, head: number): Promise<Worth | null> {
  const patch = withoutHead(one, head);
  const choices = choicesOf(a);
  if (!patch || !choices.length) return null;
  const b = await from.run(a.text, { patches: [patch], target: a.written?.ids });
  const rows = choices.map(({ row, id }) => a.logProbs(row)[id]! - b.logProbs(row)[id]!);
  return { loss: rows.reduce((sum, loss) => sum + loss, 0), rows };
}

/** Measures the given heads one after the other, and lets the page draw in between. */
export async function askWorths(list: readonly (readonly [Attention, number])[]): Promise<void> {
  const [from, a] = [source.peek(), runA.peek()];
  if (!from?.live || !a) return;
  if (known.peek().run !== a) {
    asked.clear();
    known.value = { run: a, worths: new Map() };
  }
  for (const [one, head] of list) {
    const key = keyOf(one, head);
    if (asked.has(key)) continue;
    asked.add(key);
    await new Promise((done) => setTimeout(done, 0));
    const worth = await measure(from, a, one, head).catch(() => null);
    if (runA.peek() !== a) return;
    if (worth) batch(() => { known.value = { run: a, worths: new Map(known.peek().worths).set(key, worth) }; });
  }
}
