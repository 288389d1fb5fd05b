// Which piece of which text is selected: a piece is selected as a number of its row.

import { computed } from "@preact/signals";
import { inputLines, inputPart } from "../analysis/inputs";
import type { Run } from "../engine/header";
import { picked, select, selection } from "../state/selection";
import { program, run } from "../state/store";

/** The sequences that a reader can look at: texts, and the picture. */
export const readable = computed(() => {
  const sequences = program.value?.sequences ?? {};
  return Object.keys(sequences).filter((name) => (sequences[name] === "ids" && run.value?.ids[name]?.length) || sequences[name] === "image");
});

/** Whether the selected step makes rows of this sequence. */
function isTapOf(sequence: string): boolean {
  const [known, tap] = [program.value, selection.value.tap];
  return known !== null && tap !== "" && known.steps.some((step) => step.name === tap && step.part === inputPart(known, sequence));
}

/** The sequence that is shown: that of the selected number, or the first. */
export const shownSequence = computed(() => readable.value.find(isTapOf) ?? readable.value[0] ?? "");

function lines(sequence: string, of: Run) {
  return inputLines(program.value!, sequence, (step) => of.pass.values(step.name).shape[0] ?? 0);
}

/** Selects a piece, and the number in the same column of its row. */
export function choosePiece(sequence: string, place: number): void {
  const of = run.peek();
  const first = of ? lines(sequence, of)[0] : undefined;
  if (first) select({ tap: first.step.name, row: place + first.shift, column: isTapOf(sequence) ? selection.peek().column : 0 });
}

export interface WordOf {
  from: number;
  to: number;
}

/** Neighbours with the same word number. */
export function wordsOf(words: readonly number[], count: number): WordOf[] {
  const found: WordOf[] = [];
  for (let at = 0; at < count; at++) {
    if (at && (words[at] ?? -1) >= 0 && words[at] === words[at - 1]) found.at(-1)!.to = at + 1;
    else found.push({ from: at, to: at + 1 });
  }
  return found;
}

/** The beginning of the word with the most pieces; of several, of the longest. */
function firstPlace(of: Run, sequence: string): number {
  const pieces = of.pieces[sequence] ?? [];
  const words = wordsOf(of.words[sequence] ?? [], pieces.length).filter(({ from }) => (of.words[sequence]?.[from] ?? -1) >= 0);
  const weight = ({ from, to }: WordOf): number => (to - from) * 100 + pieces.slice(from, to).join("").length;
  return words.length ? words.reduce((best, word) => (weight(word) > weight(best) ? word : best)).from : 0;
}

/** The selected piece of a sequence with so many pieces or patches. */
export function placeIn(of: Run, sequence: string, count: number): number {
  if (!isTapOf(sequence)) return Math.min(firstPlace(of, sequence), count - 1);
  const shift = lines(sequence, of).find((line) => line.step.name === selection.value.tap)?.shift ?? 0;
  return Math.max(0, Math.min(picked.row.value - shift, count - 1));
}
