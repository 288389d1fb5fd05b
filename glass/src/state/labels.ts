// What the rows and columns of a step are called: pieces of a sequence, tokens of the vocabulary, or numbers.

import type { Run, Step } from "../engine/header";
import { grid, tokensBefore } from "./image";
import { header, isOutputRow, run, vocabulary } from "./store";

export { spoken, visible } from "./visible";

const WHOLE = "‹whole image›";
const numbersUpTo = new Map<number, string[]>();

/** "1", "2", ...: one array for each length, so that equal labels are the same object. */
export function numbered(length: number): string[] {
  const known = numbersUpTo.get(length) ?? Array.from({ length }, (_, i) => String(i + 1));
  numbersUpTo.set(length, known);
  return known;
}

const patchesOf = new Map<string, string[]>();

/** Patches by their row and column; a token before them is for the whole image. */
function patchLabels(length: number): string[] | null {
  const [found, before] = [grid.value, tokensBefore(length)];
  if (!found || before === null) return null;
  const key = `${found.across} ${length}`;
  const known = patchesOf.get(key) ?? Array.from({ length }, (_, i) => (
    i < before ? WHOLE : `patch ${Math.floor((i - before) / found.across) + 1}·${((i - before) % found.across) + 1}`
  ));
  patchesOf.set(key, known);
  return known;
}

/** Whether a label is that of a patch, or of the token before all patches. */
export function isPatch(label: string): boolean {
  return label === WHOLE || label.startsWith("patch ");
}

function piecesOf(sequence: string, length: number, of: Run): string[] | null {
  const pieces = of.pieces[sequence];
  return pieces && pieces.length === length ? pieces : null;
}

/** Whether each row of the output chose a written piece. A model that continues its text has written pieces after its rows. */
function writesRows(of: Run, length: number): boolean {
  return of.written?.pieces.length === length && header.value?.decoding?.start !== -1;
}

/** Labels of one axis of a step, counted from 0 or from the end (-1: columns, -2: rows). Rows of a decoder are called by
 * the piece that they choose, columns by the piece that they are. */
export function labelsOf(step: Step, axis: number, length: number, of: Run | null = run.value): readonly string[] {
  const at = axis < 0 ? step.axes.length + axis : axis;
  const [name, size] = [step.axes[at], step.shape[at]];
  if (!of) return numbered(length);
  if (at === step.axes.length - 2 && isOutputRow(step) && writesRows(of, length)) return of.written!.pieces;
  const backwards = name?.endsWith("_from_end") ? piecesOf(String(size), length, of) : null;
  if (backwards) return [...backwards].reverse();
  const pieces = typeof size === "string" ? piecesOf(size, length, of) : piecesOf(name ?? "", length, of);
  if (pieces) return pieces;
  if (name === "patch") return patchLabels(length) ?? numbered(length);
  if (name === "vocabulary" && vocabulary.value.length === length) return vocabulary.value;
  return numbered(length);
}
