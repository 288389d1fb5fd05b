import assert from "node:assert/strict";
import { test } from "node:test";
import { Chunks, fromBase64 } from "../src/engine/chunks";
import { tensor } from "../src/engine/tensor";
import { Packer } from "./pages";

test("arrays and texts are read as they were written, also across chunks", async () => {
  const packer = new Packer();
  const long = tensor(Float32Array.from({ length: 3000 }, (_, i) => Math.sin(i)), [50, 60]);
  const refs = [packer.array(tensor([1, -2.5, 3])), packer.array(long), packer.array(tensor([7, -9]), "i32")];
  const text = packer.text('größer 👍🏽 "</script>"');
  const chunks = await packer.chunks();
  assert.ok(chunks.count > 2);
  assert.deepEqual(refs.map((ref) => [...chunks.array(ref).data]), [[1, -2.5, 3], [...long.data], [7, -9]]);
  assert.deepEqual(chunks.array(refs[1]!).shape, [50, 60]);
  assert.equal(chunks.string(text), 'größer 👍🏽 "</script>"');
});

test("numbers of 16 bits", async () => {
  const packer = new Packer();
  const numbers = [0, 1, -2, 0.5, 65504, 6.103515625e-5, 5.960464477539063e-8, 0.333251953125, Infinity, -Infinity];
  const ref = packer.array(tensor(numbers), "f16");
  assert.deepEqual([...(await packer.chunks()).array(ref).data], numbers);
});

test("base64 with and without the browser's own function", () => {
  assert.deepEqual([...fromBase64(" AAEC/w==\n")], [0, 1, 2, 255]);
});

test("a chunk that is missing or damaged is an error, not wrong numbers", async () => {
  await assert.rejects(new Chunks(1, () => "AAAA").load(0));
  await assert.rejects(new Chunks(1, () => "").load(1), /damaged/);
  assert.throws(() => new Chunks(1, () => "").array({ chunk: 0, offset: 0, shape: [1], dtype: "f32" }), /damaged/);
  const short = new Packer();
  short.array(tensor([1, 2]));
  const chunks = await short.chunks();
  assert.throws(() => chunks.array({ chunk: 0, offset: 0, shape: [3], dtype: "f32" }), /damaged/);
});
