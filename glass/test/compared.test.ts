import assert from "node:assert/strict";
import { test } from "node:test";
import { compared } from "../src/analysis/compared";

function marked(one: string, other: string): string[] {
  return compared(one, other).map((words) => words.map(({ text, changed }) => (changed ? `[${text.trimEnd()}]` : text.trimEnd())).join(" "));
}

test("words that only one text has are marked, and nothing else", () => {
  assert.deepEqual(marked("Ich habe einen Apfel gegessen.", "Wir haben einen Apfel."), ["[Ich] [habe] einen Apfel [gegessen] .", "[Wir] [haben] einen Apfel ."]);
});

test("equal texts have no marks; an empty one has no words", () => {
  assert.deepEqual(marked("a b", "a b"), ["a b", "a b"]);
  assert.deepEqual(marked("", "a"), ["", "[a]"]);
});

test("all text is kept", () => {
  const [left] = compared("  Don't  go, 3½ times!", "Go");
  assert.equal(left.map((word) => word.text).join(""), "  Don't  go, 3½ times!");
});
