import assert from "node:assert/strict";
import { test } from "node:test";
import { contributionsTo, lengths, splitByHead, topNeurons } from "../src/analysis/contributions";
import { isRecurrent, outputOf, pathBetween, source, statesOf, streamsOf, sum, type Sight } from "../src/analysis/graph";
import { decidedAt, guesses, guessOf, isRowWise, through } from "../src/analysis/lens";
import { at, pull, worth } from "../src/analysis/pull";
import { logProbsOf, logitsAt, type Readout } from "../src/analysis/readout";
import type { Program, Step, Tensor } from "../src/engine/header";
import { compute, ForwardPass, stepsOf, type Engine } from "../src/engine/run";
import { argmax, tensor } from "../src/engine/tensor";
import { worst } from "./close";
import { engineOf, fixtures } from "./fixtures";

function sightOf(engine: Engine, pass: ForwardPass): Sight {
  return { program: engine.program, steps: stepsOf(engine.program), values: (name) => pass.values(name), weight: (name) => engine.weight(name) ?? null };
}

function readoutAt(step: string, logits: Tensor): Readout {
  const [places, candidates] = [logits.data.length / logits.shape.at(-1)!, logits.shape.at(-1)!];
  const blank = { step, kind: "next" as const, places, candidates, across: "row" as const, answer: [] };
  return { ...blank, chosen: Array.from({ length: places }, (_, place) => argmax(logitsAt(logits, blank, place))) };
}

function near(one: number, other: number, scale = 1): void {
  assert.ok(Math.abs(one - other) < 1e-5 * Math.max(1, Math.abs(scale)), `${one} is not ${other}`);
}

for (const one of fixtures()) {
  const recurrent = isRecurrent(one.program);
  const output = outputOf(one.program, (recurrent ? statesOf : streamsOf)(one.program));
  if (!output) continue;
  const engine = engineOf(one);
  const pass = new ForwardPass(engine, one.inputs).all();
  const sight = sightOf(engine, pass);
  const readout = readoutAt(output.logits, pass.values(output.logits));
  const place = readout.places - 1;
  const question = { place, candidate: readout.chosen[place]!, against: null };
  const apply = (step: Step, inputs: Tensor[]): Tensor => compute(engine, step, inputs);

  test(`${one.name}: the parts of a logit add up to it`, () => {
    for (const against of [null, (question.candidate + 1) % readout.candidates]) {
      const found = contributionsTo(sight, output.stream, readout, { ...question, against });
      assert.deepEqual(found.missing, []);
      near(found.total, found.logit, found.logit);
        if (recurrent) continue;
      const sublayers = found.parts.filter((part) => part.layer !== null);
      assert.equal(sublayers.length, output.stream.points.length - 1);
    }
  });

  if (recurrent) continue;

  test(`${one.name}: the parts of a sub-layer add up to what it adds`, () => {
    const found = contributionsTo(sight, output.stream, readout, question);
    for (const part of found.parts) {
      const weights = found.weights.get(part.step);
      if (!weights || part.layer === null) continue;
      const split = splitByHead(sight, part.step, weights);
      if (split) {
        near(sum(split.heads.map((head) => head.value)) + split.rest, part.value, found.logit);
        for (const head of split.heads) near(sum(head.keys), head.value, found.logit);
      }
      const neurons = topNeurons(sight, part.step, weights, 3);
      if (neurons) near(sum(neurons.top.map((neuron) => neuron.value)) + neurons.rest + neurons.bias, part.value, found.logit);
      assert.ok(split || neurons, part.step);
    }
  });

  test(`${one.name}: the lens at the end of the stream is the output`, () => {
    const end = output.stream.points.at(-1)!.step;
    const value = pass.values(end);
    const again = through(sight, output.tail, end, value, apply);
    assert.ok(worst(again, pass.values(output.logits)) < 1e-7);
    const lens = { tail: output.tail, end };
    const range = { begin: 0, end: readout.places };
    const all = guesses(sight, lens, readout, value, apply, range);
    assert.deepEqual(all.map((guess) => guess.best), readout.chosen);
    const logProbs = logProbsOf(pass.values(output.logits), readout);
    all.forEach((guess, i) => near(Math.log(guess.chosen), logProbs[i]!));
    const lastOnly = guesses(sight, lens, readout, value, apply, { begin: place, end: place + 1 });
    near(lastOnly[0]!.prob, all[place]!.prob);
  });
}

test("a pre-norm stream is its inputs plus everything that was added", () => {
  const one = fixtures().find((fixture) => fixture.name === "transformer");
  if (!one) return;
  const streams = streamsOf(one.program);
  assert.deepEqual(streams.map((stream) => stream.stack), ["encoder", "decoder"]);
  const decoder = streams[1]!;
  assert.deepEqual(decoder.points.slice(0, 4).map((point) => point.what), ["inputs", "self_attention", "cross_attention", "feed_forward"]);
  assert.equal(decoder.points[0]!.layer, null);
});

// --- By hand: y = (W x) * 2 + b, then one row is picked ---------------------------------------------------------------

function step(name: string, op: string, inputs: string[], weights: string[] = [], settings: Step["settings"] = {}): Step {
  return { name, op, inputs, weights, axes: ["text", "width"], shape: ["text", 2], settings, part: "", tapped: false, code: "" };
}

const HAND: Program = {
  kind: "hand", sequences: { x: "numbers" }, outputs: { y: "y" }, causal: [],
  steps: [
    step("first", "same", ["x"]),
    step("relu", "activation", ["first"], [], { kind: "relu" }),
    step("map", "linear", ["relu"], ["W", "b"]),
    step("double", "scale", ["map"], [], { factor: 2 }),
    step("both", "add", ["double", "first"]),
    step("y", "pick", ["both"], [], { at: -1 }),
  ],
};

function hand(): Sight {
  const weights: Record<string, Tensor> = { W: tensor([1, 2, 3, 4], [2, 2]), b: tensor([10, 20]) };
  const engine: Engine = { program: HAND, weight: (name) => weights[name]!, linear: ({ data, shape }, w, b) => {
    const y = new Float32Array(data.length);
    for (let t = 0; t < shape[0]!; t++) for (let n = 0; n < 2; n++) y[t * 2 + n] = data[t * 2]! * w.data[n * 2]! + data[t * 2 + 1]! * w.data[n * 2 + 1]! + b!.data[n]!;
    return { data: y, shape };
  } };
  const pass = new ForwardPass(engine, { x: tensor([5, 6, -1, 3], [2, 2]) }).all();
  return sightOf(engine, pass);
}

test("walking back finds the factors, the biases and the row", () => {
  const sight = hand();
  const found = pull(sight, "y", at(sight, "y", 0, 1), new Set(["first"]));
  // y[1] = 2 (3 relu(-1) + 4 relu(3) + 20) + 3: the gate of -1 is closed.
  assert.deepEqual([...found.stops.get("first")!], [[1, Float64Array.of(0, 9)]]);
  assert.deepEqual([...found.biases], [["map", 40]]);
  assert.equal(worth(sight.values("first"), found.stops.get("first")!).total, 27);
  assert.equal(sight.values("y").data[1], 67);
});

test("weights that are not in the file are reported, and nothing is invented", () => {
  const sight = { ...hand(), weight: () => null };
  const found = pull(sight, "y", at(sight, "y", 0, 1), new Set(["first"]));
  assert.deepEqual(found.missing, ["map"]);
});

test("paths contain only what depends on the beginning and leads to the end", () => {
  assert.deepEqual(pathBetween(HAND, "map", "y").map((each) => each.name), ["double", "both", "y"]);
  assert.deepEqual(pathBetween(HAND, "y", "map"), []);
  assert.equal(source("first", stepsOf(HAND)), "x");
  assert.equal(isRowWise(pathBetween(HAND, "map", "y"), "map"), false);
});

test("a word is decided where its best guess stops changing", () => {
  const guess = (best: number) => ({ best, prob: 1, chosen: 0, rank: 1 });
  assert.equal(decidedAt([guess(1), guess(2), guess(1), guess(1)], 1), 2);
  assert.equal(decidedAt([guess(1), guess(2)], 1), null);
  assert.equal(decidedAt([guess(1), guess(1)], 1), 0);
  const { rank, best } = guessOf([0, 3, 1], 2);
  assert.deepEqual([rank, best], [2, 1]);
});

test("lengths are Euclid's", () => {
  assert.deepEqual([...lengths(tensor([3, 4, 0, 0], [2, 2]))], [5, 0]);
});
