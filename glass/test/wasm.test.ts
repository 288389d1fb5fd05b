import assert from "node:assert/strict";
import { test } from "node:test";
import { linear } from "../src/engine/ops";
import { tensor, type Tensor } from "../src/engine/tensor";
import { fastLinear } from "../src/engine/wasm";
import { random, worst } from "./close";

const fast = fastLinear();

function check(rows: number, inner: number, outputs: number, begin = 0, end = outputs, bias = true): void {
  const number = random(rows * 7919 + inner * 31 + outputs);
  const made = (shape: number[]): Tensor => tensor(Float32Array.from({ length: shape.reduce((a, b) => a * b) }, number), shape);
  const [x, weight, b] = [made([rows, inner]), made([outputs, inner]), bias ? made([outputs]) : undefined];
  const [got, right] = [fast.linear(x, weight, b, begin, end), linear(x, weight, b, begin, end)];
  assert.deepEqual(got.shape, right.shape);
  assert.ok(worst(got, right) < 1e-6, `${rows} × ${inner} -> ${outputs}: ${worst(got, right)}`);
}

test("the kernel runs here", () => assert.equal(fast.name, "WebAssembly"));

test("the kernel agrees with the reference, whatever the sizes", () => {
  for (const rows of [1, 2, 3, 8, 17]) {
    for (const inner of [13, 16, 31, 128]) for (const outputs of [29, 64, 131]) check(rows, inner, outputs);
  }
});

test("it computes some of the outputs, without a bias too", () => {
  check(5, 64, 192, 64, 128);
  check(5, 63, 189, 126, 189);
  check(3, 63, 189, 1, 180, false);
});

test("more rows than fit at once, and weights that need more memory", () => {
  check(460, 5, 4600);
  check(2, 1024, 3001);
});

test("a NaN is passed on", () => {
  const x = tensor(new Float32Array(64).fill(1), [1, 64]);
  x.data[5] = NaN;
  const y = fast.linear(x, tensor(new Float32Array(64 * 128), [128, 64]), undefined, 0, 128);
  assert.ok(y.data.every(Number.isNaN));
});
