// Pieces as readers see and hear them.

const MARKS: Record<string, string> = {
  "</s>": "‹end›", "<eos>": "‹end›", "<|endoftext|>": "‹end›", "<end>": "‹end›", "<s>": "‹start›", "<bos>": "‹start›", "<start>": "‹start›",
  "<pad>": "‹pad›", "[PAD]": "‹pad›", "<unk>": "‹unknown›", "[UNK]": "‹unknown›", "[CLS]": "‹class›", "[SEP]": "‹sep›", "[MASK]": "‹mask›", "<mask>": "‹mask›",
};

/** Leading space as ␣, marks of the tokenizer as ‹end›; everything else as the tokenizer shows it. */
export function visible(piece: string): string {
  return MARKS[piece] ?? piece.replaceAll("▁", "␣");
}

/** A piece as it is read aloud or put into a sentence: without marks of spaces. */
export function spoken(piece: string): string {
  return visible(piece).replaceAll("␣", " ").trim() || "space";
}
