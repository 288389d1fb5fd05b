// Text to ids and back, by the model's own tokenizer. Before typed text is read, the tokenizer must give Python's ids for
// the probes in the file; if one differs, the page refuses typed text.

import { Tokenizer } from "@huggingface/tokenizers";
import type { TokenizerInfo } from "./header";

export interface Encoded {
  ids: number[];
  pieces: string[];
  words: number[]; // number of the word of each piece; -1: none
  beyond?: number; // it has more pieces than this, so Python splits or shortens it
}

export class Refused extends Error {}

const SPACE = "▁";

// White space as Python defines it. JavaScript's \s lacks \x1c to \x1f and \x85, and has \ufeff.
const BLANK = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]+";
const [BLANK_START, BLANK_END] = [new RegExp(`^${BLANK}`), new RegExp(`${BLANK}$`)];

export class TextReader {
  readonly shown: string[];
  private readonly inner: Tokenizer | null; // null: this page cannot build it
  private readonly failure: string = "";
  private readonly unknown: number; // the id of words that are not in the vocabulary
  private verdict: string | null | undefined; // why typed text is refused; null: it is not; undefined: not tried yet

  constructor(
    readonly info: TokenizerInfo,
    readonly file: string,
    shown: string,
  ) {
    this.shown = JSON.parse(shown) as string[];
    this.inner = null;
    const parsed = JSON.parse(file) as { model?: { unk_token?: string; vocab?: Record<string, number> } };
    this.unknown = parsed.model?.vocab?.[parsed.model.unk_token ?? ""] ?? -1;
    try {
      this.inner = new Tokenizer(withoutForeignSyntax(parsed) as object, {});
    } catch (error) {
      this.failure = `This page cannot build the tokenizer: ${error instanceof Error ? error.message : String(error)}`;
    }
  }

  /** Why typed text cannot be read, or null. */
  refusal(): string | null {
    if (this.verdict === undefined) this.verdict = this.info.typed ? this.tried() : (this.info.why ?? "This page has no tokenizer.");
    return this.verdict;
  }

  private tried(): string | null {
    if (!this.inner) return this.failure;
    try {
      const wrong = this.info.probes.find(([text, ids]) => this.plain(text).join() !== ids.join());
      return wrong ? `This page's tokenizer differs from Python's on ${JSON.stringify(wrong[0])}.` : null;
    } catch (error) {
      return `This page's tokenizer fails: ${error instanceof Error ? error.message : String(error)}`;
    }
  }

  /** A text as it is before it is cut: Unicode in one form, perhaps without capitals. */
  normal(text: string): string {
    return this.inner?.normalizer?.normalize(text) ?? text;
  }

  /** The ids of a text, with nothing before and after. */
  plain(text: string): number[] {
    if (text === "") return [];
    if (!this.inner) throw new Refused(this.failure);
    const ids = this.inner.encode(text, { add_special_tokens: false }).ids as (number | undefined)[];
    return ids.map((id) => id ?? this.unknown);
  }

  /** A typed text as the model reads it. */
  read(text: string): Encoded {
    const refusal = this.refusal();
    if (refusal) throw new Refused(refusal);
    const { before, after, stripped, longest, whole, reversed } = this.info;
    const parts = this.parts(stripped ? text.replace(BLANK_START, "").replace(BLANK_END, "") : text);
    const middle = parts.flatMap(({ ids }) => ids);
    const ids = [...before, ...middle, ...after];
    if (longest !== undefined && middle.length > longest) {
      throw new Refused(`The text has ${middle.length} pieces; this page reads at most ${longest}.`);
    }
    const around = (list: number[]): number[] => list.map(() => -1);
    const words = [...around(before), ...parts.flatMap(({ words }) => words), ...around(after)];
    if (reversed) [ids, words].forEach((list) => list.reverse());
    return { ids, words, pieces: this.pieces(ids), ...(whole !== undefined && middle.length > whole && { beyond: whole }) };
  }

  /** The text around masks, and the masks. */
  private parts(text: string): { ids: number[]; words: number[] }[] {
    const { mask } = this.info;
    if (!mask) return [this.part(text, 0)];
    const found: { ids: number[]; words: number[] }[] = [];
    let count = 0;
    for (const piece of splitAt(text, mask.spelled)) {
      const part = piece === null ? { ids: [mask.id], words: [count] } : this.part(piece, count);
      count = Math.max(count - 1, ...part.words) + 1;
      found.push(part);
    }
    return found;
  }

  private part(text: string, count: number): { ids: number[]; words: number[] } {
    const ids = this.plain(text);
    return { ids, words: this.words(text, ids).map((word) => word + count) };
  }

  /** The number of the word of each piece: the pre-tokenizer's part, or where it does not cut, by the spaces of the pieces. */
  private words(text: string, ids: number[]): number[] {
    const parts = this.partOf(text, ids);
    if (parts.some((part) => part > 0)) return parts;
    let word = -1;
    return ids.map((id, i) => (i === 0 || this.shown[id]?.startsWith(SPACE) ? ++word : word));
  }

  /** The number of the pre-tokenizer's part that each piece is from; empty where they do not fit. */
  private partOf(text: string, ids: number[]): number[] {
    const { normalizer, pre_tokenizer: splitter, model } = this.inner ?? {};
    if (!splitter || !model) return [];
    const normal = normalizer ? normalizer.normalize(text) : text;
    const found = splitter.pre_tokenize(normal).flatMap((part, number) => model([part]).map(() => number));
    return found.length === ids.length ? found : [];
  }

  pieces(ids: readonly number[]): string[] {
    return ids.map((id) => this.shown[id] ?? `[${id}]`);
  }

  /** The text of some ids; what they add to a text, if they continue one. */
  text(ids: readonly number[], before: readonly number[] = []): string {
    if (before.length) return this.text([...before, ...ids]).slice(this.text(before).length);
    const spoken = ids.filter((id) => !this.info.silent?.includes(id));
    if (!spoken.length) return "";
    try {
      return this.inner!.decode(spoken, { skip_special_tokens: true, clean_up_tokenization_spaces: false });
    } catch {
      return this.pieces(spoken).join("").replaceAll(SPACE, " ").trim();
    }
  }
}

/** A letter with its marks, or a composed sign: Oniguruma's \\X, which JavaScript's patterns do not have. */
const GRAPHEME =
  "(?:\\r\\n|\\p{RI}\\p{RI}|\\p{Extended_Pictographic}(?:\\p{EMod}|\\uFE0F|[\\u{E0020}-\\u{E007F}]|\\u200D\\p{Extended_Pictographic})*[\\p{M}\\u200C\\u200D]*" +
  "|[^\\r\\n\\p{Cc}][\\p{M}\\p{EMod}\\u200C\\u200D]*|[\\s\\S])";

/** What Oniguruma's patterns have and JavaScript's do not. */
const FOREIGN: [string, string][] = [
  ["\\X", GRAPHEME],
  ["\\p{Prepended_Concatenation_Mark}", "\\u{600}-\\u{605}\\u{6DD}\\u{70F}\\u{890}\\u{891}\\u{8E2}\\u{110BD}\\u{110CD}"],
];

/** A tokenizer file whose patterns JavaScript understands. */
function withoutForeignSyntax(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutForeignSyntax);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, one]): [string, unknown] => {
    if (key === "vocab" || key === "merges") return [key, one];
    if (key === "Regex" && typeof one === "string") return [key, FOREIGN.reduce((text, [from, to]) => text.replaceAll(from, to), one)];
    return [key, withoutForeignSyntax(one)];
  });
  return Object.fromEntries(entries);
}

/** The parts of a text between masks, null for each mask. White space before a mask is left out. */
export function splitAt(text: string, spelled: readonly string[]): (string | null)[] {
  const found: (string | null)[] = [];
  let rest = text;
  for (;;) {
    const places = spelled.map((mask) => ({ mask, at: rest.indexOf(mask) })).filter(({ at }) => at >= 0);
    const first = places.sort((a, b) => a.at - b.at || b.mask.length - a.mask.length)[0];
    if (!first) return [...found, rest];
    found.push(rest.slice(0, first.at).replace(BLANK_END, ""), null);
    rest = rest.slice(first.at + first.mask.length);
  }
}
