import assert from "node:assert/strict";
import { test } from "node:test";
import type { Header, Program, Run, Step } from "../src/engine/header";
import { asPython, changesOf, hidePatches, quoted, whyNoDifference, without } from "../src/state/whatif";
import type { WhatIf } from "../src/state/store";
import { numberInPython } from "../src/views/python";

function step(name: string, op: string, inputs: string[], axes: string[], shape: (number | string)[]): Step {
  return { name, op, inputs, weights: [], axes, shape, settings: {}, part: name.split(".").slice(0, -1).join("."), tapped: true, code: "" };
}

const PROGRAM: Program = {
  kind: "transformer",
  sequences: { source: "ids", target: "ids" },
  steps: [
    step("0.attention.masked", "mask", ["source"], ["head", "source", "source"], [2, "source", "source"]),
    step("0.attention.pattern", "softmax", ["0.attention.masked"], ["head", "source", "source"], [2, "source", "source"]),
    step("0.attention.z", "mix", ["0.attention.pattern"], ["head", "source", "width"], [2, "source", 4]),
    step("1.cross.masked", "mask", ["target"], ["head", "target", "source"], [2, "target", "source"]),
    step("1.cross.pattern", "softmax", ["1.cross.masked"], ["head", "target", "source"], [2, "target", "source"]),
    step("1.feed.post", "activation", ["source"], ["target", "inner"], ["target", 8]),
    step("output.logits", "linear", ["1.feed.post"], ["target", "vocabulary"], ["target", 9]),
  ],
  outputs: { logits: "output.logits" },
  causal: ["target"],
};

const CHANGE: WhatIf = {
  text: "Other.",
  patches: [
    { step: "0.attention.z", how: "zero", head: 1 },
    { step: "1.feed.post", how: "zero", column: 3 },
    ...hidePatches(PROGRAM, "source", 2),
    { step: "output.logits", how: "set", row: 0, column: 1, value: 5 },
  ],
  forced: { 0: 7 },
  pruned: [[7, 2]],
  keep: false,
};

test("changes are read from patches; a hidden piece is one change", () => {
  const found = changesOf(CHANGE, PROGRAM);
  assert.deepEqual(found.map((one) => one.kind), ["text", "head", "neuron", "hide", "other", "force", "prune"]);
  const hidden = found[3]!;
  assert.ok(hidden.kind === "hide" && hidden.everywhere && hidden.patches.length === 2);
});

test("a piece that is hidden from one attention is not hidden everywhere", () => {
  const [only] = changesOf({ ...CHANGE, text: null, forced: {}, patches: hidePatches(PROGRAM, "source", 2).slice(0, 1) }, PROGRAM);
  assert.ok(only!.kind === "hide" && !only!.everywhere);
});

test("each change can be taken back by itself", () => {
  let now = CHANGE;
  for (const change of changesOf(CHANGE, PROGRAM)) {
    const before = changesOf(now, PROGRAM).length;
    now = without(now, change);
    assert.equal(changesOf(now, PROGRAM).length, before - 1);
  }
  assert.deepEqual(now, { text: null, patches: [], forced: {}, pruned: [], keep: false });
});

function runWith(patches: WhatIf["patches"], ids: Record<string, number[]> = { source: [1, 2], target: [3] }, text = "I \"am\"\n"): Run {
  return { text, answer: "", ids, pieces: {}, words: {}, patches, pass: { values: () => ({ data: new Float32Array(), shape: [] }), has: () => false }, logProbs: () => new Float32Array() };
}

const HEADER = { program: PROGRAM, task: { verb: "translate", head: "next" } } as unknown as Header;

test("Python: numbers for every change, the model's own answer where taps are enough", () => {
  const patches = CHANGE.patches.slice(0, 1);
  const code = asPython(HEADER, runWith(patches), { ...CHANGE, patches, forced: {}, pruned: [] })!;
  assert.match(code, /Patch\("0.attention.z", "zero", head=1\)/);
  assert.match(code, /"source": \[1, 2\], "target": \[3\]/);
  assert.match(code, /value\[:, 1, :, :\] = 0\.0/);
  assert.match(code, /model\.translate\("I \\"am\\"\\n"\)/);
});

test("Python: no own answer where a mean or a forced piece decides it", () => {
  const mean = [{ step: "0.attention.z", how: "mean" as const, head: 1 }];
  assert.doesNotMatch(asPython(HEADER, runWith(mean), { ...CHANGE, patches: mean, forced: {}, pruned: [] })!, /listening/);
  assert.doesNotMatch(asPython(HEADER, runWith(CHANGE.patches.slice(0, 1)), CHANGE)!, /listening/);
});

test("Python: a model that continues its text writes as much as here", () => {
  const header = { ...HEADER, task: { verb: "generate", head: "next" }, decoding: { limit: 20 } } as unknown as Header;
  assert.match(asPython(header, runWith([], undefined, "A"), { ...CHANGE, patches: [], forced: {}, pruned: [] })!, /model\.generate\("A", max_new=20\)/);
});

test("Python: a number of B has B's words, ids and patches, and B - A is subtracted", () => {
  const [a, b] = [runWith([], undefined, "A."), runWith(CHANGE.patches.slice(0, 1), { source: [4, 5], target: [6] }, "B.")];
  const ofB = numberInPython(HEADER, { of: b, minus: null, alone: false }, "output.logits", [0, 3])!;
  assert.match(ofB, /# B reads "B\."/);
  assert.match(ofB, /Patch\("0.attention.z", "zero", head=1\)/);
  assert.match(ofB, /\{"source": \[4, 5\], "target": \[6\]\}/);
  assert.match(ofB, /print\(float\(values\["output.logits"\]\[0, 3\]\)\)/);
  assert.doesNotMatch(ofB, /explain\(/);
  const minus = numberInPython(HEADER, { of: b, minus: a, alone: false }, "output.logits", [0, 3])!;
  assert.ok(minus.indexOf("[1, 2]") < minus.indexOf("before = values") && minus.indexOf("before = values") < minus.indexOf("[4, 5]"));
  assert.match(minus, /print\(float\(values\["output.logits"\]\[0, 3\] - before\)\)/);
});

test("Python: what has no ids, an image, is not offered", () => {
  const image = runWith([], { target: [3] });
  assert.equal(asPython(HEADER, image, CHANGE), null);
  assert.equal(numberInPython(HEADER, { of: image, minus: null, alone: false }, "output.logits", [0, 3]), null);
});

test("why A and B cannot be subtracted", () => {
  assert.equal(whyNoDifference(runWith([]), runWith([])), null);
  assert.equal(whyNoDifference(runWith([]), runWith([], { source: [1, 2], target: [3, 4] })), "answer");
  assert.equal(whyNoDifference(runWith([]), runWith([], { source: [1], target: [3] }, "Other.")), "text");
});

test("a number in Python has the place that it has here, without a batch axis", () => {
  const code = numberInPython(HEADER, { of: runWith([], undefined, "a \"b\""), minus: null, alone: true }, "encoder.inputs.position", [2, 7])!;
  assert.match(code, /^seen = model\.explain\("a \\"b\\""\)$/m);
  assert.match(code, /^values = tapped_values\(program, seen\.values, inputs_of\(program, seen\.batch\)\)$/m);
  assert.match(code, /^print\(float\(values\["encoder\.inputs\.position"\]\[2, 7\]\)\)$/m);
});

test("strings of Python say what they contain", () => {
  assert.equal(quoted('a"\\\n\u0000'), '"a\\"\\\\\\n\\u0000"');
  assert.equal(quoted("größer \u202e)\u2066\u200b\ufeff"), '"größer \\u202e)\\u2066\\u200b\\ufeff"', "nothing reorders or hides code");
});
