// What a reader does with the page: types, goes back, jumps; what was typed or selected must not be lost or break a view.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { placeLabels } from "../src/analysis/placelabels";
import type { Run, RunOptions, Source } from "../src/engine/header";
import { ModelSource } from "../src/engine/source";
import { followState, readAddress } from "../src/state/address";
import { followFitting } from "../src/state/fitting";
import { tagsBetween } from "../src/state/headfacts";
import { examples, matching } from "../src/state/jumping";
import { START, select, selection } from "../src/state/selection";
import { addPatch, attentions, mode, runA, runB, source, trouble, UNCHANGED, whatIf } from "../src/state/store";
import { refused, submit, type, typed } from "../src/state/typing";
import { chance, loss } from "../src/views/format";
import { shortTag } from "../src/views/tagnames";
import { fixtures } from "./fixtures";
import { pageOf } from "./pages";

const pause = (milliseconds = 0): Promise<void> => new Promise((done) => setTimeout(done, milliseconds));

/** A model of the fixtures; any text is answered with the recorded numbers, texts with "long" are refused. */
async function model(name = "transformer"): Promise<Run> {
  const { header, chunks } = await pageOf(fixtures().find((one) => one.name === name)!);
  const real = new ModelSource(header, chunks);
  const first = real.recorded(0);
  const run = async (text: string, options: RunOptions = {}): Promise<Run> => {
    if (text.includes("long")) throw new Error("The text has 99 pieces.");
    return { ...first, text, patches: options.patches ?? [] };
  };
  source.value = { header, live: true, recorded: () => first, run } as unknown as Source;
  [runA.value, runB.value, mode.value, whatIf.value, selection.value] = [first, null, "A", UNCHANGED, START];
  return first;
}

/** The history of a browser. */
function browser(): { entries: string[]; back(): void } {
  const entries = ["#whole"];
  const listeners = new Set<() => void>();
  let at = 0;
  Object.assign(globalThis, {
    location: { get hash() { return entries[at]!; } },
    history: {
      pushState: (_: null, __: string, to: string) => { entries.splice(++at, Infinity, to); },
      replaceState: (_: null, __: string, to: string) => { entries[at] = to; },
    },
    window: { addEventListener: (_: string, heard: () => void) => listeners.add(heard), removeEventListener: (_: string, heard: () => void) => listeners.delete(heard) },
  });
  return { entries, back: () => { at--; for (const heard of listeners) heard(); } };
}

beforeEach(() => { [typed.value, refused.value, trouble.value] = [null, "", ""]; });

test("a text that is refused stays in the field, with the reason beside it", async () => {
  await model();
  type("much too long ");
  await submit();
  assert.deepEqual([typed.value, refused.value, trouble.value, runA.value!.text], ["much too long ", "The text has 99 pieces.", "", "recorded"]);
  type("   ");
  assert.equal(refused.value, "");
  await submit();
  assert.ok(typed.value === "   " && refused.value.length > 10);
  type("fine");
  await submit();
  assert.deepEqual([typed.value, refused.value, runA.value!.text], [null, "", "fine"]);
});

test("a sentence, a change and a view are entries; back restores what each had", async () => {
  await model();
  const { entries, back } = browser();
  const stop = followState();
  const patch = { step: attentions.value[0]!.z!.name, how: "mean" as const, head: 1 };
  await pause(170);
  type("another");
  await submit();
  await pause(170);
  await addPatch(patch);
  await pause(170);
  select({ view: "heads", head: 1 });
  await pause(170);
  select({ query: 1 });
  await pause(170);
  assert.equal(entries.length, 4, entries.join(" "));
  const seen = (): unknown => [selection.value.view, runA.value!.text, whatIf.value.patches, mode.value, runB.value?.patches];
  const before = seen();
  back();
  await pause(170);
  assert.deepEqual(seen(), ["whole", "another", [patch], "B", [patch]]);
  back();
  await pause(170);
  assert.deepEqual(seen(), ["whole", "another", [], "A", undefined]);
  back();
  await pause(170);
  assert.deepEqual(seen(), ["whole", "recorded", [], "A", undefined]);
  assert.equal(entries.length, 4);
  assert.notDeepEqual(before, seen());
  stop();
});

test("an address without a sentence is that of the recorded one", async () => {
  await model();
  browser();
  type("another");
  await submit();
  await readAddress();
  assert.equal(runA.value!.text, "recorded");
});

test("the selected cell stays in the pattern and out of the masked future", async () => {
  const first = await model();
  const stop = followFitting();
  const own = attentions.value.find((one) => one.causal)!;
  const cross = attentions.value.find((one) => one.queries !== one.keys)!;
  select({ stack: cross.stack, kind: cross.kind, layer: 0, query: 0, key: 99 });
  runA.value = { ...first };
  const [, columns] = first.pass.values(cross.pattern.name).shape.slice(-2);
  assert.equal(selection.value.key, columns! - 1);
  select({ stack: own.stack, kind: own.kind });
  assert.equal(selection.value.key, 0); // all that row 0 may read
  stop();
});

test("heads and words are found as people write them", async () => {
  const first = await model();
  const named = { ...first, pieces: { source: ["␣Ap", "fel", "␣rot"] }, words: { source: [0, 0, 1] } };
  runA.value = named;
  const found = matching("head 2");
  assert.ok(found.length && found.every((one) => one.name.endsWith(".2")), found.map((one) => one.name).join());
  assert.ok(matching("Apfel").length === 1 && matching("fel").length === 2);
  matching("apfel")[0]!.go();
  assert.ok(examples().length >= 3);
  for (const text of examples()) assert.ok(matching(text).length, text);
});

test("places in two texts are not compared", () => {
  const pattern = { data: [0.5, 0.3, 0.2, 0.1, 0.6, 0.3], offset: 0, queries: 2, keys: 3 };
  const cross = tagsBetween({ queries: "target", keys: "source" }, pattern).looks;
  const own = tagsBetween({ queries: "target", keys: "target" }, pattern).looks;
  assert.ok(cross.distance === null && own.distance !== null && cross.at === own.at);
  assert.equal(shortTag({ at: "one", distance: null, own: false }), "one");
});

test("small numbers are said in one way", () => {
  assert.deepEqual([1, 0.92, 0.01, 6.4e-4, 1e-6, 0].map(chance), ["100%", "92.0%", "1.0%", "0.064%", "0.00010%", "0.0%"]);
  assert.deepEqual([5.5e-9, 0, 0.0009, 0.5].map(loss), ["less than 0.001", "0", "less than 0.001", "0.500"]);
});

test("names of points cover neither points nor each other", () => {
  const points = [[100, 50], [112, 50], [100, 60], [300, 50]].map(([x, y], i) => ({ key: String(i), x: x!, y: y! }));
  const found = placeLabels(points.map((one) => ({ ...one, text: "decoder self 1.1" })), points, { left: 0, right: 400, top: 0, bottom: 200 });
  assert.ok(found.size >= 3);
  const boxes = [...found.values()].map(({ x, y, anchor }) => { const from = anchor === "start" ? x : anchor === "end" ? x - 97 : x - 48; return { left: from, right: from + 97, top: y - 10, bottom: y + 3 }; });
  for (const [i, one] of boxes.entries()) {
    assert.ok(points.every(({ x, y }) => x < one.left || x > one.right || y < one.top || y > one.bottom));
    for (const other of boxes.slice(i + 1)) assert.ok(one.right <= other.left || other.right <= one.left || one.bottom <= other.top || other.bottom <= one.top);
  }
});
