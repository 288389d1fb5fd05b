// From pieces to words: what a word is read is the sum over its pieces; how a word reads is the mean over its pieces.

export interface Group {
  begin: number;
  end: number; // after the last piece
}

/** Neighbours with the same word number; pieces without a word (-1) are groups of their own. */
export function groupsOf(words: readonly number[]): Group[] {
  const groups: Group[] = [];
  words.forEach((word, at) => {
    const last = groups.at(-1);
    if (last && word >= 0 && words[at - 1] === word) last.end = at + 1;
    else groups.push({ begin: at, end: at + 1 });
  });
  return groups;
}

export function named(groups: readonly Group[], pieces: readonly string[]): string[] {
  return groups.map(({ begin, end }) => pieces.slice(begin, end).join(""));
}

/** One head's pattern by words: keys are added up, queries averaged. */
export function byWords(pattern: ArrayLike<number>, keys: number, rows: readonly Group[], columns: readonly Group[]): Float32Array {
  const result = new Float32Array(rows.length * columns.length);
  rows.forEach((row, r) => {
    for (let query = row.begin; query < row.end; query++) {
      columns.forEach((column, c) => {
        let total = 0;
        for (let key = column.begin; key < column.end; key++) total += pattern[query * keys + key]!;
        result[r * columns.length + c]! += total / (row.end - row.begin);
      });
    }
  });
  return result;
}
