import assert from "node:assert/strict";
import { test } from "node:test";
import type { TokenizerInfo } from "../src/engine/header";
import { Refused, splitAt, TextReader } from "../src/engine/tokenize";
import { read } from "./fixtures";

interface Case {
  name: string;
  file: object;
  shown: string[];
  silent: number[];
  texts: [text: string, ids: number[], words: number[], decoded: string][];
}

const CASES = read<Case[]>("tokenizers.json");

function reader(one: Case, info: Partial<TokenizerInfo> = {}): TextReader {
  const around = { before: [], after: [], probes: [], typed: true, silent: one.silent, ...info } as unknown as TokenizerInfo;
  return new TextReader(around, JSON.stringify(one.file), JSON.stringify(one.shown));
}

for (const one of CASES) {
  test(`${one.name}: ids, words and texts are Python's`, () => {
    const own = reader(one);
    assert.equal(own.refusal(), null);
    for (const [text, ids, words, decoded] of one.texts) {
      assert.deepEqual(own.plain(text), ids, JSON.stringify(text));
      assert.deepEqual(own.read(text).words, words, JSON.stringify(text));
      assert.equal(own.text(ids), decoded);
    }
  });
}

const [bpe] = CASES as [Case];

test("a probe with other ids: typed text is refused, with the reason", () => {
  const own = reader(bpe, { probes: [["the old dog", [1, 2]]] });
  assert.match(own.refusal()!, /differs from Python's on "the old dog"/);
  assert.throws(() => own.read("the"), Refused);
});

test("a page that cannot tokenize says why", () => {
  assert.equal(reader(bpe, { typed: false, why: "two texts together" }).refusal(), "two texts together");
  const broken = { ...bpe, file: { ...bpe.file, pre_tokenizer: { type: "Unheard" } } };
  assert.match(reader(broken).refusal()!, /cannot build the tokenizer/);
});

test("ids around a text, stripped, reversed, and texts that are too long", () => {
  const [text] = ["the dog"];
  const plain = reader(bpe).plain(text);
  const found = reader(bpe, { before: [2], after: [3], stripped: true }).read(`  ${text} \n`);
  assert.deepEqual(found.ids, [2, ...plain, 3]);
  assert.equal(found.pieces.length, found.ids.length);
  assert.deepEqual([found.words[0], found.words.at(-1)], [-1, -1]);
  assert.deepEqual(reader(bpe, { after: [3], reversed: true }).read(text).ids, [3, ...[...plain].reverse()]);
  assert.throws(() => reader(bpe, { longest: plain.length - 1 }).read(text), /at most/);
  assert.equal(reader(bpe, { longest: plain.length, after: [3] }).read(text).ids.length, plain.length + 1);
});

test("masks become their own id; white space before them is left out", () => {
  const own = reader(bpe, { mask: { id: 1, spelled: ["[MASK]", "<mask>"] } });
  const found = own.read("the [MASK] sees <mask>");
  assert.deepEqual(found.ids, [...own.plain("the"), 1, ...own.plain(" sees"), 1]);
  assert.deepEqual([...new Set(found.words)], [0, 1, 2, 3]);
  assert.deepEqual(splitAt("<mask>", ["[MASK]", "<mask>"]), ["", null, ""]);
});

test("a continued text is what the new ids add", () => {
  const own = reader(bpe);
  const [before, all] = [own.plain("the old"), own.plain("the old dog")];
  assert.equal(own.text(all.slice(before.length), before), " dog");
});

test("white space is what Python strips", () => {
  const own = reader(bpe, { stripped: true });
  assert.deepEqual(own.read("\u001c\u0085 the dog\u3000\u001f").ids, own.read("the dog").ids);
  assert.deepEqual(own.read("\ufeffthe dog").ids, own.plain("\ufeffthe dog"));
  assert.deepEqual(splitAt("the \u001f<mask>", ["<mask>"]), ["the", null, ""]);
});
