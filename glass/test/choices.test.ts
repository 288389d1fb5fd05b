import assert from "node:assert/strict";
import { test } from "node:test";
import { breather, Cancelled } from "../src/analysis/breathe";
import { headsOf, patchOf, removeEach, verdictOf, type HeadPlace, type Worth } from "../src/analysis/knockouts";
import { logProbsOf, logTotal, type Readout } from "../src/analysis/readout";
import { sample, smoothed } from "../src/analysis/samplers";
import { tagsOf } from "../src/analysis/tags";
import { candidatesAfter, drawingOf, pathTo } from "../src/analysis/tree";
import type { SearchRecord } from "../src/engine/header";
import { ForwardPass } from "../src/engine/run";
import { argmax, tensor } from "../src/engine/tensor";
import { attentionsOf } from "../src/state/anatomy";
import { engineOf, fixtures } from "./fixtures";

function near(one: number, other: number): void {
  assert.ok(Math.abs(one - other) < 1e-6, `${one} is not ${other}`);
}

const LOGITS = [0.5, 0.25, 0.15, 0.1].map((share) => Math.log(share) + 3);

test("samplers: without limits everything is allowed as it was", () => {
  const found = sample(LOGITS, { temperature: 1, topK: 0, topP: 1 });
  assert.equal(found.count, 4);
  near(found.kept, 1);
  near(found.after[2]!, 0.15);
  near(Math.exp(found.before[1]!), 0.25);
});

test("samplers: the k most likely, then those that together have p", () => {
  const two = sample(LOGITS, { temperature: 1, topK: 2, topP: 1 });
  assert.deepEqual([...two.after].map((share) => Math.round(share * 1e6) / 1e6), [0.666667, 0.333333, 0, 0]);
  near(two.kept, 0.75);
  const most = sample(LOGITS, { temperature: 1, topK: 0, topP: 0.6 });
  assert.equal(most.count, 2);
  assert.equal(sample(LOGITS, { temperature: 1, topK: 0, topP: 0.01 }).count, 1);
  assert.equal(sample(LOGITS, { temperature: 1, topK: 3, topP: 0.5 }).count, 1);
});

test("samplers: low temperatures favour likely tokens; forbidden ones stay out", () => {
  const cold = sample(LOGITS, { temperature: 0.5, topK: 0, topP: 1 });
  near(cold.after[0]! / cold.after[1]!, 4);
  const barred = sample([0, -Infinity, 0], { temperature: 1, topK: 0, topP: 1 });
  assert.deepEqual([barred.count, barred.after[1]], [2, 0]);
  assert.equal(barred.order[2], 1);
});

test("label smoothing: 0.1 over 10 classes asks 0.91 of the right one", () => {
  near(smoothed(0.1, 10).ceiling, 0.91);
  near(smoothed(0.1, 10).floor, 0.01);
  near(logTotal([0, 0]), Math.LN2);
  assert.equal(logTotal([-Infinity]), -Infinity);
});

const candidate = (token: number, sum: number, fate: "kept" | "finished" | "beaten" | "forbidden", node?: number) =>
  ({ token, log_prob: sum, sum, score: sum, fate, ...(node === undefined ? {} : { node }) });

const SEARCH: SearchRecord = {
  width: 2,
  nodes: [
    { parent: 0, token: -1, log_prob: 0, sum: 0 }, { parent: 0, token: 7, log_prob: -0.5, sum: -0.5 },
    { parent: 0, token: 8, log_prob: -1, sum: -1 }, { parent: 2, token: 9, log_prob: -0.1, sum: -1.1 },
    { parent: 2, token: 5, log_prob: -0.2, sum: -1.2 }, { parent: 3, token: 3, log_prob: -0.1, sum: -1.2 },
  ],
  steps: [[{ node: 0, candidates: [candidate(7, -0.5, "kept", 1), candidate(8, -1, "kept", 2), candidate(6, -4, "beaten")] }], [{ node: 2, candidates: [candidate(9, -1.1, "kept", 3)] }]],
  hypotheses: [{ node: 5, ids: [8, 9], log_probs: [-1, -0.1, -0.1], score: -0.4, finished: true }],
};

test("the tree: the best output is a straight line, and branches do not overlap", () => {
  const { leaves, columns, rows } = drawingOf(SEARCH);
  assert.deepEqual([0, 2, 3, 5].map((node) => leaves[node]!.row), [0, 0, 0, 0]);
  assert.deepEqual(leaves.map((leaf) => leaf.depth), [0, 1, 1, 2, 2, 3]);
  assert.deepEqual(leaves.map((leaf) => leaf.fate), ["kept", "beaten", "kept", "kept", "beaten", "finished"]);
  assert.equal(columns, 4);
  const places = leaves.map((leaf) => `${leaf.row}:${leaf.depth}`);
  assert.equal(new Set(places).size, places.length);
  assert.ok(rows <= 3);
  assert.deepEqual(pathTo(SEARCH, 5), [8, 9, 3]);
  assert.equal(candidatesAfter(SEARCH, 0).length, 3);
  assert.deepEqual(candidatesAfter(SEARCH, 5), []);
});

test("spans choose among positions: logits are read by column", () => {
  const readout: Readout = { step: "logits", kind: "span", places: 2, candidates: 3, across: "column", chosen: [2, 1], answer: [0, 1] };
  const found = logProbsOf(tensor([0, 0, 0, 5, 9, 0], [3, 2]), readout);
  near(found[0]!, 9 - logTotal([0, 0, 9]));
  near(found[1]!, 5 - logTotal([0, 5, 0]));
});

test("removing heads one by one: each loss is that of a pass with this head removed", async () => {
  const one = fixtures().find((fixture) => fixture.name === "transformer");
  assert.ok(one);
  const pass = new ForwardPass(engineOf(one), one.inputs).all();
  const step = Object.values(one.program.outputs)[0]!;
  const logits = pass.values(step);
  const [places, candidates] = logits.shape as [number, number];
  const chosen = Array.from({ length: places }, (_, t) => argmax(logits.data.subarray(t * candidates, (t + 1) * candidates)));
  const readout: Readout = { step, kind: "next", places, candidates, across: "row", chosen, answer: [] };
  const heads = headsOf(attentionsOf(one.program));
  const found: Worth[] = [];
  const before = logProbsOf(logits, readout);
  const work = { how: "zero" as const, pass, steps: [step], read: (output: typeof logits) => logProbsOf(output, readout), before };
  await removeEach(heads, { ...work, breathe: breather(), found: (worth) => found.push(worth) });
  assert.equal(found.length, heads.length);
  const place = heads[1]!;
  const again = new ForwardPass(engineOf(one), one.inputs, [patchOf(place, "zero")]).values(step);
  logProbsOf(again, readout).forEach((value, t) => near(found[1]!.losses[t]!, before[t]! - value));
  const controller = new AbortController();
  controller.abort();
  await assert.rejects(removeEach(heads, { ...work, breathe: breather(controller.signal), found: () => undefined }), Cancelled);
});

test("a sharp head that costs nothing is named, an even one is not", () => {
  const place = (head: number): HeadPlace => ({ part: "0.attention", stack: "", kind: "attention", layer: 0, head, z: "z" });
  const worths = [0.9, 0.02, 0.01, -0.3].map((total, head): Worth => ({ place: place(head), losses: [total], total }));
  const even = tagsOf({ data: [0.5, 0.5, 0.5, 0.5], offset: 0, queries: 2, keys: 2 });
  const sharp = tagsOf({ data: [0, 1, 0, 1], offset: 0, queries: 2, keys: 2 });
  const said = verdictOf(worths, ({ head }) => (head === 2 ? sharp : even), (worth) => worth.total);
  assert.equal(said.most?.place.head, 0);
  assert.equal(said.sharpIdle?.worth.place.head, 2);
  assert.deepEqual([said.idle, said.harmful?.place.head], [2, 3]);
});
