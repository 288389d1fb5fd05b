// Masked self-attention with Q = K = V, and how far outputs move when a word changes.

import type { Tensor } from "../engine/header";
import { dim, tensor } from "../engine/tensor";
import type { Results } from "./check";
import type { Lesson } from "./data";
import { distances, mixture, op, products, row, scaled, softmax } from "./reckon";

export interface Settings {
  words: string[];
  mask: string;
  window: number;
}

export interface Mask {
  causal: boolean;
  window: number; // 0: no window
  real: number; // words before the padding that is hidden
}

export type Hidden = "" | "future" | "window" | "padding";

/** Why a query may not read a key. A window hides what is `window` or more words before the query. */
export function hiddenBy(mask: Mask, query: number, key: number): Hidden {
  if (key >= mask.real) return "padding";
  if (mask.causal && key > query) return "future";
  return mask.window && query - key >= mask.window ? "window" : "";
}

export interface Masked {
  scores: Tensor;
  shares: Tensor;
  outputs: Tensor;
}

export function masked(x: Tensor, mask: Mask): Masked {
  const scores = scaled(products(x, x), 1 / Math.sqrt(dim(x, 1)));
  const count = dim(x, 0);
  const seen = tensor(scores.data.map((score, i) => (hiddenBy(mask, Math.floor(i / count), i % count) ? -Infinity : score)), scores.shape);
  const shares = softmax(seen);
  return { scores, shares, outputs: mixture(shares, x) };
}

/** How far the output of each word moves when one word's vector becomes its opposite. */
export function moved(x: Tensor, mask: Mask, changed: number): number[] {
  const after = tensor(x.data.slice(), x.shape);
  row(after, changed).forEach((value, i, all) => { all[i] = -value; });
  return distances(masked(x, mask).outputs, masked(after, mask).outputs);
}

export const withPadding = (x: Tensor, padding: Tensor, count: number): Tensor => {
  const width = dim(x, 1);
  return count ? op("concat", [x, tensor(padding.data.slice(0, count * width), [count, width])]) : x;
};

export function results({ settings, arrays }: Lesson<Settings>): Results {
  const [x, padding] = [arrays.vectors!, arrays.padding!];
  const count = dim(x, 0);
  const open: Mask = { causal: false, window: 0, real: count };
  const masks = { none: open, causal: { ...open, causal: true }, window: { ...open, causal: true, window: settings.window } };
  const found: Results = { scores: masked(x, open).scores, "shares padding": masked(withPadding(x, padding, dim(padding, 0)), open).shares };
  for (const [name, mask] of Object.entries(masks)) {
    found[`shares ${name}`] = masked(x, mask).shares;
    found[`moved ${name}`] = tensor(moved(x, mask, count - 1));
  }
  return found;
}
