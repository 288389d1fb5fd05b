// One head of attention with Q = K = V = embedding + position.

import type { Tensor } from "../engine/header";
import { dim } from "../engine/tensor";
import type { Results } from "./check";
import type { Lesson } from "./data";
import { op, products, row, scaled, sinusoidal, softmax } from "./reckon";

export interface Settings {
  words: string[];
  spread: number;
}

export interface Reading {
  inputs: Tensor; // (T, D)
  scores: Tensor; // (T, T), divided by the root of D and multiplied by `scale`
  shares: Tensor; // (T, T)
}

export function reading(embeddings: Tensor, positions: boolean, scale = 1): Reading {
  const [length, width] = [dim(embeddings, 0), dim(embeddings, 1)];
  const inputs = positions ? op("add", [embeddings, sinusoidal(length, width)]) : embeddings;
  const scores = scaled(products(inputs, inputs), scale / Math.sqrt(width));
  return { inputs, scores, shares: softmax(scores) };
}

/** The products of which one score is the sum, a dimension each. */
export function termsOf({ inputs }: Reading, query: number, key: number): Float32Array {
  const [q, k] = [row(inputs, query), row(inputs, key)];
  return q.map((value, i) => value * k[i]!);
}

export function results({ arrays }: Lesson<Settings>): Results {
  const one = reading(arrays.embeddings!, true);
  return { scores: one.scores, shares: one.shares, "shares without positions": reading(arrays.embeddings!, false).shares };
}
