// The texts of the view "pieces".

const COUNTS = new Intl.NumberFormat("en");

export const pieces = {
  title: (text: string) => `What does the model see of “${text}”?`,
  image: "What does the model see of the picture?",
  sequences: "Which text",
  lead: (words: number, count: number, vocabulary: number) =>
    `Numbers. ${COUNTS.format(words)} ${words === 1 ? "word" : "words"} become ${COUNTS.format(count)} pieces${vocabulary ? ` of a list of ${COUNTS.format(vocabulary)}` : ""}, and each piece its number in the list.`,
  normalised: "Before it is cut, the text is written in one way:",
  number: ", number ",

  spell: {
    title: (word: string) => `How does “${word}” become pieces?`,
    bpe: "Letters are joined two by two. At each step the pair is joined that training learned first; merge 1 was the first of all. The word is done when no learned pair is left.",
    wordpiece: "The longest piece of the list that begins the word is taken, then the longest that begins the rest.",
    unigram: "Of all ways to cut the word, this one has the highest sum of log-probabilities.",
    lookup: "The whole word is looked up in the list.",
    mark: "This is a mark that the model puts there itself. It is not spelled.",
    alone: "It is in the list as it is: nothing has to be joined.",
    unknown: "The page could not spell it the way the tokenizer did, so it shows only the result.",
    start: "letters",
    bytes: "bytes",
    merge: (rank: number) => `merge ${COUNTS.format(rank + 1)}`,
    merged: (left: string, right: string, rank: number) => `${left} + ${right}: the pair that was learned as number ${COUNTS.format(rank + 1)}`,
    tried: (count: number) => `${count === 1 ? "found at once" : `${count} looked up, the longest first`}`,
    score: (value: string) => `log P ${value}`,
    back: "One step back", step: "Next step", all: "All steps", play: "Play", stop: "Stop",
    at: (step: number, of: number) => `${step} of ${of}`,
    ids: "numbers",
  },

  row: {
    title: (piece: string, width: number) => `What is “${piece}” now? ${COUNTS.format(width)} numbers`,
    lead: "Each strip is one row: blue above zero, orange below. Select a number to see how it is made.",
    table: (id: number) => `row ${COUNTS.format(id)} of the table`,
    scaled: (factor: string) => `times ${factor}`,
    root: (width: number) => `times √${width}`,
    position: (place: number) => `place ${place}, added`,
    learned: (place: number) => `place ${place}, learned, added`,
    segment: "part of the text, added",
    sum: "sum",
    normed: "brought to one size",
    result: "goes into the first block",
    patch: "the patch times a matrix",
    constant: "the row for the whole picture",
    other: (op: string) => op.replaceAll("_", " "),
    number: (column: number) => `number ${column}`,
  },

  near: {
    title: (piece: string) => `Whose rows point the same way as that of “${piece}”?`,
    lead: (rows: number) => `The cosine with each of the other ${COUNTS.format(rows)} rows: 1 is the same direction, 0 a right angle, −1 the opposite. The closest:`,
    none: "The page does not have the table of pieces.",
    id: "number",
    cosine: "cosine",
  },

  picture: {
    lead: (rows: number, columns: number, size: string, width: number) =>
      `${rows} × ${columns} patches of ${size} pixels. Each patch is a “piece”: ${COUNTS.format(width)} numbers, its pixels.`,
    label: (row: number, column: number) => `patch in row ${row}, column ${column}`,
    title: "The picture with its patches. Arrow keys move from patch to patch.",
    enlarged: "The selected patch",
    recorded: "The page has no pixels of this picture.",
  },
  numbers: "This model reads numbers, not pieces of text.",
};
