// Attention without parameters: softmax(scale · E E^T) E.

import type { Tensor } from "../engine/header";
import type { Results } from "./check";
import type { Lesson } from "./data";
import { matrix, mixture, products, scaled, softmax } from "./reckon";

export interface Settings {
  sentences: string[][];
  vectors: Record<string, number[]>;
  axes: string[];
}

export interface Mixed {
  products: Tensor; // (T, T)
  weights: Tensor; // (T, T)
  mixed: Tensor; // (T, D)
}

export function mixed(vectors: readonly (readonly number[])[], scale = 1): Mixed {
  const e = matrix(vectors);
  const all = products(e, e);
  const weights = softmax(scaled(all, scale));
  return { products: all, weights, mixed: mixture(weights, e) };
}

export function results({ settings }: Lesson<Settings>): Results {
  const found: Results = {};
  settings.sentences.forEach((words, i) => {
    const one = mixed(words.map((word) => settings.vectors[word]!));
    found[`products ${i}`] = one.products;
    found[`weights ${i}`] = one.weights;
    found[`mixed ${i}`] = one.mixed;
  });
  return found;
}
