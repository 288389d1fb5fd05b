// How one number of each recurrent operation is made: the same formulas as in recurrent.ts, for one place, in float64.

import type { Group, Term } from "./header";
import { additiveRead, product as times } from "./recurrent";
import { at, group, product, type Place, type Taker } from "./terms";
import { dim, type Tensor } from "./tensor";

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));
const row = (x: Tensor, t: number): Float32Array => x.data.subarray(t * dim(x, -1), (t + 1) * dim(x, -1));

/** The value of a part of the operation's result at a token, or of the state before the first one. */
function earlier(place: Place, part: number, t: number, start: Tensor | undefined, unit: number): number {
  if (t >= 0) return at(place.value, part, t, unit);
  return start ? start.data[unit]! : 0;
}

/** Σ U h of the state before, for one row of U. */
function recalled(recurrent: Tensor, out: number, state: number[], bias?: Tensor): Term[] {
  const terms = state.map((h, j) => product(`state before, unit ${j + 1}`, at(recurrent, out, j), h));
  return bias ? [...terms, { name: "bias", value: bias.data[out]! }] : terms;
}

const stateBefore = (place: Place, part: number, start: Tensor | undefined, units: number): number[] =>
  Array.from({ length: units }, (_, j) => earlier(place, part, place.index[1]! - 1, start, j));

const lstm: Taker = (place) => {
  const [part, t, unit] = place.index as [number, number, number];
  const [inputs, start, startCell] = place.inputs;
  const units = place.shape[2]!;
  const now = (other: number): number => at(place.value, other, t, unit);
  if (part === 5) return [group("output gate · tanh of the cell", "product", [{ name: "output gate", value: now(3) }, { name: "tanh(cell)", value: Math.tanh(now(4)) }])];
  if (part === 4) {
    const kept = product("forget gate · cell before", now(1), earlier(place, 4, t - 1, startCell, unit));
    return [group("what is kept, and what is new", "sum", [kept, product("input gate · candidate", now(0), now(2))])];
  }
  const out = part * units + unit;
  const terms = recalled(place.weights[0]!, out, stateBefore(place, 5, start, units));
  const sum = group("from the input, and Σ u·h of the state before", "sum", [{ name: "from the input", value: at(inputs!, t, out) }, ...terms]);
  const result = part === 2 ? Math.tanh(sum.result) : sigmoid(sum.result);
  return [sum, group(part === 2 ? "tanh" : "sigmoid", "value", [], result)];
};

/** `more` is what is added to the inputs of each gate, one number for each row of U. */
function gated(place: Place, weights: { recurrent: Tensor; bias: Tensor }, start: Tensor | undefined, more: (out: number) => Group | null): Group[] {
  const [part, t, unit] = place.index as [number, number, number];
  const units = place.shape[2]!;
  const now = (other: number): number => at(place.value, other, t, unit);
  if (part === 3) {
    const [update, candidate] = [now(1), now(2)];
    const terms = [product("(1 − update gate) · candidate", 1 - update, candidate), product("update gate · state before", update, earlier(place, 3, t - 1, start, unit))];
    return [group("the candidate and the state before", "sum", terms)];
  }
  const out = part * units + unit;
  const fromState = group("Σ u·h of the state before", "sum", recalled(weights.recurrent, out, stateBefore(place, 3, start, units), weights.bias));
  const fromMemory = more(out);
  const terms: Term[] = [{ name: "from the input", value: at(place.inputs[0]!, t, out) }];
  if (fromMemory) terms.push({ name: "from what was read", value: fromMemory.result });
  terms.push(part === 2 ? product("reset gate · from the state", now(0), fromState.result) : { name: "from the state", value: fromState.result });
  const sum = group("the sum", "sum", terms);
  const last = part === 2 ? group("tanh", "value", [], Math.tanh(sum.result)) : group("sigmoid", "value", [], sigmoid(sum.result));
  return [fromState, ...(fromMemory ? [fromMemory] : []), sum, last];
}

const gru: Taker = (place) => gated(place, { recurrent: place.weights[0]!, bias: place.weights[1]! }, place.inputs[1], () => null);

const attentiveGru: Taker = (place) => {
  const [, start, keys, memory, mask] = place.inputs as [Tensor, Tensor, Tensor, Tensor, Tensor];
  const [query, v, context, recurrent, bias] = place.weights as [Tensor, Tensor, Tensor, Tensor, Tensor];
  const state = stateBefore(place, 3, start, place.shape[2]!);
  const read = additiveRead(keys, memory, mask, times(query, state), v);
  const more = (out: number): Group =>
    group("Σ c·m of what was read", "sum", Array.from(read, (value, m) => product(`read, dimension ${m + 1}`, at(context, out, m), value)));
  return gated(place, { recurrent, bias }, start, more);
};

const part: Taker = (place) => {
  const which = Number(place.step.settings["at"]);
  return [group("the same value", "value", [{ name: place.inputName(0, 0, which), value: at(place.inputs[0]!, which, ...place.index) }])];
};

const additiveScores: Taker = (place) => {
  const [keys, queries] = place.inputs;
  const [t, s] = place.index.slice(-2) as [number, number];
  const v = place.weights[0]!.data;
  const terms = Array.from(v, (weight, a) => product(`v · tanh, dimension ${a + 1}`, weight, Math.tanh(row(keys!, s)[a]! + (queries ? row(queries, t)[a]! : 0))));
  return [group("Σ v·tanh(key + query)", "sum", terms)];
};

const before: Taker = (place) => {
  const [t, i] = place.index as [number, number];
  const [states, start] = place.inputs as [Tensor, Tensor];
  const term = t ? { name: place.inputName(0, 0, t - 1), value: at(states, t - 1, i) } : { name: "first state", value: start.data[i]! };
  return [group("the state before", "value", [term])];
};

const stack: Taker = (place) => {
  const [g, r, i] = place.index as [number, number, number];
  const number = g * place.shape[1]! + r;
  return [group("the same value", "value", [{ name: `row ${number + 1}`, value: place.inputs[number]!.data[i]! }])];
};

const reverse: Taker = (place) => {
  const [x, [t, ...rest]] = [place.inputs[0]!, place.index as [number, ...number[]]];
  const from = dim(x, 0) - 1 - t;
  return [group("the same value, counted from the end", "value", [{ name: place.inputName(0, 0, from), value: at(x, from, ...rest) }])];
};

const beside: Taker = (place) => {
  let column = place.index[place.index.length - 1]!;
  const input = place.inputs.findIndex((x) => (column < dim(x, -1) ? true : ((column -= dim(x, -1)), false)));
  return [group("the same value", "value", [{ name: place.step.inputs[input]!, value: at(place.inputs[input]!, ...place.index.slice(0, -1), column) }])];
};

const columns: Taker = (place) => {
  const column = place.index[place.index.length - 1]! + Number(place.step.settings["begin"]);
  return [group("the same value", "value", [{ name: place.inputName(0, -1, column), value: at(place.inputs[0]!, ...place.index.slice(0, -1), column) }])];
};

const weigh: Taker = (place) => {
  const [r, i] = place.index as [number, number];
  const [a, x] = place.inputs as [Tensor, Tensor];
  return [group("Σ share·value", "sum", Array.from({ length: dim(a, 1) }, (_, k) => product(place.inputName(1, 0, k), at(a, r, k), at(x, k, i))))];
};

const maxout: Taker = (place) => {
  const [x, column, head] = [place.inputs[0]!, place.index[place.index.length - 1]!, place.index.slice(0, -1)];
  const terms = [2 * column, 2 * column + 1].map((i) => ({ name: place.inputName(0, -1, i), value: at(x, ...head, i) }));
  return [group("the larger of two", "value", terms, Math.max(terms[0]!.value, terms[1]!.value))];
};

const nothingHidden: Taker = () => [group("nothing is hidden", "value", [], 0)];

export const TAKEN_APART: Record<string, Taker> = {
  lstm, gru, attentive_gru: attentiveGru, part, additive_scores: additiveScores, before, nothing_hidden: nothingHidden,
  stack, reverse, beside, columns, weigh, maxout,
};

