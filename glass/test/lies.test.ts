// Deliberate bugs: each of them must turn the verified line red.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Checks, Header, Step } from "../src/engine/header";
import { ACTIVATIONS, OPS, type Call, type Op } from "../src/engine/ops";
import { ModelSource, type Parts } from "../src/engine/source";
import { combine, dim, like, rowsOf, tensor, zeros, type Tensor } from "../src/engine/tensor";
import { random } from "./close";
import { fixtures, type Fixture } from "./fixtures";
import { pageOf, toHalf } from "./pages";

const ALL = fixtures();

interface Lie {
  name: string;
  model?: string; // the fixture; transformer if absent
  ops?: Record<string, Op>;
  program?: (step: Step) => Step; // another program than Python's
  page?: (header: Header) => void; // other data
  weights?: (name: string, weight: Tensor) => Tensor;
}

const settings = (call: Call, more: Call["settings"]): Call => ({ ...call, settings: { ...call.settings, ...more } });
const wrong = (op: string, f: (call: Call, right: Op) => Tensor): Record<string, Op> => ({ [op]: (call) => f(call, OPS[op]!) });

/** The first axis rotated by one: head h gets the values of head h + 1. */
function nextHead(x: Tensor): Tensor {
  const size = x.data.length / x.shape[0]!;
  return tensor(Float32Array.from(x.data, (_, i) => x.data[(i + size) % x.data.length]!), x.shape);
}

function transposed(weight: Tensor): Tensor {
  const [rows, columns] = weight.shape as [number, number];
  if (rows !== columns) return weight;
  return tensor(Float32Array.from(weight.data, (_, i) => weight.data[(i % columns) * columns + Math.floor(i / columns)]!), weight.shape);
}

function columnsAddUp(x: Tensor): Tensor {
  const [heads, rows, columns] = x.shape as [number, number, number];
  const sums = new Float64Array(heads * columns);
  const place = (i: number): number => Math.floor(i / (rows * columns)) * columns + (i % columns);
  x.data.forEach((value, i) => (sums[place(i)]! += Math.exp(value)));
  return tensor(x.data.map((value, i) => Math.exp(value) / sums[place(i)]!), x.shape);
}

function largestError(x: Tensor): Tensor {
  return combine(x, tensor([1.0001]), (a, b) => a * b);
}

const half = (value: number): number => {
  const bits = toHalf(value);
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  return (bits >> 15 ? -1 : 1) * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -24 * fraction);
};

const LIES: Lie[] = [
  { name: "queries meet the keys of the next head", ops: wrong("scores", (c, f) => f({ ...c, inputs: [c.inputs[0]!, nextHead(c.inputs[1]!)] })) },
  { name: "heads are joined in another order", ops: wrong("join_heads", (c, f) => f({ ...c, inputs: [nextHead(c.inputs[0]!)] })) },
  { name: "a query sees one key of the future", ops: wrong("mask", (c, f) => f({ ...c, first: c.first + 1 })) },
  { name: "a query does not see itself", ops: wrong("mask", (c, f) => f({ ...c, first: c.first - 1 })) },
  { name: "a transposed weight", ops: wrong("linear", (c, f) => f({ ...c, weights: [transposed(c.weights[0]!), ...c.weights.slice(1)] })) },
  { name: "scores are not scaled", ops: wrong("scale", (c) => c.inputs[0]!) },
  { name: "scores are scaled by the width of the model", ops: wrong("scale", (c, f) => f(settings(c, { factor: Number(c.settings["factor"]) / Math.SQRT2 }))) },
  { name: "another epsilon", ops: wrong("rms", (c, f) => f(settings(c, { eps: 1e-6 }))) },
  { name: "a dropped bias of a linear layer", ops: wrong("linear", (c, f) => f({ ...c, weights: c.weights.slice(0, 1) })) },
  { name: "a dropped bias of a norm", ops: wrong("gain", (c, f) => f({ ...c, weights: c.weights.slice(0, 1) })) },
  { name: "weights rounded to 16 bits", weights: (_, weight) => like(weight, half) },
  { name: "one weight is another number", weights: (name, w) => (name.endsWith("cross_attention.out.linear.weight") ? tensor(w.data.map((x, i) => (i === 7 ? -x : x)), w.shape) : w) },
  {
    name: "keys are mixed instead of values",
    program: (step) => (step.op === "mix" ? { ...step, inputs: [step.inputs[0]!, step.inputs[1]!.replace(/\.v$/, ".k")] } : step),
  },
  { name: "all sines before all cosines", ops: wrong("sinusoidal", (c, f) => f(settings(c, { order: "halves" }))) },
  { name: "positions begin at 1", ops: wrong("sinusoidal", (c, f) => f(settings(c, { start: 1 }))) },
  { name: "positions begin again in decoding", ops: wrong("sinusoidal", (c, f) => f({ ...c, first: 0 })) },
  { name: "vectors of tokens are not scaled", ops: wrong("embed", (c, f) => f(settings(c, { scale: 1 }))) },
  { name: "softmax over the queries", ops: wrong("softmax", (c) => columnsAddUp(c.inputs[0]!)) },
  { name: "shares that add up to a little more than 1", ops: wrong("softmax", (c, f) => largestError(f(c))) },
  { name: "no residual connection", ops: wrong("add", (c, f) => (dim(c.inputs[0]!, -1) === 6 && c.inputs.length === 2 ? c.inputs[1]! : f(c))) },
  { name: "variance over n - 1", ops: wrong("rms", (c, f) => like(f(c), (x) => x * Math.sqrt(dim(c.inputs[0]!, -1) / (dim(c.inputs[0]!, -1) - 1)))) },
  { name: "the mean is not subtracted", ops: wrong("center", (c) => c.inputs[0]!) },
  { name: "the activation lets a hundredth through", ops: wrong("activation", (c) => like(c.inputs[0]!, (x) => Math.max(x, 0.01 * x))) },
  { name: "a NaN", ops: wrong("mix", (c, f) => like(f(c), (x) => (x === f(c).data[3] ? NaN : x))) },
  {
    name: "a stale cache: in decoding the newest key is the one before it",
    ops: wrong("scores", (c, f) => (c.first ? f({ ...c, inputs: [c.inputs[0]!, staleRows(c.inputs[1]!)] }) : f(c))),
  },
  { name: "GELU by its tanh formula", model: "bert", ops: wrong("activation", (c) => like(c.inputs[0]!, ACTIVATIONS["gelu_tanh"]!)) },
  { name: "query heads share keys in turn instead of side by side", model: "llama", ops: wrong("scores", (c, f) => f({ ...c, inputs: [c.inputs[0]!, inTurn(c)] })) },
  { name: "pairs rotate the other way", model: "llama", ops: wrong("rotate", (c, f) => f(settings(c, { turns: (c.settings["turns"] as number[]).map((x) => -x) }))) },
  { name: "pairs do not rotate", model: "llama", ops: wrong("rotate", (c) => c.inputs[0]!) },
  { name: "earlier and later keys are exchanged", model: "t5", ops: wrong("relative_bias", (c, f) => like(f(c), (x) => -x)) },
  { name: "shares of experts are not scaled", model: "llama-experts", ops: wrong("shares", (c, f) => like(f(c), (x) => 0.99 * x)) },
  { name: "a recorded number is another one", page: (header) => changeProof(header, (proof) => (proof.values[0]! += 1e-3 * proof.max)) },
  { name: "a recorded sum is another one", page: (header) => changeProof(header, (proof) => (proof.sum += proof.at.length * proof.max)) },
  { name: "a recorded maximum is another one", page: (header) => changeProof(header, (proof) => (proof.max *= 1.001)) },
  { name: "a step has no proof", page: (header) => { const t = header.traces[0]!; delete t.proof["decoder.blocks.0.self_attention_residual.norm.out"]; } },
];

test("a page that claims much rounding does not hide a bug", async () => {
  const claims = (header: Header): void => { header.traces[0]!.rounding = 0.5; };
  assert.equal((await verdict(named(), { page: claims, ops: wrong("scale", (c) => c.inputs[0]!) })).ok, false);
});

function staleRows(k: Tensor): Tensor {
  const last = dim(k, 1) - 1;
  const before = rowsOf(k, last - 1, last);
  const y = tensor(k.data.slice(), k.shape);
  for (let g = 0; g < dim(k, 0); g++) {
    for (let e = 0; e < dim(k, 2); e++) y.data[(g * (last + 1) + last) * dim(k, 2) + e] = before.data[g * dim(k, 2) + e]!;
  }
  return y;
}

/** Keys for each query head, head h using those of h % G. */
function inTurn({ inputs }: Call): Tensor {
  const [heads, k] = [dim(inputs[0]!, 0), inputs[1]!];
  const size = k.data.length / dim(k, 0);
  const y = zeros([heads, dim(k, 1), dim(k, 2)]);
  for (let h = 0; h < heads; h++) y.data.set(k.data.subarray((h % dim(k, 0)) * size, ((h % dim(k, 0)) + 1) * size), h * size);
  return y;
}

function changeProof(header: Header, change: (proof: { max: number; sum: number; at: number[]; values: number[] }) => void): void {
  const { proof } = header.traces[0]!;
  change(proof["decoder.blocks.0.feed_forward.pre"] as never);
}

async function verdict(one: Fixture, lie: Partial<Lie>): Promise<Checks> {
  const { header, chunks } = await pageOf(one);
  if (lie.program) header.program = { ...header.program, steps: header.program.steps.map(lie.program) };
  lie.page?.(header);
  const parts: Parts = lie.ops ? { ops: { ...OPS, ...lie.ops } } : {};
  const source = new ModelSource(header, chunks, parts);
  if (lie.weights) {
    const change = lie.weights;
    const read = chunks.array.bind(chunks);
    const names = new Map(Object.entries(header.weights).map(([name, ref]) => [ref, name]));
    chunks.array = (ref) => (names.has(ref) ? change(names.get(ref)!, read(ref)) : read(ref));
  }
  return source.verify(source.recorded(0));
}

const named = (name = "transformer"): Fixture => ALL.find((one) => one.name === name)!;

for (const lie of LIES) {
  test(`found: ${lie.name}`, async () => {
    const one = named(lie.model);
    assert.ok((await verdict(one, {})).ok, "the truth");
    assert.equal((await verdict(one, lie)).ok, false);
  });
}

test("found: a model that sees the future, in the page and in Python", async () => {
  const one = named();
  const seeing = (step: Step): Step => ({ ...step, settings: step.op === "mask" ? { ...step.settings, causal: false } : step.settings });
  const { header, chunks } = await pageOf({ ...one, program: { ...one.program, steps: one.program.steps.map(seeing) } });
  const source = new ModelSource(header, chunks);
  const run = source.recorded(0);
  const rule = source.verify(run);
  assert.deepEqual(rule.rules.filter(({ ok }) => !ok).map(({ name }) => name), ["the future is hidden"]);
});

test("random small changes of a value are found wherever they are", async () => {
  const number = random(11);
  for (let i = 0; i < 12; i++) {
    const one = named();
    const step = one.program.steps[Math.floor(((number() + 1) / 2) * one.program.steps.length)]!;
    const found = await verdict(one, {
      page: (header) => {
        const proof = header.traces[0]!.proof[step.name]!;
        const at = proof.values.findIndex((value) => value !== null);
        proof.values[at]! += 1e-4 * proof.max;
      },
    });
    assert.deepEqual(found.failures.map((failure) => failure.step), [step.name]);
  }
});
