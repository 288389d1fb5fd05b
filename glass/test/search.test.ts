import assert from "node:assert/strict";
import { test } from "node:test";
import type { Decoding, SearchRecord } from "../src/engine/header";
import { sample } from "../src/analysis/samplers";
import { rankedBy, search, type Model, type State } from "../src/engine/search";
import { logSoftmax } from "../src/engine/tensor";
import { read } from "./fixtures";

const [TOKENS, PLACES, END, START] = [11, 4, 2, 1];

interface Case {
  width: number;
  limit: number;
  chooser: Decoding["chooser"];
  ranked: Decoding["ranked"];
  forbidden: number[];
  ends: number[];
  first: number[];
  cut_last: boolean;
  logits: number[];
  record: SearchRecord;
}

interface Samples {
  temperature: number;
  top_k: number;
  top_p: number;
  log_probs: number[];
  uniform: number[];
  tokens: number[];
}

interface Table extends State {
  place: number;
}

const { searches, samples } = read<{ searches: Case[]; samples: Samples[] }>("search.json");

/** The next token depends on the last one and on the position. */
function table(logits: number[]): Model<Table> {
  const after = (token: number, place: number): Table => {
    const from = ((place % PLACES) * TOKENS + token) * TOKENS;
    return { place, logProbs: logSoftmax(Float32Array.from(logits.slice(from, from + TOKENS))) };
  };
  return { start: () => after(START, 0), extend: ({ place }, token) => after(token, place + 1) };
}

function run(one: Case, more: { pruned?: Set<string>; forced?: Record<number, number> } = {}): SearchRecord {
  return search({
    model: table(one.logits),
    width: one.width,
    chooser: one.chooser,
    limit: one.limit,
    end: END,
    ranked: rankedBy(one.ranked),
    ends: one.ends,
    forbidden: one.forbidden,
    forced: Object.fromEntries(one.first.map((token, i) => [i, token])),
    cutLast: one.cut_last,
    ...more,
  });
}

/** Equal, except that numbers may differ by rounding. */
function assertClose(own: unknown, right: unknown, where: string): void {
  if (typeof own === "number" && typeof right === "number" && !Number.isInteger(right)) {
    assert.ok(Math.abs(own - right) < 1e-5, `${where}: ${own}, not ${right}`);
  } else if (typeof own === "object" && own !== null && typeof right === "object" && right !== null) {
    assert.deepEqual(Object.keys(own).sort(), Object.keys(right).sort(), where);
    for (const [name, one] of Object.entries(own)) assertClose(one, (right as Record<string, unknown>)[name], `${where}.${name}`);
  } else assert.equal(own, right, where);
}

searches.forEach((one, number) => {
  test(`search ${number + 1}, ${one.chooser} ${one.width}, limit ${one.limit}: nodes, fates and hypotheses are Python's`, () => {
    const own = run(one);
    assertClose(own.hypotheses, one.record.hypotheses, "hypotheses");
    assertClose(own, one.record, "record");
  });
});

test("a forced token is in every output; all others are forbidden there", () => {
  const found = run(searches[3]!, { forced: { 1: 9 } });
  for (const { ids } of found.hypotheses.filter(({ ids }) => ids.length > 1)) assert.equal(ids[1], 9);
  const others = found.steps[1]!.flatMap((row) => row.candidates).filter(({ token }) => token !== 9);
  assert.ok(others.length && others.every(({ fate, rule }) => fate === "forbidden" && rule === "forced prefix"));
});

test("a pruned branch is not followed", () => {
  const best = run(searches[3]!).hypotheses[0]!.ids;
  const pruned = best.slice(0, 2).join(" ");
  const found = run(searches[3]!, { pruned: new Set([pruned]) });
  assert.ok(found.hypotheses.every(({ ids }) => ids.slice(0, 2).join(" ") !== pruned));
  assert.ok(found.steps[1]!.some((row) => row.candidates.some(({ rule }) => rule === "pruned")));
});

test("NaN is an error, not an answer", () => {
  const one = { ...searches[0]!, logits: searches[0]!.logits.map(() => NaN) };
  assert.throws(() => run(one), /NaN/);
});

/** The token that a number in [0, 1) selects. */
function sampled(logProbs: Float32Array, { temperature, top_k, top_p }: Samples, uniform: number): number {
  const { order, after } = sample(logProbs, { temperature, topK: top_k, topP: top_p });
  let reached = 0;
  return [...order].find((token) => (reached += after[token]!) > uniform)!;
}

samples.forEach((one, number) => {
  test(`sampling ${number + 1}: random numbers select Python's tokens`, () => {
    const logProbs = Float32Array.from(one.log_probs);
    assert.deepEqual(one.uniform.map((uniform) => sampled(logProbs, one, uniform)), one.tokens);
  });
});
