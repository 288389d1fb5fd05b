import assert from "node:assert/strict";
import { test } from "node:test";
import { rollout } from "../src/analysis/rollout";
import { tagsOf } from "../src/analysis/tags";
import { byWords, groupsOf, named } from "../src/analysis/words";

function pattern(rows: number[][]): { data: number[]; offset: number; queries: number; keys: number } {
  return { data: rows.flat(), offset: 0, queries: rows.length, keys: rows[0]!.length };
}

const square = (n: number, f: (row: number, column: number) => number): number[][] =>
  Array.from({ length: n }, (_, row) => Array.from({ length: n }, (_, column) => f(row, column)));

function near(one: number, other: number): void {
  assert.ok(Math.abs(one - other) < 1e-6, `${one} is not ${other}`);
}

test("sharpness runs from even to one-hot, and counts only keys that may be read", () => {
  near(tagsOf(pattern(square(7, () => 1 / 7))).sharpness, 0);
  near(tagsOf(pattern(square(7, (i, j) => Number(i === j)))).sharpness, 1);
  near(tagsOf(pattern(square(7, (i, j) => (j <= i ? 1 / (i + 1) : 0)))).sharpness, 0);
  near(tagsOf(pattern([[0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0]])).sharpness, 0.5);
  near(tagsOf(pattern([[1], [1], [1]])).sharpness, 1);
});

test("entropy is in bits", () => near(tagsOf(pattern(square(4, () => 0.25))).entropy, 2));

test("heads are called by what they look at, as in the report", () => {
  const looks = (rows: number[][]) => tagsOf(pattern(rows)).looks;
  assert.deepEqual(looks(square(7, (i, j) => Number(i === j))), { at: "one", distance: 0, own: true });
  assert.equal(looks(square(7, () => 1 / 7)).at, "all");
  assert.equal(looks(square(7, (_, j) => Number(j === 6))).at, "end");
  assert.equal(looks(square(5, (_, j) => Number(j === 0))).at, "first");
  assert.deepEqual(looks(square(30, (_, j) => Number(j === 3))), { at: "one", distance: -12, own: false });
  assert.deepEqual(looks(square(5, (i, j) => Number(j === Math.max(0, i - 1)))), { at: "one", distance: -1, own: false });
  near(tagsOf(pattern(square(5, (i, j) => Number(j === Math.max(0, i - 1))))).offset, -4 / 5);
  assert.deepEqual(looks(square(8, (i, j) => Number(j === (i + 1) % 8 || i === (j + 1) % 8) / 2)), { at: "one", distance: 0, own: false });
  const crossed = (share: number) => looks(square(4, (i, j) => (i === j ? share : j === 3 - i ? 1 - share : 0))).own;
  assert.deepEqual([crossed(0.5), crossed(0.51)], [false, true]);
});

test("words: what is read is added up, what reads is averaged", () => {
  const groups = groupsOf([0, 0, 1, -1, -1]);
  assert.deepEqual(groups.map(({ begin, end }) => end - begin), [2, 1, 1, 1]);
  assert.deepEqual(named(groups, ["te", "st", "▁it", "‹end›", "‹pad›"]), ["test", "▁it", "‹end›", "‹pad›"]);
  const found = byWords([0.5, 0.25, 0.25, 0, 0, 1], 3, groupsOf([0, 0]), groupsOf([0, 0, 1]));
  assert.deepEqual([...found], [0.375, 0.625]);
});

test("rollout: each layer passes half of what was there and half of what is read", () => {
  const shift = { pattern: [1, 0, 1, 0], heads: 1, cross: false };
  assert.deepEqual([...rollout([shift], 2).own], [1, 0, 0.5, 0.5]);
  assert.deepEqual([...rollout([shift, shift], 2).own], [1, 0, 0.75, 0.25]);
});

test("rollout through cross-attention keeps the sum of each row", () => {
  const self = { pattern: [1, 0, 0.5, 0.5, 1, 0, 0.3, 0.7], heads: 2, cross: false };
  const cross = { pattern: [0.2, 0.3, 0.5, 0, 0, 1], heads: 1, cross: true };
  const memory = { flow: Float64Array.of(1, 0, 0, 0, 1, 0, 0, 0.5, 0.5), size: 3 };
  const flow = rollout([self, cross, self, cross], 2, memory);
  for (let row = 0; row < 2; row++) {
    const all = [...flow.own.slice(row * 2, row * 2 + 2), ...flow.other.slice(row * 3, row * 3 + 3)];
    near(all.reduce((a, b) => a + b, 0), 1);
  }
  const idle = rollout([{ pattern: [0, 0, 0, 1], heads: 1, cross: false }], 2);
  assert.deepEqual([...idle.own], [1, 0, 0, 1]);
});
