// What the frame needs to be right: the address, patches as text, colours that can be read, files that others open.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { patchFrom, patchText } from "../src/state/address";
import { attentionsOf, placeOf, placesOf } from "../src/state/anatomy";
import { fromHash, START, toHash } from "../src/state/selection";
import { spoken, visible } from "../src/state/labels";
import { cellsOf, largest, short, type Cells } from "../src/views/cells";
import { csvOf, csvOfCells, npyOf } from "../src/views/export";
import { brief, full, percent, tiny, withSign } from "../src/views/format";
import { strongest } from "../src/views/lens";
import { contrast, parseColour, scaleOf, type Rgb } from "../src/views/palette";
import type { Program } from "../src/engine/header";
import { read } from "./fixtures";

const program = (name: string): Program => read<{ program: Program }>(`${name}.json`).program;

test("an address brings back what was selected", () => {
  const chosen = { ...START, view: "proof" as const, stack: "decoder", kind: "cross_attention", layer: 1, head: 3, query: 6, tap: "a.b&c=#?%" };
  const found = fromHash(toHash(chosen, { text: "a + b = “c” # 100%", patches: "" }));
  assert.deepEqual({ ...START, ...found.chosen }, chosen);
  assert.deepEqual(found.extra, { text: "a + b = “c” # 100%" });
});

test("an address that makes no sense changes nothing", () => {
  for (const hash of ["", "#", "#nowhere", "#whole?layer=-1&head=x&query=1e9&row=99999999999&view=proof&__proto__=1", "#?%%%"]) {
    const { chosen } = fromHash(hash);
    assert.deepEqual({ ...START, ...chosen }, START, hash);
  }
});

test("patches survive the address", () => {
  for (const patch of [
    { step: "decoder.blocks.1.cross_attention.out.z", how: "mean" as const, head: 3 },
    { step: "x", how: "zero" as const, column: 0 },
    { step: "x.y", how: "set" as const, head: 0, row: 2, column: 5, value: -0.25 },
  ]) assert.deepEqual(patchFrom(patchText(patch)), patch);
  assert.equal(patchFrom("x:explode:1"), null);
  assert.equal(patchFrom(""), null);
});

test("places of the figure", () => {
  assert.deepEqual(placeOf("decoder.1.cross_attention"), { id: "decoder.1.cross_attention", stack: "decoder", layer: 1, what: "cross_attention" });
  assert.deepEqual(placeOf("0.attention"), { id: "0.attention", stack: "", layer: 0, what: "attention" });
  assert.deepEqual(placeOf("encoder.inputs"), { id: "encoder.inputs", stack: "encoder", layer: null, what: "inputs" });
  assert.deepEqual(placeOf("output"), { id: "output", stack: "", layer: null, what: "output" });
});

test("attentions of an encoder-decoder are found from its steps", () => {
  const found = attentionsOf(program("transformer"));
  const kinds = [...new Set(found.map((one) => `${one.stack} ${one.kind}: ${one.queries} reads ${one.keys}, ${one.causal ? "causal" : "all"}`))];
  assert.deepEqual(kinds.sort(), [
    "decoder cross_attention: target reads source, all", "decoder self_attention: target reads target, causal", "encoder self_attention: source reads source, all",
  ]);
  for (const one of found) {
    assert.deepEqual(one.lines.filter((step) => step.op !== "same").map((step) => step.op), ["scores", "scale", "mask", "softmax"]);
    assert.deepEqual([one.q?.name, one.k?.name, one.v?.name].map((name) => name?.split(".").at(-1)), ["q", "k", "v"]);
    assert.ok(one.z?.name.endsWith("out.z") && one.result?.name.endsWith("head_result"));
  }
  assert.equal(placesOf(program("transformer")).at(-1)?.what, "output");
});

/** The colours of one theme of the style sheet. */
function theme(dark: boolean): Record<string, Rgb> {
  const sheet = readFileSync("src/style/tokens.css", "utf8");
  const block = dark ? sheet.slice(sheet.indexOf("prefers-color-scheme: dark"), sheet.indexOf("@media print")) : sheet.slice(0, sheet.indexOf("@media"));
  return Object.fromEntries([...block.matchAll(/--([\w-]+): (#[0-9a-f]{3,6});/g)].map(([, name, colour]) => [name!, parseColour(colour!)]));
}

/** A colour as people with a colour-vision deficiency see it (Viénot et al. 1999; tritanopia after Brettel et al. 1997, roughly). */
const SEEN: Record<string, number[][]> = {
  protanopia: [[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]],
  deuteranopia: [[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]],
  tritanopia: [[1, 0.1273, -0.1273], [0, 0.8739, 0.1261], [0, 0.8739, 0.1261]],
};

function seen(colour: Rgb, how: string): Rgb {
  const linear = colour.map((channel) => (channel / 255) ** 2.2);
  return SEEN[how]!.map((row) => 255 * Math.max(0, row.reduce((sum, x, i) => sum + x * linear[i]!, 0)) ** (1 / 2.2)) as unknown as Rgb;
}

test("texts can be read on every cell and on the page, in both themes", () => {
  for (const dark of [false, true]) {
    const colours = theme(dark);
    for (const [middle, end] of [["share-mid", "share"], ["plus-mid", "plus"], ["minus-mid", "minus"]] as const) {
      const scale = scaleOf(colours.cell!, colours[middle]!, colours[end]!);
      scale.css.forEach((css, i) => assert.ok(contrast(parseColour(css), parseColour(scale.text[i]!)) >= 4.5, `${end} ${i}`));
    }
    for (const name of ["ink", "soft", "pick", "good", "bad", "query", "key", "value"]) {
      for (const ground of ["paper", "card"]) assert.ok(contrast(colours[name]!, colours[ground]!) >= 4.5, `${name} on ${ground}, ${dark ? "dark" : "light"}`);
    }
    assert.ok(contrast(colours.ink!, colours["pick-pale"]!) >= 4.5);
  }
});

test("blue and orange differ for everyone, and darken evenly", () => {
  const apart = (one: Rgb, other: Rgb) => Math.hypot(...one.map((channel, i) => channel - other[i]!));
  for (const dark of [false, true]) {
    const colours = theme(dark);
    const [plus, minus] = [["plus-mid", "plus"], ["minus-mid", "minus"]].map(([middle, end]) => scaleOf(colours.cell!, colours[middle!]!, colours[end!]!));
    for (const how of Object.keys(SEEN)) {
      for (const i of [96, 160, 255]) assert.ok(apart(seen(parseColour(plus!.css[i]!), how), seen(parseColour(minus!.css[i]!), how)) > 40, `${how} ${i}`);
      const steps = plus!.css.map((css) => contrast(seen(parseColour(css), how), seen(colours.cell!, how)));
      steps.slice(1).forEach((step, i) => assert.ok(step >= steps[i]! - 0.02, `${how} ${i}`));
    }
  }
});

test("numbers in words", () => {
  assert.deepEqual([0, 0.000123456, -12.3456789, 1e-7, 1234567, -Infinity, NaN].map(full), ["0", "0.000123456", "−12.3457", "1.0e-7", "1.235e6", "−∞", "NaN"].map((text) => text.replace("1.0e", "1e")));
  assert.deepEqual([0, 5, 0.0124, 123.4, 1.5].map(brief), ["0", "5", "0.012", "123", "1.50"]);
  assert.deepEqual([0, 0.0001, 0.996, 1].map(percent), ["0.0%", "under 0.1%", "99.6%", "100%"]);
  assert.deepEqual([tiny(6e-8), withSign(2), withSign(-2)], ["6e-8", "+2", "−2"]);
  assert.deepEqual([0.996, 0.996, 0.004, 0.25, -0.25, 12.6].map((value, i) => short(value, { signed: i > 3 })), ["1", "1", "", ".25", "−.25", "13"]);
});

test("pieces as readers see them", () => {
  assert.deepEqual(["▁te", "</s>", "a▁b", "<b>"].map(visible), ["␣te", "‹end›", "a␣b", "<b>"]);
  assert.deepEqual(["▁te", "▁"].map(spoken), ["te", "space"]);
});

test("a head's matrix is cut out of all heads, and its strongest columns are found", () => {
  const data = Float32Array.from({ length: 24 }, (_, i) => (i % 5) - 2);
  const cells = cellsOf({ data, shape: [2, 3, 4], signed: true }, [1]);
  assert.deepEqual([cells.offset, cells.rows, cells.columns, cells.top], [12, 3, 4, 2]);
  assert.equal(largest(Float32Array.of(1, -Infinity, -3)), 3);
  const hidden = { ...cells, hidden: (_: number, column: number) => (column === 1 ? 1 : 0) };
  assert.ok(!strongest(hidden, 0, 4).includes(1));
});

test("files that other programs open", () => {
  const cells: Cells = { values: [1, 2, 3, 4], offset: 0, rows: 2, columns: 2, signed: true, top: 4 };
  assert.equal(csvOfCells(cells, ['a"b', "c,d"], ["=SUM(A1)", "▁x"]), ',\'=SUM(A1),␣x\r\n"a""b",1,2\r\n"c,d",3,4\r\n');
  assert.equal(csvOf([[-1.5, "-2", "+x"]]), "-1.5,-2,'+x\r\n");
  const bytes = npyOf(Float32Array.of(1, -2), [2]);
  const head = new DataView(bytes.buffer).getUint16(8, true);
  assert.equal((10 + head) % 64, 0);
  assert.match(new TextDecoder().decode(bytes.subarray(10, 10 + head)), /'shape': \(2,\)/);
  assert.deepEqual([...new Float32Array(bytes.buffer.slice(10 + head))], [1, -2]);
});
