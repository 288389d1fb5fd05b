// What a head looks at, in numbers and in a few words, by the same rules as the report (explain/heads.py).
// A pattern's rows are queries, its columns keys; each row adds up to 1.

export interface Pattern {
  data: ArrayLike<number>;
  offset: number; // of the head's first number
  queries: number;
  keys: number;
}

export interface HeadTags {
  sharpness: number; // 1: each query reads one key; 0: all keys equally
  entropy: number; // mean over the queries, in bits
  offset: number; // mean of key - query, weighted by the pattern
  end: number; // share of all weight on the last key
  first: number; // share of all weight on the first key
  top: number; // mean of the largest share of each row
  own: number; // share of all weight on the query's own position
  looks: Looks;
}

export interface Looks {
  at: "end" | "first" | "all" | "one" | "few";
  distance: number | null; // rounded, 0: its own position, or around it; counts only for "one" and "few"; null: rows and columns are of two texts
  own: boolean; // whether most weight is on its own position
}

function rowEntropy(pattern: Pattern, row: number): number {
  let total = 0;
  for (let key = 0; key < pattern.keys; key++) {
    const share = pattern.data[pattern.offset + row * pattern.keys + key]!;
    if (share > 0) total -= share * Math.log(share);
  }
  return total;
}

/** Whether no query looks ahead. */
function isCausal({ data, offset, queries, keys }: Pattern): boolean {
  if (queries !== keys) return false;
  for (let row = 0; row < queries; row++) {
    for (let key = row + 1; key < keys; key++) if (data[offset + row * keys + key] !== 0) return false;
  }
  return true;
}

/** The mean over the rows of 1 - H / log S, where S keys may be read; rows with one key do not count. */
export function sharpness(pattern: Pattern): number {
  const causal = isCausal(pattern);
  let [total, count] = [0, 0];
  for (let row = 0; row < pattern.queries; row++) {
    const allowed = causal ? row + 1 : pattern.keys;
    if (allowed < 2) continue;
    total += rowEntropy(pattern, row) / Math.log(allowed);
    count++;
  }
  return count ? 1 - total / count : 1;
}

/** Python's round: halves go to the even neighbour. */
function rounded(value: number): number {
  const low = Math.floor(value);
  if (value - low !== 0.5) return Math.round(value);
  return low % 2 === 0 ? low : low + 1;
}

function looksAt(tags: Omit<HeadTags, "looks">): Looks {
  const near = Math.abs(tags.offset) < 0.75;
  const distance = near ? 0 : Math.sign(tags.offset) * rounded(Math.abs(tags.offset));
  const own = tags.own > 0.5;
  if (tags.end > 0.6) return { at: "end", distance, own };
  if (tags.first > 0.6) return { at: "first", distance, own };
  if (tags.sharpness < 0.15) return { at: "all", distance, own };
  return { at: tags.sharpness > 0.6 ? "one" : "few", distance, own };
}

export function tagsOf(pattern: Pattern): HeadTags {
  const { data, offset, queries, keys } = pattern;
  let [entropy, distance, end, first, top, own] = [0, 0, 0, 0, 0, 0];
  for (let row = 0; row < queries; row++) {
    const at = offset + row * keys;
    entropy += rowEntropy(pattern, row);
    end += data[at + keys - 1]!;
    first += data[at]!;
    if (row < keys) own += data[at + row]!;
    let most = 0;
    for (let key = 0; key < keys; key++) {
      const share = data[at + key]!;
      distance += share * (key - row);
      if (share > most) most = share;
    }
    top += most;
  }
  const n = Math.max(1, queries);
  const tags = {
    sharpness: sharpness(pattern), entropy: entropy / n / Math.LN2, offset: distance / n, end: end / n, first: first / n, top: top / n,
    own: own / n,
  };
  return { ...tags, looks: looksAt(tags) };
}
