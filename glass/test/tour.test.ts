import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { figureOf, inOrder, sizesOf } from "../src/analysis/figure";
import type { Header } from "../src/engine/header";
import { ModelSource } from "../src/engine/source";
import { RULES, stopsOf } from "../src/tour/stops";
import { fixtures } from "./fixtures";
import { sourceOf } from "./page_file";
import { pageOf } from "./pages";
import { assertTrue, sceneFor } from "./truth";

const HEADS = { "bert-class": "class", "bert-mean": "vector", bert: "words", "bilstm-attention": "class", "bilstm-ends": "class", vit: "class" } as const;

async function tiny(name: string): Promise<ModelSource> {
  const one = fixtures().find((fixture) => fixture.name === name)!;
  const head = ((HEADS as Record<string, string>)[name] ?? "next") as Header["task"]["head"];
  const writes = head === "next" && one.program.causal.length === 1;
  const decoding = { start: name === "gpt" || name.startsWith("llama") || name === "lstm" ? -1 : 1, end: 2, limit: 5, beam: 2, ranked: "mean", chooser: "Best", smoothing: 0.1 } as const;
  const { header, chunks } = await pageOf(one, { head, ...(writes && { decoding }) });
  return new ModelSource(header, chunks);
}

for (const { name } of fixtures()) {
  test(`${name}: everything that the tour says is true`, async () => {
    const source = await tiny(name);
    const run = source.recorded(0);
    const ids = await assertTrue(source, run);
    assert.ok(ids.includes("proof"));
    assert.equal(new Set(ids).size, ids.length);
  });

  test(`${name}: the figure has every step and counts every weight once`, async () => {
    const { header } = await tiny(name);
    const figure = figureOf(header.program, sizesOf(header));
    const boxes = inOrder(figure, header.program);
    assert.deepEqual(boxes.flatMap((box) => box.steps.map((step) => step.name)).sort(), header.program.steps.map((step) => step.name).sort());
    const used = new Set(header.program.steps.flatMap((step) => step.weights));
    const total = [...used].reduce((sum, weight) => sum + header.weights[weight]!.shape.reduce((a, b) => a * b, 1), 0);
    assert.equal(figure.parameters, total);
  });
}

test("a claim that is false is left out", async () => {
  const source = await tiny("transformer");
  const scene = await sceneFor(source, source.recorded(0));
  const all = stopsOf(scene).map((stop) => stop.rule.id);
  const costs = scene.costs!.map((one) => ({ ...one, cost: 0 }));
  assert.ok(!stopsOf({ ...scene, costs }).some((stop) => stop.rule.id === "needed"));
  const checks = { ...scene.checks!, ok: false };
  assert.ok(all.includes("proof") && !stopsOf({ ...scene, checks }).some((stop) => stop.rule.id === "proof"));
});

test("what a page cannot compute is not claimed", async () => {
  const source = await tiny("transformer");
  const scene = await sceneFor(source, source.recorded(0));
  const ids = stopsOf({ ...scene, costs: null, decided: null, checks: null, weight: () => null, near: () => [] }).map((stop) => stop.rule.id);
  for (const id of ["needed", "effect", "decided", "proof", "row"]) assert.ok(!ids.includes(id), id);
});

test("every stop has a title, and a tour has at most twelve", () => {
  assert.ok(RULES.length >= 12 && RULES.every((rule) => rule.title.length > 5));
});

// GLASS_TOUR: "page.html=sentences.txt page.html=sentences.txt": every claim on many sentences of real models.
for (const pair of (process.env.GLASS_TOUR ?? "").split(" ").filter(Boolean)) {
  const [page = "", sentences = ""] = pair.split("=");
  test(`${page}: everything that the tour says is true, of every sentence`, async () => {
    const source = await sourceOf(page);
    const counts = new Map<string, number>();
    for (const text of readFileSync(sentences, "utf8").split("\n").filter(Boolean)) {
      for (const id of await assertTrue(source, await source.run(text))) counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    console.log(page, Object.fromEntries(counts));
  });
}
