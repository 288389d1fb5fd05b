// Operations of a mixture of experts, and of the odds that single words give to a class.
// Shapes: T rows, X experts, k experts of each row, D width, S rows of a table, K classes.

import type { Call, Op } from "./ops";
import { combine, dim, eachRowOf, largest as largestOf, zeros, type Tensor } from "./tensor";

const expertOf = (call: Call): number => Number(call.settings["expert"]);

/** The places of the largest values of each row, largest first: (T, X) -> (T, k) */
function largest(call: Call): Tensor {
  const [x, count] = [call.inputs[0]!, Number(call.settings["count"])];
  const y = zeros([dim(x, 0), count]);
  eachRowOf(x, (row, t) => y.data.set(largestOf(row, count), t * count));
  return y;
}

/** The probabilities of the chosen experts, scaled to sum to 1: (T, X), (T, k) -> (T, k) */
function shares({ inputs }: Call): Tensor {
  const [probabilities, chosen] = [inputs[0]!, inputs[1]!];
  const y = zeros(chosen.shape);
  const [experts, count] = [dim(probabilities, 1), dim(chosen, 1)];
  eachRowOf(chosen, (row, t) => {
    const own = Array.from(row, (expert) => probabilities.data[t * experts + expert]!);
    const total = own.reduce((a, b) => a + b, 0);
    own.forEach((value, j) => (y.data[t * count + j] = value / total));
  });
  return y;
}

/** The rows that are sent to an expert; zeros instead of the others. */
function sent(call: Call): Tensor {
  const [x, chosen, expert] = [call.inputs[0]!, call.inputs[1]!, expertOf(call)];
  const y = zeros(x.shape);
  eachRowOf(x, (row, t) => {
    if (rowOf(chosen, t).includes(expert)) y.data.set(row, t * row.length);
  });
  return y;
}

/** The share of an expert for each row, 0 where it is not chosen: (T, k), (T, k) -> (T, 1) */
function share(call: Call): Tensor {
  const [given, chosen, expert] = [call.inputs[0]!, call.inputs[1]!, expertOf(call)];
  const y = zeros([dim(given, 0), 1]);
  for (let t = 0; t < y.data.length; t++) {
    const place = rowOf(chosen, t).indexOf(expert);
    if (place >= 0) y.data[t] = rowOf(given, t)[place]!;
  }
  return y;
}

const rowOf = (x: Tensor, t: number): Float32Array => x.data.subarray(t * dim(x, 1), (t + 1) * dim(x, 1));

const [FIRST, SECOND] = [0x9e3779b1n, 0x85ebca6bn];

/** The rows of a table that belong to some ids: those of each id, then those of each pair of neighbours. */
export function hashedRows(ids: ArrayLike<number>, count: number): number[] {
  const all = Array.from(ids, BigInt);
  const mask = BigInt(count - 1);
  const words = all.map((id) => Number(((id * FIRST) >> 7n) & mask));
  const pairs = all.slice(1).map((id, i) => Number(((all[i]! * FIRST + id * SECOND + 1n) >> 9n) & mask));
  return [...words, ...pairs];
}

/** The rows of all tokens and of all pairs of neighbours, added up: (1, K) */
function wordOdds({ inputs, weights }: Call): Tensor {
  const [table, classes] = [weights[0]!, dim(weights[0]!, 1)];
  const sums = new Float64Array(classes);
  for (const row of hashedRows(inputs[0]!.data, dim(table, 0))) {
    for (let c = 0; c < classes; c++) sums[c]! += table.data[row * classes + c]!;
  }
  return { data: Float32Array.from(sums), shape: [1, classes] };
}

/** sure * logits + (1 - sure) * shares + odds */
function withOdds({ inputs, weights }: Call): Tensor {
  const [logits, odds] = [inputs[0]!, inputs[1]!];
  const [sure, shares] = [weights[0]!.data[0]!, weights[1]!];
  const leaning = combine(logits, shares, (a, b) => sure * a + (1 - sure) * b);
  return combine(leaning, odds, (a, b) => a + b);
}

export const OPS: Record<string, Op> = { largest, shares, sent, share, word_odds: wordOdds, with_odds: withOdds };
