// The texts of the frame and of what all views share.

const COUNTS = new Intl.NumberFormat("en");

export const frame = {
  name: "Glassformer",
  sentence: "The sentence that the model reads",
  run: "Run",
  running: "computing…",
  nothingTyped: "There is nothing to read: type a sentence.",
  stillShown: (text: string) => `The page still shows “${text}”.`,
  answer: "What the model answers",
  image: "The image that the model reads",
  recordedOnly: "This page has no weights, so it shows recorded sentences only.",
  examples: "Recorded sentences",
  skip: "Skip to the view",
  views: {
    whole: "The whole", pieces: "Pieces", head: "One head", heads: "All heads", stream: "The stream", choice: "The choice", proof: "The proof",
  },
  viewsLabel: "Views",
  figure: "The model",

  verified: {
    pending: "Checking every number against Python…",
    ok: (count: number, worst: string) => `${COUNTS.format(count)} numbers computed again on this page equal Python's; largest difference ${worst} of the largest value`,
    recorded: (count: number, worst: string) => `${COUNTS.format(count)} numbers follow from recorded ones; largest difference ${worst} of the largest value`,
    failed: (failures: number, first: string) => `${COUNTS.format(failures)} steps differ from Python, the first is ${first}: do not trust this page`,
    inexact: (reasons: readonly string[]) => `Python may answer differently: ${reasons.join("; ")}.`,
    other: (which: "A" | "B", probes: number, text: string) =>
      `Python has no record of ${which === "B" ? "B" : "this text"}: its numbers are compared with nothing. Checked for it: ${probes ? `the ids, by ${COUNTS.format(probes)} probes of the tokenizer; ` : ""}the page's arithmetic, on the recorded text “${text}”`,
    nothing: "Everything shown here is read from Python's record: this page computed none of it again",
    why: "How it was checked",
  },

  compare: {
    label: "Which run is shown",
    A: "A", B: "B", "B-A": "B − A",
    aTitle: "The model as it is", bTitle: "The model with your changes", minusTitle: "What your changes changed",
    what: "What if…",
    close: "Close",
  },

  rail: {
    stack: (name: string, blocks: number) => (blocks ? `${name} ×${blocks}` : name),
    block: (number: number) => `block ${number}`,
    names: {
      inputs: "pieces", self_attention: "self-attention", attention: "attention", cross_attention: "reads source",
      feed_forward: "feed-forward", experts: "experts", final_norm: "final norm", output: "the next piece", memory: "memory", pooling: "pooling",
      recurrent: "→ in time →", forwards: "→ forwards →", backwards: "← backwards ←", context: "context", first: "first state", readout: "readout",
    } as Record<string, string>,
    image: "patches", readsImage: "reads image",
    classes: "the class",
    vector: "the vector",
    number: "the number",
    word: "the hidden word",
    labels: "a label for each piece",
    span: "begin and end",
    time: "time",
    go: (what: string) => `Go to ${what}`,
  },

  reckoning: {
    title: "This number, reckoned",
    none: "Select a number to see how it is made.",
    products: (count: number) => `${COUNTS.format(count)} products q · k, one for each dimension`,
    root: (width: number, root: string) => `divided by √${width} = ${root}`,
    times: (factor: string) => `times ${factor}`,
    added: "plus the bias",
    masked: "mask: hidden", unmasked: "mask: not hidden, + 0",
    softmax: (own: string, top: string, sum: string) => `softmax: e^(${own} − ${top}) ÷ ${sum}`,
    mean: "mean ",
    all: (count: number) => `all ${COUNTS.format(count)} terms`,
    recorded: "recorded by Python",
    computed: "computed here",
    difference: "difference",
    notRecorded: "not recorded",
    onlyRecorded: "recorded, not recomputed",
    tap: "tap",
    step: "step",
    code: "code",
    at: "place",
    formula: "formula",
    copy: "Copy as Python",
    copied: "Copied",
    inA: "in A", inB: "in B", change: "change",
    others: "A has another piece at this place, so this is B's number.",
    open: "Show the sum", shut: "Hide the sum",
  },

  matrix: {
    table: "as table",
    picture: "as picture",
    export: "Save",
    reads: (query: string, key: string, share: string) => `“${query}” reads ${share} from “${key}”`,
    cell: (row: string, column: string, value: string) => `${row}, ${column}: ${value}`,
    future: "hidden: it comes later",
    padding: "hidden: padding",
    hidden: "hidden",
    keys: "Arrow keys move from cell to cell.",
    large: (rows: number, columns: number) => `${COUNTS.format(rows)} × ${COUNTS.format(columns)}: an overview, each pixel the strongest of its cells. Below is the selected row.`,
    rowLens: (row: string) => `The row of “${row}”: its 12 strongest`,
    rest: (count: number) => `the other ${COUNTS.format(count)}`,
    legendNone: "0", legendFuture: "later, hidden", legendPadding: "padding, hidden",
    tableRow: "The table has the selected row; CSV has all rows.",
  },

  keys: {
    title: "Keys",
    list: [
      ["1 – 7", "the views"], ["j  k", "next, previous layer"], ["l  h", "next, previous head"], ["← ↑ ↓ →", "cells of a matrix"],
      ["x", "remove the selected head, or give it back"], ["c", "A, B or the difference"], ["/", "jump to a step, a head or a piece"],
      ["?", "this list"], ["Esc", "close"],
    ] as [string, string][],
  },

  jump: {
    title: "Jump to",
    placeholder: "head 2, cross 2.4, a word, a step …",
    nothing: "Nothing has this name.",
    head: (kind: string, layer: number, number: number) => `${kind} ${layer}.${number}`,
    headAlso: (layer: number, number: number) => `head ${number} block ${layer} layer ${layer}`,
    headOnly: (number: number) => `head ${number}`,
    examples: "For example",
    word: (word: string, pieces: number, sequence: string) => `“${word}”, ${pieces} pieces of the ${sequence}`,
    piece: (piece: string, sequence: string) => `piece “${piece}” of the ${sequence}`,
  },

  sizes: { svg: "SVG", png: "PNG", csv: "CSV", npy: "NPY" },
};
