// The texts of the view "whole".

const COUNTS = new Intl.NumberFormat("en");

export const whole = {
  title: (kind: string) => `What is this machine? ${kind}`,
  kinds: {
    transformer: "A reader and a writer", t5: "A reader and a writer", captioner: "A viewer and a writer", rnn_attention: "A reader and a writer, step by step",
    gpt: "A writer", llama: "A writer", roformer: "A reader", bert: "A reader", vit: "A viewer", lstm_lm: "A writer, step by step", bilstm: "A reader, step by step",
  } as Record<string, string>,
  other: "A stack of layers",
  lead: (parameters: string, boxes: number) =>
    `${parameters ? `${parameters} learned numbers in ${boxes} boxes.` : `${boxes} boxes.`} On every arrow is the actual row of numbers of one piece, blue above zero, orange below, each strip on its own scale. Each box changes it.`,
  difference: "On every arrow is B − A: what your changes changed in the row of one piece, each strip on its own scale. An empty strip: nothing has changed there.",
  parameters: (count: string) => `${count} numbers learned`,
  none: "nothing learned",
  shared: "the table again",
  shape: (rows: string, width: string) => `${rows} × ${width}`,
  piece: "The piece that is followed",
  follow: (piece: string) => `follow “${piece}”`,
  says: "says",
  step: "Next box", back: "Back", play: "Run it", stop: "Stop", start: "From the start",
  at: (now: number, all: number) => `Box ${now} of ${all}`,
  open: "Look inside",
  more: (count: number) => `${count} more blocks, the same shape`,
  fold: "Fold the blocks",
  memory: "memory",
  idle: "Step through it, or run it: what each box does with the selected piece is said here.",
  change: (before: string, after: string, turned: string) => `Length of the row: ${before} before, ${after} after; it has turned by ${turned}°.`,
  reads: (head: number, share: string, piece: string) => `head ${head}: ${share} from “${piece}”`,
  says_: {
    inputs: (piece: string, id: number, width: number) => `“${piece}” is number ${COUNTS.format(id)}: row ${COUNTS.format(id)} of the table, ${COUNTS.format(width)} numbers, together with its place.`,
    inputsOther: (width: number) => `What comes in becomes a row of ${COUNTS.format(width)} numbers.`,
    self: (piece: string) => `“${piece}” reads the pieces of its own text, each head in its own way.`,
    cross: (piece: string) => `The position of “${piece}” reads what the encoder made of the source.`,
    feed: (inner: number, active: number, piece: string) =>
      `Of ${COUNTS.format(inner)} inner numbers, ${COUNTS.format(active)} are above zero for “${piece}”. No other piece is looked at.`,
    feedPlain: (piece: string) => `The row of “${piece}” is changed by itself. No other piece is looked at.`,
    mean: "The rows of all pieces become one: their mean.",
    norm: "The row is brought to a standard size before it is read.",
    output: (best: string, share: string, count: number) => `One number for each of ${COUNTS.format(count)} candidates. The best: “${best}”, ${share}.`,
    number: (answer: string) => `The result is one number: ${answer}.`,
    vector: (width: number) => `The result is a vector of ${COUNTS.format(width)} numbers.`,
    other: (steps: number) => `${steps} ${steps === 1 ? "operation" : "operations"}.`,
  },
};
