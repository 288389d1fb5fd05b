// Sampling: which token a random number selects, with temperature, top-k and top-p as in decode/choosers.py.

export interface Sampling {
  temperature: number;
  top_k: number; // 0: all
  top_p: number; // 1: all
}

export interface Option {
  token: number;
  probability: number; // after the temperature, among the k most likely
  kept: boolean; // false: excluded by top-p
  share: number; // of the random numbers that select it; 0 if it is excluded
}

/** What can be sampled, most likely first. */
export function options(logProbs: Float32Array, { temperature, top_k, top_p }: Sampling): Option[] {
  const order = Array.from(logProbs.keys()).sort((a, b) => logProbs[b]! - logProbs[a]! || a - b);
  const chosen = top_k > 0 && top_k < order.length ? order.slice(0, top_k) : order;
  const top = logProbs[chosen[0]!]! / temperature;
  const powers = chosen.map((token) => Math.exp(logProbs[token]! / temperature - top));
  const total = powers.reduce((a, b) => a + b, 0);
  let before = 0;
  const found = chosen.map((token, i) => {
    const probability = powers[i]! / total;
    const option = { token, probability, kept: before < top_p && probability > 0, share: 0 };
    before += probability;
    return option;
  });
  const kept = found.reduce((sum, one) => sum + (one.kept ? one.probability : 0), 0);
  for (const one of found) if (one.kept) one.share = one.probability / kept;
  return found;
}

/** The token that a number in [0, 1) selects. */
export function sampled(logProbs: Float32Array, settings: Sampling, uniform: number): number {
  const kept = options(logProbs, settings).filter((one) => one.kept);
  const total = kept.reduce((sum, one) => sum + one.probability, 0);
  let reached = 0;
  for (const one of kept) {
    reached += one.probability;
    if (reached > uniform * total) return one.token;
  }
  return kept[kept.length - 1]!.token; // rounding must not select an excluded token
}
