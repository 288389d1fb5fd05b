import assert from "node:assert/strict";
import { test } from "node:test";
import { Speller, type TokenizerFile } from "../src/analysis/spelling";

function vocabulary(...pieces: string[]): Record<string, number> {
  return Object.fromEntries(pieces.map((piece, id) => [piece, id]));
}

const BPE: TokenizerFile = {
  model: { type: "BPE", vocab: vocabulary("<end>", "Ġ", "t", "h", "e", "n", "he", "Ġt", "Ġthe"), merges: [["h", "e"], "Ġ t", ["Ġt", "he"]] },
  added_tokens: [{ id: 0, content: "<end>" }],
};

test("BPE joins the pair of lowest rank first", () => {
  const [word] = new Speller(BPE).spellings([8, 5, 0], [0, 0, -1]);
  assert.deepEqual(word!.steps.map((step) => [step.rank, step.after.join(" ")]), [
    [0, "Ġ t he n"],
    [1, "Ġt he n"],
    [2, "Ġthe n"],
  ]);
  assert.deepEqual(word!.pieces, ["Ġthe", "n"]);
});

test("marks are words without moves", () => {
  const words = new Speller(BPE).spellings([8, 0], [0, -1]);
  assert.deepEqual(words.map((word) => [word.from, word.steps.length]), [[0, 3], [1, 0]]);
  assert.deepEqual(words[1]!.pieces, ["<end>"]);
});

test("two encoder words inside one word of the reader are spelled apart", () => {
  const file: TokenizerFile = { model: { type: "BPE", vocab: vocabulary("h", "e", "he"), merges: [["h", "e"]] } };
  const words = new Speller(file).spellings([0, 2], [0, 0]); // h|he: "hhe" in one go also gives h, he
  assert.deepEqual(words.map((word) => word.pieces), [["h", "he"]]);
  const apart = new Speller(file).spellings([0, 1], [0, 0]); // h|e can only be two encoder words
  assert.deepEqual(apart.map((word) => word.pieces), [["h"], ["e"]]);
});

test("bytes of a character that is not in the vocabulary stay bytes", () => {
  const file: TokenizerFile = { model: { type: "BPE", vocab: vocabulary("a", "<0xC3>", "<0xA9>"), merges: [], byte_fallback: true } };
  const [word] = new Speller(file).spellings([0, 1, 2], [0, 0, 0]);
  assert.deepEqual(word!.pieces, ["a", "<0xC3>", "<0xA9>"]);
  assert.deepEqual(word!.steps, []);
});

test("WordPiece takes the longest entry, and continues after it", () => {
  const file: TokenizerFile = {
    model: { type: "WordPiece", vocab: vocabulary("[UNK]", "g", "ge", "##g", "##gessen", "##n"), continuing_subword_prefix: "##", unk_token: "[UNK]" },
  };
  const [word] = new Speller(file).spellings([2, 4], [0, 0]);
  assert.deepEqual(word!.steps[0], { before: ["gegessen"], after: ["ge", "##gessen"], place: 0, tried: ["gegessen", "gegesse", "gegess", "geges", "gege", "geg", "ge"] });
  assert.deepEqual(word!.steps[1]!.tried, ["##gessen"]);
});

test("Unigram shows each piece's log-probability", () => {
  const file: TokenizerFile = { model: { type: "Unigram", vocab: [["a", -1], ["b", -2.5]] } };
  const [word] = new Speller(file).spellings([0, 1], [0, 0]);
  assert.deepEqual(word!.steps.map((step) => step.score), [-1, -2.5]);
});

test("a piece that the word could not get has no moves", () => {
  const [word] = new Speller(BPE).spellings([2], [0]);
  assert.deepEqual([word!.pieces, word!.steps], [["t"], []]);
});
