// A source of arbitrary numbers with the right shapes, to look at views without an engine. Not part of the page.

import type { Checks, Header, Program, Reckoning, Run, RunOptions, Source, Step, Tensor } from "../engine/header";

const SOURCE = ["▁I", "▁a", "te", "▁an", "▁a", "pp", "le", ".", "‹end›"];
const TARGET = ["‹start›", "Ich", "▁habe", "▁einen", "▁A", "pf", "el", "▁gegessen", "."];
const WRITTEN = [...TARGET.slice(1), "‹end›"];

function noise(seed: number): number {
  const x = Math.sin(seed * 12.9898) * 43758.5453;
  return (x - Math.floor(x)) * 2 - 1;
}

function shapeOf(step: Step, lengths: Record<string, number>): number[] {
  return step.shape.map((size) => (typeof size === "string" ? (lengths[size] ?? 9) : size));
}

function compute(step: Step, get: (name: string) => Tensor, lengths: Record<string, number>, seed: number): Tensor {
  const shape = shapeOf(step, lengths);
  const data = new Float32Array(shape.reduce((a, b) => a * b, 1));
  const first = step.inputs[0]!;
  const columns = shape.at(-1)!;
  if (step.op === "scale") return { shape, data: get(first).data.map((x) => x * Number(step.settings.factor)) };
  if (step.op === "mask") {
    const rows = shape.at(-2)!;
    return { shape, data: get(first).data.map((x, i) => (step.settings.causal && i % columns > Math.floor(i / columns) % rows ? -Infinity : x)) };
  }
  if (step.op !== "softmax") {
    const name = [...step.name].reduce((sum, sign) => sum * 31 + sign.charCodeAt(0), 7) % 9973;
    const spread = step.op === "scores" ? 16 : 1.5;
    return { shape, data: data.map((_, i) => noise(i + name * 97 + seed) * spread * (i % 7 ? 1 : 2)) };
  }
  const given = get(first).data;
  for (let i = 0; i < data.length; i += columns) {
    const row = given.subarray(i, i + columns);
    const top = Math.max(...row);
    const powers = row.map((x) => Math.exp(x - top));
    const sum = powers.reduce((a, b) => a + b, 0);
    powers.forEach((x, j) => { data[i + j] = x / sum; });
  }
  return { shape, data };
}

function fakeRun(program: Program, text: string, options: RunOptions, long: number): Run {
  const many = (pieces: string[]) => (long ? Array.from({ length: long }, (_, i) => pieces[i % pieces.length]!) : pieces);
  const pieces = { source: many(SOURCE), target: many(TARGET), text: many(SOURCE) };
  const lengths = Object.fromEntries(Object.entries(pieces).map(([name, all]) => [name, all.length]));
  const steps = new Map(program.steps.map((step) => [step.name, step]));
  const done = new Map<string, Tensor>();
  const seed = text.length + (options.patches?.length ?? 0) * 0.01;
  const values = (name: string): Tensor => {
    const known = done.get(name) ?? compute(steps.get(name)!, values, lengths, seed);
    done.set(name, known);
    return known;
  };
  const written = { ids: WRITTEN.map((_, i) => i + 5), pieces: many(WRITTEN) };
  const ids = Object.fromEntries(Object.entries(pieces).map(([name, all]) => [name, all.map((_, i) => i)]));
  return {
    trace: options.patches?.length ? undefined : ({ text } as Run["trace"]), text, answer: "Ich habe einen Apfel gegessen.", ids, pieces, words: {}, written, patches: options.patches ?? [],
    pass: { values, has: (name) => steps.has(name) },
    logProbs: (row) => { const x = new Float32Array(100).fill(-5 - (options.patches?.length ?? 0) * 0.05); x[row + 5] = -0.05; return x; },
  };
}

export function fakeSource(program: Program, long = 0): Source {
  const header = {
    format: 1, title: "Demo", kind: program.kind, tier: "live", precision: "float32", settings: {}, program, ops: {}, weights: {},
    task: { verb: "translate", head: "next" }, tokenizers: {}, traces: [], left_out: [], provenance: { version: "0" },
  } as unknown as Header;
  const checks = (): Checks => {
    const steps = program.steps.map((step, i) => ({ step: step.name, error: 10 ** (-7.4 + noise(i) * 0.5), compared: 1000, ok: true }));
    return { ok: true, steps, worst: steps[0]!, compared: 156060, failures: [], rules: [{ name: "rows sum to 1", ok: true, detail: "worst 6e-8" }] };
  };
  return {
    header, live: true, recorded: () => fakeRun(program, "I ate an apple.", {}, long),
    run: async (text, options = {}) => fakeRun(program, text, options, long), verify: checks, origin: () => "recomputed", changed: (run) => run, checked: async () => checks(),
  };
}

export function fakeReckon(run: Run, step: string, index: number[]): Reckoning {
  const { data, shape } = run.pass.values(step);
  const computed = data[index.reduce((place, at, axis) => place * shape[axis]! + at, 0)]!;
  const terms = Array.from({ length: 32 }, (_, i) => ({ name: `q${i + 1} · k${i + 1}`, value: noise(i + computed) * 3 }));
  const groups = [{ how: "sum" as const, label: "32 products q·k, one for each dimension", terms, result: 50.836 }, { how: "sum" as const, label: "divided by √32 = 5.657", terms: [], result: 8.9866 }];
  return { step, index, op: "scores", formula: "q kᵀ", code: "nn/attention.py:74", tap: step, result: computed, computed, recorded: computed, difference: 6e-8, groups };
}
