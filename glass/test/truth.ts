// Whether what the tour prints is true: each claim is checked again here, from the run's values, in another way.

import assert from "node:assert/strict";
import { breather } from "../src/analysis/breathe";
import type { Run, Tensor } from "../src/engine/header";
import { ForwardPass, stepsOf } from "../src/engine/run";
import type { ModelSource } from "../src/engine/source";
import { attentionsOf } from "../src/state/anatomy";
import type { Numbers } from "../src/tour/claim";
import { sceneOf } from "../src/tour/prepare";
import type { Scene } from "../src/tour/scene";
import { stopsOf as stops, type Stop } from "../src/tour/stops";

const near = (one: number, other: number, by = 1e-4): void => assert.ok(Math.abs(one - other) <= by * Math.max(1, Math.abs(other)), `${one} is not ${other}`);

export async function sceneFor(source: ModelSource, run: Run): Promise<Scene> {
  const { header } = source;
  const engine = (run.pass as ForwardPass).engine;
  const sequence = (header.decoding && header.program.causal[0]) || Object.keys(header.tokenizers)[0] || "";
  const list = source.reader(sequence)?.shown ?? [];
  const sight = {
    program: header.program, steps: stepsOf(header.program), values: (name: string) => run.pass.values(name),
    weight: (name: string) => (name in header.weights ? engine.weight(name) : null),
  };
  const checks = run.trace ? source.verify(run) : null;
  return sceneOf({ header, run, sight, attentions: attentionsOf(header.program), checks, shown: (id) => list[id] ?? `#${id}`, breathe: breather(undefined, Infinity) });
}

type Check = (scene: Scene, n: Numbers, source: ModelSource) => void;

/** One number of a pattern or of the scores behind it. */
function cellOf({ data, shape }: Tensor, head: number, query: number, key: number): number {
  const [queries = 0, keys = 0] = shape.slice(-2);
  return data[(head * queries + query) * keys + key]!;
}

function patternOf(scene: Scene, part: unknown): Tensor {
  return scene.run.pass.values(scene.attentions.find((one) => one.id === part)!.pattern.name);
}

/** log P of what the page counts as the answer, by the run's own log-probabilities. */
function logAnswer(scene: Scene, run: Run, ids: number[]): number {
  return scene.decisions.reduce((sum, { row }, i) => sum + run.logProbs(row)[ids[i]!]!, 0);
}

/** The ids that were chosen where the scene has decisions. */
function chosenIds(scene: Scene): number[] {
  const { header, run } = scene;
  return scene.decisions.map(({ row }) => {
    const logs = run.logProbs(row);
    const written = header.task.head !== "next" ? undefined : header.decoding?.start === -1 ? run.written?.ids[0] : run.written?.ids[row];
    return written ?? logs.indexOf(Math.max(...logs));
  });
}

/** What every head costs, each removed in a run of its own. */
function allCosts(scene: Scene, source: ModelSource): Map<string, number> {
  const ids = chosenIds(scene);
  const before = logAnswer(scene, scene.run, ids);
  const found = new Map<string, number>();
  for (const one of scene.attentions) {
    if (!one.z || one.pattern.axes[0] !== "head") continue;
    for (let head = 0; head < one.heads; head++) {
      const other = source.changed(scene.run, [{ step: one.z.name, how: "mean", head }]);
      found.set(`${one.id} ${head}`, before - logAnswer(scene, other, ids));
    }
  }
  return found;
}

function cosines(scene: Scene, id: number): number[] {
  const embed = scene.program.steps.find((step) => step.op === "embed" && scene.program.sequences[step.inputs[0]!] === "ids")!;
  const { data, shape } = scene.weight(embed.weights[0]!)!;
  const row = (at: number): number[] => [...data.subarray(at * shape[1]!, (at + 1) * shape[1]!)];
  const dot = (a: number[], b: number[]): number => a.reduce((sum, value, i) => sum + value * b[i]!, 0);
  const own = row(id);
  return Array.from({ length: shape[0]! }, (_, at) => dot(own, row(at)) / Math.sqrt(dot(own, own) * dot(row(at), row(at)) || Infinity));
}

/** A norm before each sub-layer: then a stream that ends early is one to which the later sub-layers add nothing. */
function endsEarly(scene: Scene, source: ModelSource, at: number, stack: string): Run | null {
  const steps = scene.program.steps.filter((step) => /_residual\.added$/.test(step.name) && step.name.startsWith(stack));
  const after = steps.map((step) => scene.program.steps.find((one) => one.name === step.name.replace(".added", ".after")));
  if (after.some((step) => step?.op !== "add")) return null;
  return source.changed(scene.run, steps.slice(at).map((step) => ({ step: step.name, how: "zero" as const })));
}

const CHECKS: Record<string, Check> = {
  patches: (scene, n) => {
    const image = scene.run.pass.values(Object.keys(scene.program.sequences).find((name) => scene.program.sequences[name] === "image")!);
    const [channels = 0, high = 0, wide = 0] = image.shape;
    assert.equal(n.count, Math.floor(high / (n.high as number)) * Math.floor(wide / (n.wide as number)));
    assert.equal(n.width, channels * (n.high as number) * (n.wide as number));
  },
  pieces: (scene, n) => {
    const [all, words] = [scene.run.pieces[n.sequence as string]!, scene.run.words[n.sequence as string]!];
    const from = n.from as number;
    let to = from;
    while (to < all.length && words[to] === words[from]) to++;
    assert.equal(to - from, n.count);
    assert.equal(all.slice(from, to).map((piece) => piece.replace(/^[▁␣ ]|^##/g, "")).join(""), n.word);
    if (scene.header.traces.length && n.vocabulary) assert.ok(scene.run.ids[n.sequence as string]!.every((id) => id < (n.vocabulary as number)));
  },
  row: (scene, n) => {
    const all = cosines(scene, n.id as number);
    near(all[n.nearId as number]!, n.cosine as number);
    const better = all.flatMap((cosine, id) => (id !== n.id && cosine > (n.cosine as number) + 1e-6 ? [id] : []));
    for (const id of better) assert.doesNotMatch(scene.shown(id).replace(/[▁␣ ]/g, ""), /^[\p{L}\p{N}]+$/u, `${scene.shown(id)} is nearer`);
  },
  place: (scene, n) => {
    if (!("place" in n)) return;
    const size = (name: unknown): number => Math.hypot(...scene.run.pass.values(name as string).data.subarray(0, n.width as number));
    near(size(n.step), n.place as number);
    near(size(n.embed), n.piece as number);
  },
  parameters: (scene, n) => {
    const names = new Set(scene.program.steps.flatMap((step) => step.weights));
    const total = [...names].reduce((sum, name) => sum + scene.weight(name)!.data.length, 0);
    assert.equal(n.total, total);
    assert.ok((n.share as number) > (n.secondShare as number) && (n.share as number) + (n.secondShare as number) <= 1 + 1e-9);
  },
  axis: (scene, n) => {
    const { data, shape } = patternOf(scene, n.part);
    const [queries = 0, keys = 0] = shape.slice(-2);
    const columns = Array.from({ length: keys }, (_, key) => Array.from({ length: queries }, (_, query) => data[((n.head as number) * queries + query) * keys + key]!).reduce((a, b) => a + b));
    near(Math.max(...columns), n.mostTotal as number);
    near(Math.min(...columns), n.leastTotal as number);
    near(n.rowTotal as number, 1, 1e-3);
  },
  reads: (scene, n) => {
    const pattern = patternOf(scene, n.part);
    const row = Array.from({ length: pattern.shape.at(-1)! }, (_, key) => cellOf(pattern, n.head as number, n.query as number, key));
    assert.equal(row.indexOf(Math.max(...row)), n.key);
    assert.equal(row[n.key as number], n.share);
  },
  sum: (scene, n) => {
    const one = scene.attentions.find((attention) => attention.id === n.part)!;
    const [q, k] = [scene.run.pass.values(one.q!.name), scene.run.pass.values(one.k!.name)];
    const width = q.shape[2]!;
    const group = Math.floor((n.head as number) / (q.shape[0]! / k.shape[0]!));
    let product = 0;
    for (let i = 0; i < width; i++) product += q.data[((n.head as number) * q.shape[1]! + (n.query as number)) * width + i]! * k.data[(group * k.shape[1]! + (n.key as number)) * width + i]!;
    assert.equal(n.width, width);
    near(n.product as number, product, 1e-4);
    near(n.scaled as number, product / (n.divisor as number), 1e-4);
    assert.equal(cellOf(patternOf(scene, n.part), n.head as number, n.query as number, n.key as number), n.share);
  },
  later: (scene, n) => {
    const pattern = patternOf(scene, n.part);
    const row = Array.from({ length: n.keys as number }, (_, key) => cellOf(pattern, n.head as number, n.query as number, key));
    const after = row.slice((n.query as number) + 1).reduce((a, b) => a + b, 0);
    if (n.causal) assert.ok(after === 0 && row.slice(0, n.mayRead as number).every((share) => share > 0));
    else near(after, n.after as number);
  },
  needed: (scene, n, source) => {
    const costs = allCosts(scene, source);
    assert.equal(costs.size, n.heads);
    near(costs.get(`${n.part} ${n.head}`)!, n.cost as number, 1e-3);
    near(Math.max(...costs.values()), n.cost as number, 1e-3);
    near(Math.exp(n.cost as number), n.times as number);
  },
  effect: (scene, n, source) => {
    const cost = allCosts(scene, source).get(`${n.part} ${n.head}`)!;
    near(cost, n.cost as number, 1e-3);
    assert.ok(Math.abs(cost) <= 0.1 + 1e-3 && (n.sharpness as number) >= 0.6);
  },
  decided: (scene, n, source) => {
    const ids = new Map(scene.decisions.map(({ row }, i) => [row, chosenIds(scene)[i]!]));
    const stack = scene.program.steps.some((step) => step.name.startsWith("decoder.")) ? "decoder." : "";
    for (const [row, at] of [[n.earlyRow, n.earlyAt], [n.lateRow, n.lateAt]] as [number, number][]) {
      const id = ids.get(row);
      const [now, before] = [endsEarly(scene, source, at, stack), at > 0 ? endsEarly(scene, source, at - 1, stack) : null];
      if (id === undefined || !now) continue;
      const best = (of: Run): number => { const logs = of.logProbs(row); return logs.indexOf(Math.max(...logs)); };
      assert.equal(best(now), id);
      if (before) assert.notEqual(best(before), id);
    }
  },
  sure: (scene, n) => {
    const ids = chosenIds(scene);
    const shares = scene.decisions.map(({ row }, i) => Math.exp(scene.run.logProbs(row)[ids[i]!]!));
    near(Math.min(...shares), n.probability as number);
    const logs = [...scene.run.logProbs(n.row as number)].sort((a, b) => b - a);
    near(Math.exp(logs[1]!), n.secondProbability as number);
    assert.equal(n.candidates, logs.length);
  },
  ceiling: (scene, n) => {
    const ids = chosenIds(scene);
    const top = Math.max(...scene.decisions.map(({ row }, i) => Math.exp(scene.run.logProbs(row)[ids[i]!]!)));
    near(top, n.top as number);
    near(n.asked as number, 1 - (n.smoothing as number) * (1 - 1 / scene.run.logProbs(0).length));
    assert.ok(Math.abs(top - (n.asked as number)) <= 0.06);
  },
  beam: (scene, n) => {
    const scores = scene.run.search!.hypotheses.map((one) => one.score);
    assert.ok(n.score === Math.max(...scores) && (n.secondScore as number) <= (n.score as number));
    assert.equal(n.nodes, scene.run.search!.nodes.length - 1);
  },
  proof: (scene, n) => {
    assert.ok(scene.checks!.ok && n.compared === scene.checks!.compared && (n.worst as number) < 1e-5);
  },
};

const WORDS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];

/** Every number in a text is one of the claim's numbers, rounded as it is printed. */
function numbersAreTheirs({ claim, rule }: Stop): void {
  const plain = claim.text.replace(/“[^”]*”/g, "").replaceAll(",", "").replaceAll("−", "-");
  const values = Object.values(claim.numbers).filter((value) => typeof value === "number");
  const known = values.flatMap((value) => [value, Math.abs(value), value * 100, value + 1, 1 - value]);
  const constants: Record<string, number[]> = { row: [0, 1], axis: [100], later: [0], ceiling: [100, 95], effect: [0.001, 0], needed: [], sure: [99.9, 0.1], reads: [99.9], sum: [99.9] };
  for (const [text] of plain.matchAll(/-?\d+(\.\d+)?(e-\d+)?/g)) {
    const number = Number(text);
    const digits = /\.(\d+)/.exec(text)?.[1]?.length ?? 0;
    const by = text.includes("e") ? Math.abs(number) / 2 : 0.5 * 10 ** -digits + 1e-9;
    const own = [...known, ...(constants[rule.id] ?? []), 99.9, 0.1].some((value) => Math.abs(value - number) <= by);
    assert.ok(own, `${rule.id}: ${text} is not a number of the claim: ${claim.text}`);
  }
  const words = WORDS.filter((word, i) => i > 1 && new RegExp(`\\b${word}\\b`).test(plain));
  for (const word of words) assert.ok(values.includes(WORDS.indexOf(word)), `${rule.id}: ${word}: ${claim.text}`);
}

/** Asserts that all that the tour says of this run is true; the ids of its stops. */
export async function assertTrue(source: ModelSource, run: Run): Promise<string[]> {
  const scene = await sceneFor(source, run);
  const found = stops(scene);
  for (const stop of found) {
    const check = CHECKS[stop.rule.id];
    assert.ok(check, `${stop.rule.id} has a check`);
    try {
      check(scene, stop.claim.numbers, source);
      numbersAreTheirs(stop);
    } catch (error) {
      throw new Error(`${stop.rule.id}, “${run.text}”: ${stop.claim.text} ${String(error)} ${JSON.stringify(stop.claim.numbers)}`, { cause: error });
    }
    const { question } = stop.claim;
    if (question) assert.equal(question.options.filter((option) => option.right).length, 1, `${stop.rule.id}: ${JSON.stringify(question)}`);
  }
  return found.map((stop) => stop.rule.id);
}
