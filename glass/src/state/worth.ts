// What a head is worth: how much less probable the model's own answer becomes without it. Measured one head after the
// other, in the background.

import { computed, signal } from "@preact/signals";
import { breather, Cancelled } from "../analysis/breathe";
import { headsOf, removeEach, type HeadPlace, type Removal, type Worth as Found } from "../analysis/knockouts";
import { logProbsOf } from "../analysis/readout";
import type { Patch, Run, Tensor } from "../engine/header";
import { ForwardPass, stepsOf } from "../engine/run";
import type { Attention } from "./anatomy";
import { readoutFor } from "./inside";
import { attentions, header, program, run, source, stepNamed } from "./store";

/** One choice of the model: the row of its output and the token or class that it chose. */
export interface Chosen {
  row: number;
  id: number;
}

/** What the model chose, at each place of its answer. Models without probabilities chose nothing. */
export function choicesOf(of: Run): Chosen[] {
  const said = readoutFor(of);
  return said ? said.answer.map((row) => ({ row, id: said.chosen[row]! })) : [];
}

/** log P of the whole answer, in nats. */
export function logProbOf(of: Run): number {
  const said = readoutFor(of);
  if (!said) return 0;
  const all = logProbsOf(of.pass.values(said.step), said);
  return said.answer.reduce((sum, place) => sum + all[place]!, 0);
}

/** The patch that removes a head: its mixture becomes its mean over the positions, or 0 where the reader chose that. */
export function withoutHead(one: Attention, head: number, how: Removal = removal.value): Patch | null {
  if (!one.z) return null;
  return stepNamed(one.z.name)?.axes[0] === "head" ? { step: one.z.name, how, head } : { step: one.z.name, how };
}

export interface Worth {
  loss: number; // log P of the answer with all heads, minus that without this one, in nats
  rows: number[]; // the same for each place of the answer
  places: number[]; // the same for each place of the output
}

type Known = ReadonlyMap<string, Worth>;

interface Measured {
  worths: Map<string, Worth>;
  version: { value: number };
}

/** How heads are removed: everywhere on the page. */
export const removal = signal<Removal>("mean");
export const stopped = signal(false); // by the reader
const results = new WeakMap<Run, Partial<Record<Removal, Measured>>>();

function measuredOf(of: Run, how: Removal): Measured {
  const both = results.get(of) ?? {};
  results.set(of, both);
  return (both[how] ??= { worths: new Map(), version: signal(0) });
}

export function keyOf(one: Pick<Attention, "z">, head: number): string {
  return `${one.z?.name ?? ""}#${head}`;
}

/** What is known so far about the shown run. */
export const worths = computed<Known>(() => {
  if (!run.value) return new Map();
  const { worths: known, version } = measuredOf(run.value, removal.value);
  return version.value >= 0 ? new Map(known) : known;
});

/** The heads that can be removed. */
export const heads = computed(() => headsOf(attentions.value));

/** The steps that lead to the output, in their order. */
function leadingTo(step: string): string[] {
  const needed = new Set([step]);
  const all = program.peek()!.steps;
  for (const one of [...all].reverse()) if (needed.has(one.name)) for (const name of one.inputs) needed.add(name);
  return all.filter((one) => needed.has(one.name)).map((one) => one.name);
}

/** How similar two vectors are: what is measured where nothing is said in words or classes. */
function cosine(one: Tensor, other: Tensor): number {
  let [product, first, second] = [0, 0, 0];
  for (let i = 0; i < one.data.length; i++) {
    product += one.data[i]! * other.data[i]!;
    first += one.data[i]! ** 2;
    second += other.data[i]! ** 2;
  }
  return product / (Math.sqrt(first * second) || 1);
}

/** What is read of the output: log P of what was chosen, how far the vector turned, or the number moved. */
export function measureOf(of: Run): { step: string; answer: number[]; read(output: Tensor): number[]; before: number[] } | null {
  const said = readoutFor(of);
  const step = said?.step ?? Object.values(program.peek()?.outputs ?? {})[0];
  if (!step) return null;
  const now = of.pass.values(step);
  const spread = header.peek()?.task.scale?.[1] ?? 1;
  const without = ofNumber.peek() ? (output: Tensor) => [-Math.abs(spread * (output.data[0]! - now.data[0]!))] : (output: Tensor) => [cosine(now, output)];
  const read = said ? (output: Tensor) => logProbsOf(output, said) : without;
  return { step, answer: said?.answer ?? [0], read, before: read(now) };
}

let working: AbortController | null = null;

/** Measures the given heads of the shown run, and lets the page draw in between. A new call ends the one before. */
export async function askWorths(list: readonly (readonly [Attention, number])[]): Promise<void> {
  const places = list.flatMap(([one, head]) => headsOf([one]).filter((place) => place.head === head));
  await measure(places);
}

export async function measure(places: readonly HeadPlace[]): Promise<void> {
  working?.abort();
  const [of, how] = [run.peek(), removal.peek()];
  if (!of || !source.peek()?.live || !(of.pass instanceof ForwardPass)) return;
  const { pass } = of;
  const asked = measureOf(of);
  const known = measuredOf(of, how);
  const open = places.filter((place) => !known.worths.has(`${place.z}#${place.head}`));
  if (!asked || !open.length) return;
  working = new AbortController();
  let drawn = performance.now();
  const found = ({ place, losses }: Found): void => {
    const rows = asked.answer.map((at) => losses[at]!);
    known.worths.set(`${place.z}#${place.head}`, { loss: rows.reduce((sum, loss) => sum + loss, 0), rows, places: losses });
    if (performance.now() - drawn < 100 && place !== open.at(-1)) return;
    known.version.value++;
    drawn = performance.now();
  };
  const repeat = { with: (patches: readonly Patch[]) => pass.with([...of.patches, ...patches]) };
  const steps = leadingTo(asked.step);
  const byHead = (place: HeadPlace): boolean => stepsOf(pass.engine.program).get(place.z)?.axes[0] === "head";
  try {
    await removeEach(open, { how, pass: repeat, steps, read: asked.read, before: asked.before, breathe: breather(working.signal), found, byHead });
  } catch (error) {
    if (!(error instanceof Cancelled)) throw error;
  } finally {
    known.version.value++;
  }
}

export function stopMeasuring(): void {
  working?.abort();
}

/** Whether losses are changes of a number. */
export const ofNumber = computed(() => header.value?.task.head === "number");

/** Whether losses are of a vector's direction and not of log-probabilities. */
export const ofVector = computed(() => header.value?.task.head === "vector" || ofNumber.value || !program.value?.outputs.logits);
