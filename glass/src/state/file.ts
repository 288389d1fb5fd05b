// What the file has besides numbers of runs: weights, tokenizers and their lists of pieces.

import { Speller, type TokenizerFile } from "../analysis/spelling";
import type { Tensor } from "../engine/header";
import { ModelSource } from "../engine/source";
import { sightOf } from "./inside";
import { runA, source } from "./store";

/** null: the file does not have it. */
export function weightOf(name: string): Tensor | null {
  const run = runA.value;
  return run && name ? sightOf(run).weight(name) : null;
}

const NONE: readonly string[] = [];

/** The pieces of a sequence's tokenizer by id, as a reader sees them. */
export function shownPieces(sequence: string): readonly string[] {
  const from = source.value;
  return (from instanceof ModelSource ? from.reader(sequence)?.shown : undefined) ?? NONE;
}

/** What the tokenizer makes of a text before it cuts it; null: nothing that a reader would see. */
export function normalText(sequence: string, text: string): string | null {
  const from = source.value;
  const normal = from instanceof ModelSource ? from.reader(sequence)?.normal(text) : undefined;
  return normal === undefined || normal.replace(/[▁\s]+/g, " ").trim() === text.replace(/\s+/g, " ").trim() ? null : normal;
}

const spellers = new Map<string, Speller>();

/** Shows how words become pieces; null: the file has no tokenizer for this sequence. */
export function spellerOf(sequence: string): Speller | null {
  const from = source.value;
  const file = from instanceof ModelSource ? from.reader(sequence)?.file : undefined;
  if (!file) return null;
  const known = spellers.get(file) ?? new Speller(JSON.parse(file) as TokenizerFile);
  spellers.set(file, known);
  return known;
}
