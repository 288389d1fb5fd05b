import assert from "node:assert/strict";
import { test } from "node:test";
import { cosine, nearest } from "../src/analysis/nearest";

const table = { data: Float32Array.from([1, 0, 2, 0.2, 0, 1, -1, 0, 0, 0]), shape: [5, 2] };

test("nearest rows are ordered by cosine; a row of zeros has no direction", () => {
  const found = nearest(table, 0, 2);
  assert.deepEqual(found.map((one) => one.row), [1, 2]);
  assert.ok(Math.abs(found[0]!.cosine - 2 / Math.hypot(2, 0.2)) < 1e-6);
  assert.deepEqual(nearest(table, 4, 3), []);
});

test("opposite rows have cosine -1", () => {
  assert.equal(cosine(table, 0, 3), -1);
});
