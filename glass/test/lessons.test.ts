// What lessons compute in the page, against Python: with the settings where each begins, and with others.

import assert from "node:assert/strict";
import { test } from "node:test";
import { difference } from "../src/engine/compare";
import type { Tensor } from "../src/engine/header";
import { tensor } from "../src/engine/tensor";
import * as cat from "../src/lessons/cat";
import { verdictOf, type Results } from "../src/lessons/check";
import type { Lesson } from "../src/lessons/data";
import * as mask from "../src/lessons/mask";
import * as mixing from "../src/lessons/mixing";
import * as norm from "../src/lessons/norm";
import * as positions from "../src/lessons/positions";
import { distances, matrix, numbered, row, sinusoidal, vectorFor, wordsOf } from "../src/lessons/reckon";
import * as scaling from "../src/lessons/scaling";
import { read } from "./fixtures";

type Stored = { shape: number[]; data: number[] };
type StoredLesson = { kind: string; settings: never; arrays: Record<string, Stored>; right: Record<string, Stored>; turned: Record<string, Stored> };

const tensors = (all: Record<string, Stored>): Record<string, Tensor> => Object.fromEntries(Object.entries(all).map(([name, one]) => [name, tensor(one.data, one.shape)]));
const stored = read<Record<string, StoredLesson>>("lessons.json");
const lessonNamed = (name: string): Lesson<never> => {
  const { kind, settings, arrays, right } = stored[name]!;
  return { kind, settings, arrays: tensors(arrays), right: tensors(right) };
};
const RESULTS: Record<string, (lesson: Lesson<never>) => Results> = {
  mixing: mixing.results, cat: cat.results, mask: mask.results, scaling: scaling.results, norm: norm.results, positions: positions.results,
};

for (const name of Object.keys(stored)) {
  test(`${name}: every number of the lesson is computed again`, () => {
    const lesson = lessonNamed(name);
    const verdict = verdictOf(RESULTS[lesson.kind]!(lesson), lesson.right);
    assert.deepEqual(verdict.failures, []);
    assert.ok(verdict.ok && verdict.compared >= 12 && verdict.worst < 2e-6, `${verdict.compared} ${verdict.worst}`);
  });

  test(`${name}: one wrong number is found`, () => {
    const lesson = lessonNamed(name);
    for (const [key, value] of Object.entries(lesson.right)) {
      const wrong = tensor(value.data.map((one, i) => (i === value.data.length - 1 ? one + 1e-3 * Math.max(1, Math.abs(one)) * 10 : one)), value.shape);
      const verdict = verdictOf(RESULTS[lesson.kind]!(lesson), { ...lesson.right, [key]: wrong });
      assert.deepEqual(verdict.failures, [key]);
    }
    assert.equal(verdictOf({}, lesson.right).ok, false);
  });
}

const near = (computed: Tensor, right: Stored): void => {
  assert.deepEqual(computed.shape, right.shape);
  assert.ok(difference(computed, tensor(right.data, right.shape)).error < 2e-6);
};

test("mixing: another scale gives Python's shares", () => {
  const settings = lessonNamed("mixing").settings as mixing.Settings;
  near(mixing.mixed(settings.sentences[1]!.map((word) => settings.vectors[word]!), 2.5).weights, stored.mixing!.turned["weights at 2.5"]!);
  const even = mixing.mixed(settings.sentences[0]!.map((word) => settings.vectors[word]!), 0);
  assert.ok(even.weights.data.every((share) => Math.abs(share - 1 / 3) < 1e-6));
});

test("norm: a changed number and padding give Python's outputs", () => {
  const settings = lessonNamed("norm").settings as norm.Settings;
  const values = settings.values.map((one) => [...one]);
  values[4]![0]! += 10;
  near(norm.normalised("batch", values, 2, settings.eps), stored.norm!.turned.batch!);
  near(norm.normalised("layer", values, 2, settings.eps), stored.norm!.turned.layer!);
  const moved = distances(norm.normalised("layer", values, 2, settings.eps), norm.normalised("layer", settings.values, 0, settings.eps));
  assert.deepEqual(moved.map((gap) => gap > 1e-6), [false, false, false, false, true]);
});

test("positions: another base and width give Python's table; a rotation is a step", () => {
  near(sinusoidal(40, 10, 100), stored.positions!.turned["table at base 100"]!);
  const table = sinusoidal(40, 10, 100);
  const there = positions.turned(row(table, 11), 9, 10, 100);
  assert.ok(there.every((value, i) => Math.abs(value - row(table, 20)[i]!) < 1e-6));
});

test("positions: which candidates have values that were never seen", () => {
  const at = (name: string) => positions.unseen(positions.CANDIDATES[name]!, 100, 64, 128);
  assert.deepEqual([at("a count"), at("a count / length"), at("binary digits")], [[1, 1], [0, 1], [1, 9]]);
});

test("masks: the hidden keys, and a leak where nothing is hidden", () => {
  const lesson = lessonNamed("mask");
  const x = lesson.arrays.vectors!;
  const all: mask.Mask = { causal: false, window: 0, real: 4 };
  assert.deepEqual([mask.hiddenBy({ ...all, causal: true }, 0, 1), mask.hiddenBy({ ...all, window: 2 }, 3, 1), mask.hiddenBy({ ...all, real: 3 }, 0, 3)], ["future", "window", "padding"]);
  assert.ok(mask.moved(x, all, 3).slice(0, 3).every((gap) => gap > 1e-5));
  assert.ok(mask.moved(x, { ...all, causal: true }, 3).slice(0, 3).every((gap) => gap === 0));
});

test("scaling: the slope of a saturated softmax is nothing", () => {
  assert.ok(scaling.size(scaling.jacobian(Float32Array.from([1, 0, 0]))) === 0);
  assert.ok(Math.abs(scaling.size(scaling.jacobian(Float32Array.from([0.5, 0.5]))) - 0.5) < 1e-6);
});

test("cat: the products of a score add up to it", () => {
  const one = cat.reading(lessonNamed("cat").arrays.embeddings!, true, 2);
  const sum = cat.termsOf(one, 1, 4).reduce((total, term) => total + term, 0);
  assert.ok(Math.abs((2 * sum) / Math.sqrt(32) - row(one.scores, 1)[4]!) < 1e-4);
});

test("new words get a vector of their own, always the same", () => {
  assert.deepEqual(vectorFor("river", 5), vectorFor("river", 5));
  assert.notDeepEqual(vectorFor("river", 5), vectorFor("bank", 5));
  assert.ok(vectorFor("🍰", 400).every(Number.isFinite));
  assert.deepEqual(numbered(wordsOf("  a b\ta ")), ["a 1", "b", "a 3"]);
  assert.equal(matrix([[1, 2], [3, 4]]).shape.join(), "2,2");
});
