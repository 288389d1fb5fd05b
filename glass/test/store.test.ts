// The state of the page: answers that come late, that fail, or belong to an earlier sentence must not be shown.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import type { Checks, Header, Run, RunOptions, Source } from "../src/engine/header";
import { addPatch, ask, both, busy, checkedText, checks, compare, mode, runA, runB, showing, source, tensorShown, trouble, UNCHANGED, whatIf } from "../src/state/store";
import { followChecks, isRecorded, unrecorded } from "../src/state/checking";
import { select } from "../src/state/selection";
import { withoutHead } from "../src/state/worth";

interface Open {
  text: string;
  answer(): Promise<void>;
  fail(why: string): Promise<void>;
}

const TRACES = ["one", "two"].map((text) => ({ text, ids: { text: [text.length] }, values: {}, proof: {} }));
const PATCH = { step: "z", how: "zero" as const, head: 0 };

const runOf = (text: string, more: Partial<Run> = {}): Run =>
  ({ text, answer: text.toUpperCase(), ids: { text: [text.length] }, pieces: {}, words: {}, patches: [], trace: TRACES.find((one) => one.text === text), ...more }) as unknown as Run;

const CHECKS = new Map(["one", "two"].map((text) => [text, { ok: true, compared: text.length } as Checks]));
const checksOf = (text: string): Checks => CHECKS.get(text)!;

const settled = (): Promise<void> => new Promise((done) => setTimeout(done));

/** A source whose answers come when the test says so. */
function slow(): { open: Open[]; checked: string[] } {
  const [open, checked]: [Open[], string[]] = [[], []];
  source.value = {
    header: { traces: TRACES, program: { steps: [], outputs: {} } } as unknown as Header,
    live: true,
    recorded: (index: number) => runOf(TRACES[index]!.text),
    run: (text: string, options: RunOptions = {}) =>
      new Promise((done, failed) => {
        open.push({
          text,
          answer: () => { done(runOf(text, { patches: options.patches ?? [] })); return settled(); },
          fail: (why) => { failed(new Error(why)); return settled(); },
        });
      }),
    checked: (run: Run) => { checked.push(run.text); return Promise.resolve(checksOf(run.text)); },
  } as unknown as Source;
  return { open, checked };
}

beforeEach(() => {
  [runA.value, runB.value, mode.value, whatIf.value] = [runOf("one"), null, "A", UNCHANGED];
  [busy.value, trouble.value, checks.value] = ["", "", null];
});

test("an earlier sentence's answer is dropped, and does not end the later one's waiting", async () => {
  const { open } = slow();
  void ask("first"); void ask("second");
  await open[0]!.answer();
  assert.deepEqual([runA.value!.text, busy.value], ["one", "A"]);
  await open[1]!.answer();
  assert.deepEqual([runA.value!.text, busy.value], ["second", ""]);
});

test("an earlier sentence's failure is not shown beside a later answer", async () => {
  const { open } = slow();
  void ask("first"); void ask("second");
  await open[1]!.answer();
  await open[0]!.fail("too long");
  assert.deepEqual([runA.value!.text, trouble.value], ["second", ""]);
});

test("another sentence: B of the one before is not shown while the new B is computed", async () => {
  const { open } = slow();
  void addPatch(PATCH);
  await open[0]!.answer();
  assert.deepEqual([runB.value!.text, mode.value], ["one", "B"]);
  void ask("next");
  await open[1]!.answer();
  assert.deepEqual([runA.value!.text, runB.value, mode.value, busy.value], ["next", null, "A", "B"]);
  await open[2]!.answer();
  assert.deepEqual([runB.value!.text, mode.value, busy.value], ["next", "B", ""]);
});

test("a B that fails leaves no earlier B behind", async () => {
  const { open } = slow();
  void addPatch(PATCH);
  await open[0]!.answer();
  void compare({ ...UNCHANGED, text: "much too long" });
  await open[1]!.fail("too long");
  assert.deepEqual([runB.value, mode.value, trouble.value], [null, "A", "too long"]);
});

test("a B that is no longer wanted does not come back", async () => {
  const { open } = slow();
  void addPatch(PATCH);
  void compare(UNCHANGED);
  await open[0]!.answer();
  assert.deepEqual([runB.value, mode.value, busy.value], [null, "A", ""]);
});

test("each recorded sentence is checked when it is shown; what is changed or typed is not called recorded", async () => {
  const { checked } = slow();
  const stop = followChecks();
  await settled();
  assert.deepEqual([checked, checks.value?.compared], [["one"], 3]);
  await ask("two");
  await settled();
  await ask("one");
  await settled();
  assert.deepEqual(checked, ["one", "two"]);
  [runB.value, mode.value] = [runOf("two"), "B"]; // B reads the other recorded sentence
  assert.equal(checks.value, checksOf("two"));
  mode.value = "A";
  assert.equal(checks.value, checksOf("one"));
  stop();
  assert.ok(isRecorded(runOf("one")));
  assert.ok(!isRecorded(runOf("one", { patches: [PATCH] })));
  assert.ok(!isRecorded(runOf("one", { ids: { text: [9] } })));
  assert.ok(!isRecorded(runOf("typed")));
});

const STEP = { name: "z", op: "linear", inputs: [], weights: [], axes: ["text", "width"], shape: ["text", 2], settings: {}, part: "z", tapped: true, code: "" };

/** Runs of one step, whose numbers are `first`, `first` + 1, ... */
function numbered(text: string, ids: number[], first: number): Run {
  const z = { data: Float32Array.from({ length: ids.length * 2 }, (_, i) => first + i), shape: [ids.length, 2] };
  return runOf(text, { ids: { text: ids }, pass: { values: () => z, has: () => true } } as unknown as Partial<Run>);
}

function withStep(): void {
  slow();
  source.value = { ...source.value!, header: { traces: TRACES, tokenizers: { text: { probes: [["a", [1]], ["b", [2]]] } }, program: { sequences: { text: "ids" }, steps: [STEP], outputs: {} } } as unknown as Header };
  select({ tap: "z", row: 1, column: 0 });
}

test("B - A is shown only where each piece has its counterpart; else B", () => {
  withStep();
  [runA.value, runB.value, mode.value] = [numbered("one", [5, 6], 0), numbered("one", [5, 6], 10), "B-A"];
  assert.deepEqual([showing.value, tensorShown("z")!.which, [...tensorShown("z")!.data]], ["B-A", "B-A", [10, 10, 10, 10]]);
  assert.deepEqual(both.value, { before: 2, after: 12 });
  runB.value = numbered("longer", [5, 6, 7], 10);
  assert.deepEqual([showing.value, tensorShown("z")!.which, both.value], ["B", "B", null]);
  mode.value = "B";
  assert.equal(both.value, null);
});

test("a number in A and in B is of the same piece, or not shown", () => {
  withStep();
  [runA.value, runB.value, mode.value] = [numbered("one", [5, 6], 0), numbered("two", [5, 9], 10), "B"];
  assert.equal(both.value, null);
  select({ row: 0 });
  assert.deepEqual(both.value, { before: 0, after: 10 });
});

test("of what Python did not record is said what was checked", () => {
  withStep();
  checkedText.value = "one";
  assert.equal(unrecorded(runOf("one")), null);
  runB.value = runOf("one", { patches: [PATCH] });
  assert.deepEqual(unrecorded(runB.value), { which: "B", probes: 0, text: "one" });
  assert.deepEqual(unrecorded(runOf("typed")), { which: "A", probes: 2, text: "one" });
});

test("a head is removed by its mean, unless the reader chose 0", () => {
  withStep();
  const one = { z: STEP } as unknown as Parameters<typeof withoutHead>[0];
  assert.deepEqual(withoutHead(one, 0), { step: "z", how: "mean" });
  assert.deepEqual(withoutHead(one, 0, "zero"), { step: "z", how: "zero" });
});

test("a row of the output is called by the piece that it writes, so it is compared only where both write the same", () => {
  withStep();
  source.value = { ...source.value!, header: { ...source.value!.header, program: { ...source.value!.header.program, outputs: { logits: "z" } } } as unknown as Header };
  const writing = (ids: number[], first: number): Run => ({ ...numbered("one", [5, 6], first), written: { ids, pieces: [] } });
  [runA.value, runB.value, mode.value] = [writing([7, 8], 0), writing([7, 9], 10), "B"];
  assert.equal(both.value, null);
  select({ row: 0 });
  assert.deepEqual(both.value, { before: 0, after: 10 });
});
