// Typed texts: ids, search, pass; the same in a worker.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Decoding, Header, Run } from "../src/engine/header";
import { HelpedSource, serve } from "../src/engine/helper";
import { knockOuts, writtenLogProbs } from "./knockout";
import { answerOf } from "../src/engine/predict";
import { ModelSource } from "../src/engine/source";
import { Refused } from "../src/engine/tokenize";
import { fixtures } from "./fixtures";
import { pageOf } from "./pages";

const ONE = fixtures().find(({ name }) => name === "transformer")!;
const VOCABULARY = ONE.program.steps.find(({ name }) => name === "logits")!.shape[1] as number;
const WORDS = Array.from({ length: VOCABULARY }, (_, i) => (i < 4 ? `<${i}>` : `w${i}`));
const FILE = {
  version: "1.0",
  added_tokens: [],
  normalizer: null,
  pre_tokenizer: { type: "WhitespaceSplit" },
  post_processor: null,
  decoder: null,
  model: { type: "WordLevel", vocab: Object.fromEntries(WORDS.map((word, id) => [word, id])), unk_token: "<1>" },
};
const READER = { file: FILE, shown: WORDS, silent: [0, 1, 2, 3] };
const DECODING: Decoding = { start: 1, end: 2, limit: { times: 2, plus: 1, max: 9 }, beam: 3, ranked: "mean", chooser: "Best" };
const TEXT = "w5 w6 w4 w7";

const wanted = { tokenizers: { source: { ...READER, after: [2], longest: 8 }, target: READER }, decoding: DECODING };
const page = () => pageOf(ONE, wanted);

async function source(): Promise<ModelSource> {
  const { header, chunks } = await page();
  return new ModelSource(header, chunks);
}

test("a typed text is read, translated and computed", async () => {
  const run = await (await source()).run(TEXT);
  assert.deepEqual(run.ids["source"], [5, 6, 4, 7, 2]);
  assert.deepEqual(run.words["source"], [0, 1, 2, 3, -1]);
  const written = run.written!.ids;
  assert.deepEqual(run.ids["target"], [1, ...written.slice(0, -1)]);
  const best = run.search!.hypotheses[0]!;
  assert.deepEqual(written.slice(0, best.ids.length), best.ids);
  const found = writtenLogProbs(run);
  best.log_probs.forEach((value, row) => assert.ok(Math.abs(value - found[row]!) < 1e-5, "the pass agrees with the search"));
});

test("a given output is not searched for; its log-probabilities are those of these ids", async () => {
  const own = await source();
  const given = (await own.run(TEXT)).written!.ids;
  const run = await own.run(TEXT, { target: given });
  assert.equal(run.search, undefined);
  assert.deepEqual(run.written!.ids, given);
});

test("a forced token and a pruned beginning change the output", async () => {
  const own = await source();
  const first = (await own.run(TEXT)).written!.ids[0]!;
  const other = first === 5 ? 6 : 5;
  assert.equal((await own.run(TEXT, { forced: { 0: other } })).written!.ids[0], other);
  assert.notEqual((await own.run(TEXT, { pruned: [[first]] })).written!.ids[0], first);
});

test("patches hold in decoding as in the whole pass, also where rows cannot be kept", async () => {
  const own = await source();
  const step = "decoder.blocks.0.self_attention.out.z";
  for (const options of [{ how: "zero", head: 1 }, { how: "mean", head: 0 }, { how: "set", row: 0, value: 2 }] as const) {
    const run = await own.run(TEXT, { patches: [{ step, ...options }], beam: 1 });
    const found = writtenLogProbs(run);
    if (options.how === "mean") continue; // the mean over more rows is another one
    run.search!.hypotheses[0]!.log_probs.forEach((value, row) => assert.ok(Math.abs(value - found[row]!) < 1e-5, JSON.stringify(options)));
  }
});

test("each head has a loss, and a head that is removed twice loses nothing more", async () => {
  const own = await source();
  const losses = knockOuts(own, await own.run(TEXT));
  assert.equal(losses.length, ONE.program.steps.filter(({ op }) => op === "mix").length * 2);
  assert.ok(losses.some(({ loss }) => Math.abs(loss) > 1e-4));
  const { step, head } = losses[0]!;
  const without = own.changed(await own.run(TEXT), [{ step, head, how: "zero" }]);
  assert.equal(knockOuts(own, without)[0]!.loss, 0);
});

test("texts that cannot be read are refused in words", async () => {
  const own = await source();
  await assert.rejects(own.run("w4 ".repeat(9)), (error) => error instanceof Refused && /at most 8/.test(error.message));
});

test("a text that Python splits or shortens is read whole, and not called exact", async () => {
  const { header, chunks } = await page();
  header.tokenizers["source"]!.whole = 3;
  header.task.verb = "translate";
  const own = new ModelSource(header, chunks);
  const long = await own.run(TEXT);
  assert.equal(long.ids["source"]!.length, 5);
  assert.match(long.inexact!.join(), /glassformer translate.*more than 3 pieces/);
  assert.equal((await own.run("w5 w6 w4")).inexact, undefined);
  header.decoding!.rules = ["no 3-gram occurs twice"];
  assert.equal((await own.run(TEXT)).inexact!.length, 2);
});

test("a number is said on the scale of the scores", () => {
  const header = { task: { verb: "similar", head: "number", scale: [2, 3] } } as unknown as Header;
  assert.equal(answerOf(header, { data: Float32Array.of(0.5), shape: [1, 1] }, {} as Run, null), "3.500");
});

/** A worker in this thread. */
function withWorker(Kind: unknown, work: () => Promise<void>): Promise<void> {
  const scope = globalThis as { Worker?: unknown };
  scope.Worker = Kind;
  return work().finally(() => delete scope.Worker);
}

class HereWorker {
  onmessage: ((event: { data: unknown }) => void) | null = null;
  static asked = 0;
  private readonly scope = {
    onmessage: null as ((event: { data: never }) => void) | null,
    postMessage: (message: unknown) => setTimeout(() => this.onmessage!({ data: structuredClone(message) })),
  };

  constructor(_url: string) {
    serve(this.scope as never);
  }

  postMessage(message: unknown): void {
    HereWorker.asked++;
    this.scope.onmessage!({ data: structuredClone(message) as never });
  }
}

class FailingWorker {
  onerror: (() => void) | null = null;

  postMessage(): void {
    setTimeout(() => this.onerror!());
  }
}

const NONE = 0; // multiplications that the page computes itself

test("a worker gives the same run", () =>
  withWorker(HereWorker, async () => {
    const { header, chunks } = await page();
    const helped = new HelpedSource(header, chunks, "code", NONE);
    const [there, here] = [await helped.run(TEXT), await (await source()).run(TEXT)];
    assert.equal(HereWorker.asked, 2);
    assert.deepEqual([there.ids, there.written, there.search], [here.ids, here.written, here.search]);
    for (const { name } of ONE.program.steps) assert.deepEqual(there.pass.values(name), here.pass.values(name));
    assert.deepEqual(there.logProbs(1), here.logProbs(1));
    assert.ok((await helped.checked(helped.recorded(0))).ok);
    await assert.rejects(helped.run("w4 ".repeat(9)), Refused);
    assert.equal(HereWorker.asked, 4);
  }));

test("without a worker, or with one that fails, the page computes by itself", async () => {
  for (const Kind of [undefined, FailingWorker]) {
    await withWorker(Kind, async () => {
      const { header, chunks } = await page();
      const run = await new HelpedSource(header, chunks, "code", NONE).run(TEXT);
      assert.equal(run.ids["source"]!.length, 5);
    });
  }
});

