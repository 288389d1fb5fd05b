import assert from "node:assert/strict";
import { test } from "node:test";
import { reckon } from "../src/engine/reckon";
import { ModelSource } from "../src/engine/source";
import { indexOf } from "../src/engine/tensor";
import { worst } from "./close";
import { fixtures } from "./fixtures";
import { pageOf } from "./pages";

for (const one of fixtures()) {
  test(`${one.name}: a live page is verified`, async () => {
    const { header, chunks } = await pageOf(one);
    const source = new ModelSource(header, chunks);
    const checks = source.verify(source.recorded(0));
    assert.deepEqual(checks.failures, []);
    assert.ok(checks.ok, JSON.stringify(checks.rules));
    assert.equal(checks.steps.length, one.program.steps.length);
    if (one.program.causal.length) assert.ok(checks.rules.some((rule) => rule.name === "the future is hidden"));
  });

  test(`${one.name}: a recorded page without weights shows what was recorded, and what follows from it`, async () => {
    const { header, chunks } = await pageOf(one, { tier: "recorded", weights: (name) => name.includes("norm"), stored: () => true });
    const source = new ModelSource(header, chunks);
    const run = source.recorded(0);
    for (const step of one.program.steps) {
      assert.ok(worst(run.pass.values(step.name), one.values[step.name]!) < 2e-6, step.name);
      const here = step.weights.every((name) => name.includes("norm"));
      assert.equal(source.origin(step.name, run), here ? "recomputed" : "recorded");
    }
    const checks = source.verify(run);
    const here = checks.steps.filter((step) => source.origin(step.step, run) === "recomputed");
    assert.ok(checks.ok);
    assert.deepEqual(checks.steps.filter((step) => !step.only), here, "what is only recorded is not counted as computed");
    assert.equal(checks.compared, here.reduce((sum, step) => sum + step.compared, 0));
    await assert.rejects(source.run("recorded"), /do not fit/);
  });

  test(`${one.name}: each number is the sum that it is taken apart into`, async () => {
    const { header, chunks } = await pageOf(one);
    const source = new ModelSource(header, chunks);
    const run = source.recorded(0);
    one.program.steps.forEach((step, number) => {
      const value = run.pass.values(step.name);
      const size = value.data.reduce((a, b) => (Number.isFinite(b) ? Math.max(a, Math.abs(b)) : a), 0);
      for (const place of [0, (7919 * (number + 1)) % value.data.length, value.data.length - 1]) {
        const found = reckon(source, run, step.name, indexOf(value.shape, place));
        const where = `${step.name} (${step.op}) at ${place}: ${JSON.stringify(found.groups.slice(-1))}, computed ${found.computed}`;
        assert.equal(found.computed, value.data[place], where);
        assert.ok(found.groups.length, where);
        assert.ok(found.result === found.computed || Math.abs(found.result! - found.computed) <= 1e-6 * size, where);
        assert.equal(found.tap, step.tapped ? step.name : null);
        assert.equal(found.recorded === null, !step.tapped);
      }
    });
  });
}

test("a value that is read from the file is not counted as compared with itself", async () => {
  const one = fixtures().find(({ name }) => name === "transformer")!;
  const { header, chunks } = await pageOf(one, { tier: "recorded", weights: (name) => name.includes("norm"), stored: () => true });
  const source = new ModelSource(header, chunks);
  const run = source.recorded(0);
  for (const { step, compared } of source.verify(run).steps) {
    const size = run.pass.values(step).data.length;
    const [{ at }, whole] = [header.traces[0]!.proof[step]!, source.origin(step, run) === "recomputed" && header.traces[0]!.values[step]];
    assert.equal(compared, at.length + 2 + (whole ? size : 0), step);
  }
});

test("a recorded page lacks what is neither recorded nor follows from it", async () => {
  const one = fixtures().find(({ name }) => name === "transformer")!;
  const { header, chunks } = await pageOf(one, { tier: "recorded", weights: () => false });
  const source = new ModelSource(header, chunks);
  const { pass } = source.recorded(0);
  const norm = "decoder.blocks.0.cross_attention_residual.norm";
  assert.ok(pass.has(`${norm}.normalized`) && !pass.has(`${norm}.out`));
  assert.throws(() => pass.values(`${norm}.out`), /no value/);
  assert.ok(pass.has("decoder.blocks.0.cross_attention.core.pattern"));
});

test("another source text is not a recorded one; a text cannot be read without a tokenizer", async () => {
  const { header, chunks } = await pageOf(fixtures().find(({ name }) => name === "bert-class")!, { head: "class" });
  const source = new ModelSource(header, chunks);
  await assert.rejects(source.run("typed"), /cannot read/);
  const again = await source.run("recorded");
  assert.equal(again.trace, header.traces[0]);
  assert.match(again.answer, /^class \d$/);
});
