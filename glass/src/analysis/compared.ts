// Two texts beside each other: which words are in both, in order, and which are in one only.

export interface Word {
  text: string;
  changed: boolean;
}

/** Words are the same whatever white space follows them. */
function same(one: string | undefined, other: string | undefined): boolean {
  return one?.trimEnd() === other?.trimEnd();
}

/** The words of both texts, with those marked that are not in their longest common sequence. */
export function compared(one: string, other: string): [Word[], Word[]] {
  const [left, right] = [wordsOf(one), wordsOf(other)];
  const length = lengths(left, right);
  const marks: [Word[], Word[]] = [[], []];
  let [i, j] = [0, 0];
  while (i < left.length && j < right.length) {
    if (same(left[i], right[j])) {
      marks[0].push({ text: left[i++]!, changed: false });
      marks[1].push({ text: right[j++]!, changed: false });
    } else if (length[i + 1]![j]! >= length[i]![j + 1]!) marks[0].push({ text: left[i++]!, changed: true });
    else marks[1].push({ text: right[j++]!, changed: true });
  }
  marks[0].push(...left.slice(i).map((text) => ({ text, changed: true })));
  marks[1].push(...right.slice(j).map((text) => ({ text, changed: true })));
  return marks;
}

/** Words and signs; white space stays with the word before it. */
function wordsOf(text: string): string[] {
  return text.match(/[\p{L}\p{M}\p{N}'’_-]+\s*|[^\p{L}\p{M}\p{N}\s]\s*|\s+/gu) ?? [];
}

/** length[i][j]: of the longest common sequence of what follows i and j. */
function lengths(left: string[], right: string[]): number[][] {
  const table = Array.from({ length: left.length + 1 }, () => new Array<number>(right.length + 1).fill(0));
  for (let i = left.length - 1; i >= 0; i--) {
    for (let j = right.length - 1; j >= 0; j--) {
      table[i]![j] = same(left[i], right[j]) ? table[i + 1]![j + 1]! + 1 : Math.max(table[i + 1]![j]!, table[i]![j + 1]!);
    }
  }
  return table;
}
