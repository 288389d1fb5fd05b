// How a word became its pieces: each merge in order (BPE), each longest match (WordPiece), each piece's log-probability
// (Unigram). Computed from tokenizer.json, as the encoder does it, and checked against the pieces that it must give.

/** What is read of a tokenizer.json. */
export interface TokenizerFile {
  model: {
    type: string;
    vocab: Record<string, number> | [string, number][];
    merges?: (string | [string, string])[];
    unk_token?: string | null;
    continuing_subword_prefix?: string | null;
    end_of_word_suffix?: string | null;
    byte_fallback?: boolean;
    ignore_merges?: boolean;
  };
  added_tokens?: { id: number; content: string }[];
}

export type SpellingKind = "bpe" | "wordpiece" | "unigram" | "lookup" | "mark";

/** One move. place: where the new piece is in `after`. */
export interface SpellingStep {
  before: string[];
  after: string[];
  place: number;
  rank?: number; // BPE: 0 was learned first
  score?: number; // Unigram: the piece's log-probability
  tried?: string[]; // WordPiece: the candidates looked up, longest first; the last one is known
}

/** From the letters of one word to its pieces. All texts are entries of the vocabulary, not yet for readers. */
export interface Spelling {
  kind: SpellingKind;
  steps: SpellingStep[];
  pieces: string[];
  from: number; // its first piece in the sequence
}

const KINDS: Record<string, SpellingKind> = { BPE: "bpe", WordPiece: "wordpiece", Unigram: "unigram" };

export class Speller {
  readonly kind: SpellingKind;
  readonly ids = new Map<string, number>();
  private readonly names = new Map<number, string>();
  private readonly special = new Set<number>();
  private readonly ranks = new Map<string, number>();
  private readonly scores = new Map<string, number>();
  private readonly prefix: string;
  private readonly suffix: string;

  constructor(private readonly file: TokenizerFile) {
    const { model, added_tokens: added = [] } = file;
    const type = model.type ?? (model.merges ? "BPE" : ""); // old files have no type
    this.kind = KINDS[type] ?? "lookup";
    this.prefix = model.continuing_subword_prefix ?? "";
    this.suffix = model.end_of_word_suffix ?? "";
    this.readVocabulary(model.vocab);
    for (const { id, content } of added) {
      this.names.set(id, content);
      this.ids.set(content, id);
      this.special.add(id);
    }
    (model.merges ?? []).forEach((merge, rank) => {
      const [left, right] = typeof merge === "string" ? merge.split(" ") : merge;
      const key = pairKey(left ?? "", right ?? "");
      if (!this.ranks.has(key)) this.ranks.set(key, rank);
    });
  }

  private readVocabulary(vocab: Record<string, number> | [string, number][]) {
    if (Array.isArray(vocab)) {
      vocab.forEach(([piece, score], id) => {
        this.ids.set(piece, id);
        this.names.set(id, piece);
        this.scores.set(piece, score);
      });
      return;
    }
    for (const [piece, id] of Object.entries(vocab)) {
      this.ids.set(piece, id);
      this.names.set(id, piece);
    }
  }

  /** The vocabulary's entry of an id. */
  name(id: number): string {
    return this.names.get(id) ?? `#${id}`;
  }

  /** Marks such as the end of the text: not spelled. The page's file has them under names that nobody types. */
  isMark(id: number): boolean {
    return this.special.has(id) || this.name(id).startsWith("\uffff");
  }

  /** All words of a sequence, in order. `words`: the number of the word of each piece; -1: none. */
  spellings(ids: readonly number[], words: readonly number[]): Spelling[] {
    const found: Spelling[] = [];
    let from = 0;
    while (from < ids.length) {
      let to = from + 1;
      if (this.isMark(ids[from]!) || words[from] === -1) {
        found.push({ kind: "mark", steps: [], pieces: [this.name(ids[from]!)], from });
      } else {
        while (to < ids.length && words[to] === words[from] && !this.isMark(ids[to]!)) to++;
        found.push(...this.spelled(ids.slice(from, to).map((id) => this.name(id)), from));
      }
      from = to;
    }
    return found;
  }

  /** One word; or several, where the tokenizer cuts what a reader calls a word. */
  private spelled(pieces: string[], from: number): Spelling[] {
    const found: Spelling[] = [];
    for (let start = 0; start < pieces.length; ) {
      let end = pieces.length;
      let steps: SpellingStep[] | null = null;
      for (; end > start && !steps; end--) steps = this.steps(pieces.slice(start, end));
      if (steps) end++;
      else end = start + 1;
      found.push({ kind: this.kind, steps: steps ?? [], pieces: pieces.slice(start, end), from: from + start });
      start = end;
    }
    return found;
  }

  /** The moves that give exactly these pieces; null: the word of these pieces would get others. */
  steps(pieces: string[]): SpellingStep[] | null {
    const moves: Record<SpellingKind, () => SpellingStep[]> = {
      bpe: () => this.merges(this.letters(pieces)),
      wordpiece: () => this.matches(this.joined(pieces)),
      unigram: () => pieces.map((piece, place) => ({ before: pieces.slice(0, place), after: pieces.slice(0, place + 1), place, score: this.scores.get(piece) })),
      lookup: () => [],
      mark: () => [],
    };
    const steps = moves[this.kind]();
    const result = steps.at(-1)?.after ?? (this.kind === "bpe" ? this.letters(pieces) : pieces);
    return same(result, pieces) ? steps : null;
  }

  private joined(pieces: string[]): string {
    return pieces.map((piece, place) => (place && piece.startsWith(this.prefix) ? piece.slice(this.prefix.length) : piece)).join("");
  }

  /** The symbols that BPE begins with: characters, bytes of what is not in the vocabulary, or the whole word. */
  letters(pieces: string[]): string[] {
    const { model } = this.file;
    const word = this.joined(pieces);
    if (model.ignore_merges && this.ids.has(word)) return [word];
    const found: string[] = [];
    for (const piece of pieces) {
      if (/^<0x[0-9A-F]{2}>$/.test(piece) || piece === model.unk_token) {
        found.push(piece);
        continue;
      }
      const bare = found.length && piece.startsWith(this.prefix) ? piece.slice(this.prefix.length) : piece;
      const ends = this.suffix && bare.endsWith(this.suffix);
      const characters = [...(ends ? bare.slice(0, -this.suffix.length) : bare)];
      characters.forEach((character, place) => {
        const before = found.length ? this.prefix : "";
        found.push(before + character + (ends && place === characters.length - 1 ? this.suffix : ""));
      });
    }
    return found;
  }

  /** Joins the neighbours whose merge has the lowest rank, the leftmost first, until none has a rank. */
  private merges(symbols: string[]): SpellingStep[] {
    const steps: SpellingStep[] = [];
    for (let now = symbols; ; ) {
      let place = -1;
      let rank = Infinity;
      for (let at = 0; at + 1 < now.length; at++) {
        const own = this.ranks.get(pairKey(now[at]!, now[at + 1]!)) ?? Infinity;
        if (own < rank) [place, rank] = [at, own];
      }
      if (place < 0) return steps;
      const piece = now[place]! + now[place + 1]!.slice(this.prefix.length);
      const after = [...now.slice(0, place), piece, ...now.slice(place + 2)];
      steps.push({ before: now, after, place, rank });
      now = after;
    }
  }

  /** The longest entry that begins the word, then the longest that begins the rest. */
  private matches(word: string): SpellingStep[] {
    const steps: SpellingStep[] = [];
    const done: string[] = [];
    for (let rest = word; rest; ) {
      const begin = done.length ? this.prefix : "";
      const tried: string[] = [];
      const letters = [...rest];
      let length = letters.length;
      for (; length; length--) {
        tried.push(begin + letters.slice(0, length).join(""));
        if (this.ids.has(tried.at(-1)!)) break;
      }
      if (!length) return [];
      const before = [...done, begin + rest];
      done.push(tried.at(-1)!);
      rest = letters.slice(length).join("");
      steps.push({ before, after: rest ? [...done, this.prefix + rest] : [...done], place: done.length - 1, tried });
    }
    return steps;
  }
}

function pairKey(left: string, right: string): string {
  return `${left}\u0000${right}`;
}

function same(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((item, place) => item === right[place]);
}
