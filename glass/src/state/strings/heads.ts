// The texts of the view "heads".

const COUNTS = new Intl.NumberFormat("en");
const KINDS: Record<string, string> = { self_attention: "self-attention", attention: "self-attention", cross_attention: "reads the source" };

export const heads = {
  title: (answer: string) => `Which heads matter for “${answer}”?`,
  titlePiece: (piece: string) => `Which heads matter for “${piece}”?`,
  titleVector: "Which heads matter for this vector?",
  titleNumber: (answer: string) => `Which heads matter for the number ${answer}?`,
  none: "This model has no attention, so it has no heads.",
  group: (stack: string, kind: string) => [stack, KINDS[kind] ?? kind.replaceAll("_", " ")].filter(Boolean).join(": "),
  name: (stack: string, kind: string, layer: number, head: number) => `${[stack, kind.includes("cross") ? "cross" : "self"].filter(Boolean).join(" ")} ${layer}.${head}`,
  block: (number: number) => `${number}`,
  blocks: "block",
  lead: "A pattern shows where a head looks. What it is worth shows only without it: each head in turn is removed, and the model reads the same text and the same answer again.",

  looks: {
    end: "mostly the end", first: "mostly the first piece", all: "everything equally",
    one: (where: string) => `one piece, ${where}`, few: (where: string) => `a few pieces, ${where}`,
    anywhere: { one: "one piece", few: "a few pieces" },
    same: "same position", around: "around itself", back: (count: number) => (count === 1 ? "the previous one" : `about ${count} back`), ahead: (count: number) => (count === 1 ? "the next one" : `about ${count} ahead`),
  },
  tags: { end: "end", first: "first", all: "all", one: "one", few: "few", same: "=", around: "≈", back: (count: number) => `−${count}`, ahead: (count: number) => `+${count}` },

  verdict: {
    most: (name: string, loss: string, times: string) => `Head ${name} is worth most: without it the answer loses ${loss} nats, so it is ${times} less probable.`,
    mostVector: (name: string, loss: string) => `Head ${name} is worth most: without it the cosine to the vector falls by ${loss}.`,
    mostNumber: (name: string, change: string) => `Head ${name} is worth most: without it the number changes by ${change}.`,
    idle: (idle: number, count: number, little: string) => `${COUNTS.format(idle)} of ${COUNTS.format(count)} heads cost at most ${little} each.`,
    sharp: (name: string, top: string, loss: string) => `Head ${name} is sharp, it puts ${top} of each row on one piece, and yet without it the answer loses ${loss}: attention is not effect.`,
    noSharp: "No head here is both sharp and worth next to nothing.",
    harmful: (name: string, gain: string) => `Without head ${name} the answer would even be more probable (by ${gain} nats).`,
    allSmall: (name: string, loss: string) => `No single head matters much: even without ${name}, the most valuable, the answer loses just ${loss} nats. The others make up for each one that is missing.`,
  },
  progress: (done: number, all: number) => `${COUNTS.format(done)} of ${COUNTS.format(all)} heads removed and put back`,
  stop: "Stop", resume: "Measure the rest",
  recurrent: "The mixture is removed where the piece is chosen; the recurrent state has still read it.",
  notLive: "What a head is worth needs the weights, which are not in this page.",

  what: "What is measured", forAnswer: "the whole answer", forPiece: (piece: string) => `“${piece}”`,
  how: "How a head is removed", mean: "replaced by its mean", zero: "set to 0",
  unit: "Pieces or words", pieces: "pieces", words: "words",
  show: "Which pattern", thisHead: "this head", rollout: "all layers (rollout)",

  chart: "Where a head looks sharply, and what it is worth",
  chartLabel: (count: number) => `${COUNTS.format(count)} heads: to the right sharper, up worth more`,
  sharp: "sharpness →", worth: "worth, nats ↑", worthVector: "worth, cosine ↑", worthNumber: "worth, change of the number ↑",
  corner: "sharp, but worth nothing",
  point: (name: string, sharp: string, loss: string) => `${name}: sharpness ${sharp}, worth ${loss}`,
  marks: { encoder: "encoder", decoder: "decoder", cross: "reads the source" },

  ranking: "What each is worth",
  rankingNote: "nats of log P that the answer loses without the head",
  rankingVector: "how much the cosine falls without the head",
  rankingNumber: "how much the number changes without the head",
  columns: { head: "head", worth: "worth", sharp: "sharp" },
  more: (count: number) => `all ${COUNTS.format(count)} heads`,

  reads: "reads", isRead: "is read",
  pattern: (name: string) => `Head ${name}`,
  patternNote: (sharp: string, bits: string, looks: string) => `sharpness ${sharp}, ${bits} bits of entropy, ${looks}`,
  open: "Look inside this head",
  cell: (query: string, key: string, share: string) => `“${query}” reads ${share} from “${key}”`,
  rolloutTitle: (stack: string) => (stack ? `What reaches each piece of the ${stack}` : "What reaches each piece"),
  rolloutNote: "Attention rollout: in each layer half comes from what was there, half from what the mean of the heads reads. Values and feed-forward networks are left out.",
  rolloutCell: (query: string, key: string, share: string) => `${share} of “${query}” comes from “${key}”`,
  from: "Where it comes from",
  overlay: (row: string) => `What ${row} reads, over the image`,
  overlayLabel: (across: number, down: number) => `${across} × ${down} patches; darker: read more`,
};
