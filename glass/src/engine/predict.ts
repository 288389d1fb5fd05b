// What a model that does not write says about a text: a class, a label for each piece, words for masks, a span.

import type { Header, Run } from "./header";
import { argmax, dim, type Tensor } from "./tensor";

export interface Words {
  pieces(ids: readonly number[]): string[];
}

const rowOf = (x: Tensor, row: number): Float32Array => x.data.subarray(row * dim(x, -1), (row + 1) * dim(x, -1));

/** The answer in words. */
export function answerOf(header: Header, output: Tensor, run: Run, words: Words | null): string {
  const { head, classes, scale: [centre, spread] = [0, 1] } = header.task;
  const name = (id: number): string => classes?.[id] ?? `class ${id + 1}`;
  if (head === "number") return (centre + spread * output.data[0]!).toFixed(3);
  if (head === "class") return name(argmax(rowOf(output, 0)));
  if (head === "tokens") return Array.from({ length: dim(output, 0) }, (_, row) => name(argmax(rowOf(output, row)))).join(" ");
  if (head === "words") return filled(header, output, run, words);
  if (head === "span") return span(output, run);
  return "";
}

/** The most likely piece for each mask. */
function filled(header: Header, output: Tensor, run: Run, words: Words | null): string {
  const [sequence, info] = Object.entries(header.tokenizers)[0] ?? [];
  const mask = info?.mask?.id;
  const ids = sequence === undefined ? [] : (run.ids[sequence] ?? []);
  const found = ids.flatMap((id, row) => (id === mask ? [argmax(rowOf(output, row))] : []));
  return (words?.pieces(found) ?? found.map(String)).map((piece) => piece.replaceAll("▁", " ").trim()).join(" ");
}

/** From the most likely first piece to the most likely last one after it. */
function span(output: Tensor, run: Run): string {
  const [rows, columns] = [dim(output, 0), dim(output, 1)];
  const [starts, ends] = [0, 1].map((column) => Array.from({ length: rows }, (_, row) => output.data[row * columns + column]!));
  let [best, from, to] = [-Infinity, 0, 0];
  for (let i = 0; i < rows; i++) {
    for (let j = i; j < rows; j++) {
      if (starts![i]! + ends![j]! > best) [best, from, to] = [starts![i]! + ends![j]!, i, j];
    }
  }
  const pieces = Object.values(run.pieces)[0] ?? [];
  return pieces.slice(from, to + 1).join("").replaceAll("▁", " ").trim();
}
