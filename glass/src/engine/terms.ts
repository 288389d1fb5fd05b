// How one number of each operation is made: the same formulas as in ops.ts, for one place, in float64.

import { distanceBucket, isHidden, sharedHead } from "./attention";
import type { Group, How, Step, Term } from "./header";
import { hashedRows } from "./mixtures";
import { ACTIVATIONS } from "./ops";
import { broadcastPlaces, dim, largest, placeOf, type Tensor } from "./tensor";

/** A number's place, and what its operation got. */
export interface Place {
  step: Step;
  index: number[];
  value: Tensor; // of the step
  shape: number[]; // of the value
  inputs: Tensor[];
  weights: Tensor[];
  inputName(input: number, axis: number, at: number): string;
  ownName(axis: number, at: number): string;
}

export type Taker = (place: Place) => Group[];

const sumOf = (terms: readonly Term[]): number => terms.reduce((sum, term) => sum + term.value, 0);

export function group(label: string, how: How, terms: Term[], result?: number): Group {
  return { label, how, terms, result: result ?? combined(how, terms) };
}

function combined(how: How, terms: Term[]): number {
  if (how === "sum") return sumOf(terms);
  if (how === "mean") return sumOf(terms) / terms.length;
  if (how === "product") return terms.reduce((product, term) => product * term.value, 1);
  return how === "quotient" ? terms[0]!.value / terms[1]!.value : terms[0]!.value;
}

export const product = (name: string, a: number, b: number): Term => ({ name, value: a * b, factors: [a, b] });
const setting = (place: Place, name: string, usual = 0): number => Number(place.step.settings[name] ?? usual);
export const at = (x: Tensor, ...index: number[]): number => x.data[placeOf(x.shape, index)]!;
const shortName = (name: string): string => name.split(".").slice(-2).join(".");

/** The number of an input at the same place. */
function there(place: Place, input: number): number {
  const own = placeOf(place.shape, place.index);
  return place.inputs[input]!.data[broadcastPlaces(place.inputs[input]!, place.shape)(own)]!;
}

const given = (place: Place, input = 0): Term => ({ name: shortName(place.step.inputs[input]!), value: there(place, input) });
const row = (place: Place): number => place.index[place.index.length - 2] ?? 0;
const column = (place: Place): number => place.index[place.index.length - 1]!;

/** The numbers of an input's row, without its last index. */
function rowValues(place: Place, input = 0): Float32Array {
  const x = place.inputs[input]!;
  const width = dim(x, -1);
  const start = placeOf(x.shape, [...place.index.slice(0, -1), 0]);
  return x.data.subarray(start, start + width);
}

const rowTerms = (place: Place, f: (x: number) => number = (x) => x): Term[] =>
  Array.from(rowValues(place), (value, i) => ({ name: place.inputName(0, -1, i), value: f(value) }));

const same: Taker = (place) => [group("the same value", "value", [given(place)])];
const each = (label: string, how: How): Taker => (place) => [group(label, how, place.inputs.map((_, i) => given(place, i)))];

const embed: Taker = (place) => {
  const id = place.inputs[0]!.data[row(place)]!;
  const value = at(place.weights[0]!, id, column(place));
  return [group("row of the table, scaled", "product", [{ name: `row ${id}`, value }, { name: "scale", value: setting(place, "scale", 1) }])];
};

const sinusoidal: Taker = (place) => {
  const [width, halves] = [setting(place, "width"), place.step.settings["order"] === "halves"];
  const [i, pairs] = [column(place), Math.ceil(width / 2)];
  const [pair, sine] = halves ? [i % pairs, i < pairs] : [Math.floor(i / 2), i % 2 === 0];
  const position = row(place) + setting(place, "start");
  const angle = group("angle", "quotient", [{ name: "position", value: position }, { name: `base^(2·${pair}/${width})`, value: setting(place, "base", 10000) ** ((2 * pair) / width) }]);
  return [angle, group(sine ? "sine of the angle" : "cosine of the angle", "value", [], sine ? Math.sin(angle.result) : Math.cos(angle.result))];
};

const rows: Taker = (place) => [
  group("learned row of the position", "value", [{ name: `position ${row(place)}`, value: at(place.weights[0]!, setting(place, "start") + row(place), column(place)) }]),
];

const constant: Taker = (place) => {
  const weight = place.weights[0]!;
  const value = weight.data[placeOf(weight.shape, place.index.slice(-weight.shape.length))]!;
  return [group("a learned value", "value", [{ name: shortName(place.step.weights[0]!), value }])];
};

const linear: Taker = (place) => {
  const [weight, bias] = place.weights;
  const out = setting(place, "begin") + column(place);
  const terms = Array.from(rowValues(place), (x, i) => product(place.inputName(0, -1, i), x, at(weight!, out, i)));
  return [group(bias ? "Σ x·w, plus the bias" : "Σ x·w", "sum", bias ? [...terms, { name: "bias", value: bias.data[out]! }] : terms)];
};

/** The place in another shape of the same numbers: heads cut out of a row, or put side by side. */
const splitHeads: Taker = (place) => {
  const [head, t, e] = place.index as [number, number, number];
  return [group("the same value", "value", [{ name: place.inputName(0, -1, head * place.shape[2]! + e), value: at(place.inputs[0]!, t, head * place.shape[2]! + e) }])];
};

const joinHeads: Taker = (place) => {
  const [t, i] = place.index as [number, number];
  const width = dim(place.inputs[0]!, 2);
  const head = Math.floor(i / width);
  return [group("the same value", "value", [{ name: `head ${head + 1}`, value: at(place.inputs[0]!, head, t, i % width) }])];
};

const rotate: Taker = (place) => {
  const turns = place.step.settings["turns"] as number[];
  const [head, t, e] = place.index as [number, number, number];
  const pair = Math.floor(e / 2);
  if (pair >= turns.length) return same(place);
  const angle = group("angle", "product", [{ name: "position", value: t + setting(place, "start") }, { name: "turn of this pair", value: turns[pair]! }]);
  const [even, odd] = [at(place.inputs[0]!, head, t, 2 * pair), at(place.inputs[0]!, head, t, 2 * pair + 1)];
  const [cos, sin] = [Math.cos(angle.result), Math.sin(angle.result)];
  const terms = e % 2 === 0 ? [product("x even · cos", even, cos), product("x odd · −sin", odd, -sin)] : [product("x even · sin", even, sin), product("x odd · cos", odd, cos)];
  return [angle, group("the pair, rotated", "sum", terms)];
};

const groupOf = (place: Place, input: number): number => sharedHead(place.index[0]!, place.shape[0]!, dim(place.inputs[input]!, 0));

const scores: Taker = (place) => {
  const [head, t, j] = place.index as [number, number, number];
  const [q, k] = place.inputs as [Tensor, Tensor];
  const own = groupOf(place, 1);
  const terms = Array.from({ length: dim(q, 2) }, (_, e) => product(place.inputName(0, -1, e), at(q, head, t, e), at(k, own, j, e)));
  return [group("Σ q·k", "sum", terms)];
};

const mix: Taker = (place) => {
  const [head, t, e] = place.index as [number, number, number];
  const [pattern, v] = place.inputs as [Tensor, Tensor];
  const own = groupOf(place, 1);
  const terms = Array.from({ length: dim(pattern, 2) }, (_, j) => product(place.inputName(0, -1, j), at(pattern, head, t, j), at(v, own, j, e)));
  return [group("Σ share·value", "sum", terms)];
};

const headResults: Taker = (place) => {
  const [head, t, n] = place.index as [number, number, number];
  const width = dim(place.inputs[0]!, 2);
  const terms = Array.from({ length: width }, (_, e) => product(place.inputName(0, -1, e), at(place.inputs[0]!, head, t, e), at(place.weights[0]!, n, head * width + e)));
  return [group("Σ z·w of this head", "sum", terms)];
};

const mask: Taker = (place) => {
  if (!isHidden(place.step.settings, row(place), column(place))) return [group("visible: the same value", "value", [given(place)])];
  return [group("hidden", "value", [given(place)], -Infinity)];
};

const softmax: Taker = (place) => {
  const values = rowValues(place);
  const top = values.reduce((a, b) => Math.max(a, b), -Infinity);
  if (top === -Infinity) return [group("everything is hidden", "value", [], 0)];
  const own = Math.exp(values[column(place)]! - top);
  const above = group("exp(x − the largest x)", "value", [given(place)], own);
  const below = group("the sum of exp(x − the largest x)", "sum", rowTerms(place, (x) => Math.exp(x - top)));
  return [above, below, group("share", "quotient", [{ name: "exp", value: own }, { name: "sum", value: below.result }])];
};

const relativeBias: Taker = (place) => {
  const [head, t, j] = place.index as [number, number, number];
  const bucket = distanceBucket(j - t, place.step.settings);
  return [group(`distance ${j - t}, bucket ${bucket}`, "value", [{ name: `bucket ${bucket}, head ${head + 1}`, value: at(place.weights[0]!, bucket, head) }])];
};

const center: Taker = (place) => {
  const mean = group("mean of the row", "mean", rowTerms(place));
  return [mean, group("x − mean", "sum", [given(place), { name: "− mean", value: -mean.result }])];
};

const rms: Taker = (place) => {
  const mean = group("mean of the squares", "mean", rowTerms(place, (x) => x * x));
  const more = group("plus ε", "sum", [{ name: "mean", value: mean.result }, { name: "ε", value: setting(place, "eps") }]);
  return [mean, more, group("square root", "value", [], Math.sqrt(more.result))];
};

const gain: Taker = (place) => {
  const [g, b] = place.weights;
  const scaled = group("x · gain", "product", [given(place), { name: "gain", value: g!.data[column(place)]! }]);
  return b ? [scaled, group("plus the bias", "sum", [{ name: "x · gain", value: scaled.result }, { name: "bias", value: b.data[column(place)]! }])] : [scaled];
};

const activation: Taker = (place) => {
  const kind = String(place.step.settings["kind"]);
  const term = given(place);
  return [group(`${kind} of x`, "value", [term], ACTIVATIONS[kind]!(term.value))];
};

const pick: Taker = (place) => {
  const [x, wanted] = [place.inputs[0]!, setting(place, "at")];
  const from = wanted < 0 ? dim(x, 0) + wanted : wanted;
  return [group("the same value", "value", [{ name: place.inputName(0, 0, from), value: at(x, from, column(place)) }])];
};

const meanRows: Taker = (place) => {
  const terms = Array.from({ length: dim(place.inputs[0]!, 0) }, (_, t) => ({ name: place.inputName(0, 0, t), value: at(place.inputs[0]!, t, column(place)) }));
  return [group("mean over the rows", "mean", terms)];
};

const concat: Taker = (place) => {
  let first = place.index[0]!;
  const input = place.inputs.findIndex((x) => (first < dim(x, 0) ? true : ((first -= dim(x, 0)), false)));
  return [group("the same value", "value", [{ name: shortName(place.step.inputs[input]!), value: at(place.inputs[input]!, first, ...place.index.slice(1)) }])];
};

const patches: Taker = (place) => {
  const [p, i] = place.index as [number, number];
  const [ph, pw, image] = [setting(place, "height"), setting(place, "width"), place.inputs[0]!];
  const across = Math.floor(dim(image, 2) / pw);
  const [c, y, x] = [Math.floor(i / (ph * pw)), Math.floor(p / across) * ph + (Math.floor(i / pw) % ph), (p % across) * pw + (i % pw)];
  return [group("the same value", "value", [{ name: `channel ${c + 1}, row ${y + 1}, column ${x + 1}`, value: at(image, c, y, x) }])];
};

const largestTaker: Taker = (place) => {
  const values = rowValues(place);
  const number = largest(values, column(place) + 1)[column(place)]!;
  return [group(`number ${column(place) + 1} by size is column ${number}`, "value", rowTerms(place), number)];
};

const shares: Taker = (place) => {
  const all = Array.from(rowValues(place, 1), (expert) => ({ name: `expert ${expert + 1}`, value: at(place.inputs[0]!, row(place), expert) }));
  const below = group("the chosen probabilities", "sum", all);
  return [below, group("share", "quotient", [all[column(place)]!, { name: "sum", value: below.result }])];
};

const chosenPlace = (place: Place): number => place.inputs[1]!.data.subarray(row(place) * dim(place.inputs[1]!, 1), (row(place) + 1) * dim(place.inputs[1]!, 1)).indexOf(setting(place, "expert"));

const sent: Taker = (place) => (chosenPlace(place) >= 0 ? same(place) : [group("not sent to this expert", "value", [], 0)]);

const share: Taker = (place) => {
  const found = chosenPlace(place);
  return found < 0 ? [group("not sent to this expert", "value", [], 0)] : [group("its share", "value", [{ name: "share", value: at(place.inputs[0]!, row(place), found) }])];
};

const wordOdds: Taker = (place) => {
  const table = place.weights[0]!;
  const count = place.inputs[0]!.data.length;
  const terms = hashedRows(place.inputs[0]!.data, dim(table, 0)).map((number, i) => ({
    name: i < count ? place.inputName(0, 0, i) : `pair ${i - count + 1}`,
    value: at(table, number, column(place)),
  }));
  return [group("Σ over pieces and pairs", "sum", terms)];
};

const withOdds: Taker = (place) => {
  const [sure, shares] = [place.weights[0]!.data[0]!, place.weights[1]!.data[column(place)]!];
  const [logit, odds] = [there(place, 0), there(place, 1)];
  return [group("weighted sum", "sum", [product("logit", logit, sure), product("share of the class", shares, 1 - sure), { name: "odds of the words", value: odds }])];
};

const scale: Taker = (place) => [group("x · factor", "product", [given(place), { name: "factor", value: setting(place, "factor", 1) }])];

export const TAKEN_APART: Record<string, Taker> = {
  embed, sinusoidal, rows, constant, same, add: each("sum", "sum"), multiply: each("product", "product"), scale,
  divide: each("quotient", "quotient"), linear, split_heads: splitHeads, join_heads: joinHeads, rotate, scores, mask, softmax, mix,
  head_results: headResults, relative_bias: relativeBias, center, rms, gain, activation, pick, mean_rows: meanRows, concat, patches,
  largest: largestTaker, shares, sent, share, word_odds: wordOdds, with_odds: withOdds,
};
