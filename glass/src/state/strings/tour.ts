// The texts of the tour. Every number in them is a number of the run.

/** "99.6%"; never 100% or 0% for what is not exactly that. */
export function share(value: number): string {
  if (value > 0.9995 && value < 1) return "more than 99.9%";
  if (value < 0.0005 && value > 0) return "less than 0.1%";
  return `${Number((value * 100).toFixed(1))}%`;
}

function count(value: number): string {
  return value.toLocaleString("en-US");
}

function places(value: number, digits: number): string {
  return value.toFixed(digits).replace("-", "−");
}

const NUMBERS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];

function word(value: number): string {
  return NUMBERS[value] ?? count(value);
}

const AFTER: Record<string, (block: number) => string> = {
  self_attention: (block) => `after block ${block} has read its own text`,
  cross_attention: (block) => `after block ${block} has read the source`,
  attention: (block) => `after the attention of block ${block}`,
  feed_forward: (block) => `after the feed-forward of block ${block}`,
};

function part(layer: number | null, what: string): string {
  if (layer === null) return "as it goes in";
  return AFTER[what]?.(layer + 1) ?? `after the ${what.replaceAll("_", " ")} of block ${layer + 1}`;
}

function headName(one: { stack: string; kind: string; layer: number; head: number }): string {
  const whose = one.kind === "cross_attention" ? "cross-attention" : one.stack ? `${one.stack} self-attention` : "attention";
  return `head ${one.head + 1} of block ${one.layer + 1} (${whose})`;
}

const PARTS = { table: "the tables of pieces", attention: "attention", feed_forward: "the feed-forward layers", recurrent: "the recurrent layers", rest: "the rest" };

export const tour = {
  start: "Take the tour",
  stop: (at: number, of: number) => `Stop ${at} of ${of}`,
  next: "Next",
  back: "Back",
  end: "Leave the tour",
  right: "Right.",
  wrong: (answer: string) => `No: ${answer}.`,
  skip: "Just show me",
  note: "Where people go wrong",
  preparing: (done: number, all: number) => `Looking for good examples in your input …${all > 1 ? ` ${done} of ${all} heads tried` : ""}`,
  done: "That was the tour. Every sentence of it was checked against the numbers of this page before it was shown.",
  none: "This run has nothing that the tour could show.",
  part,

  patches: {
    title: "What does the model see?",
    text: (n: { count: number; width: number; high: number; wide: number }) =>
      `The model does not see a picture. It gets ${count(n.count)} patches of ${n.high} × ${n.wide} pixels, and each patch is a row of ${count(n.width)} numbers: ` +
      "its pixels, one after the other. What a piece is to a text, a patch is to a picture.",
  },
  pieces: {
    title: "What does the model see?",
    ask: (text: string) => `How many pieces does “${text}” become?`,
    text: (n: { word: string; count: number; parts: string[]; vocabulary: number }) =>
      `The model does not read letters or words. It has a fixed list of ${n.vocabulary ? `${count(n.vocabulary)} ` : ""}pieces, and ` +
      `“${n.word}” becomes ${word(n.count)} of them: ${n.parts.map((one) => `“${one}”`).join(", ")}.`,
    whole: (n: { vocabulary: number; words: number }) =>
      `The model does not read letters or words. It has a fixed list of ${n.vocabulary ? `${count(n.vocabulary)} ` : ""}pieces. ` +
      (n.words === 1 ? "Here it has your word as a whole." : `Here every one of your ${word(n.words)} words is one piece.`),
    note: (first: string) => `A pale ␣ is a space. It belongs to the piece after it: “␣${first}”, with its space, and “${first}”, without one, would be different pieces.`,
  },
  row: {
    title: "What is a word to a computer?",
    text: (n: { piece: string; id: number; rows: number; width: number; near: string; cosine: number }) =>
      `“${n.piece}” is number ${count(n.id)}: one row of a table with ${count(n.rows)} rows of ${count(n.width)} numbers. Training wrote these ` +
      `numbers. The row that points most nearly the same way, of all words and parts of words, is that of “${n.near}”: cosine ${places(n.cosine, 2)}, ` +
      "where 1 would be the same direction and 0 a right angle.",
    note: "No single number of a row means anything by itself. Only directions do.",
  },
  place: {
    title: "How does it know the order?",
    added: (n: { width: number; learned: boolean; piece: number; place: number }) =>
      `A piece has the same row wherever it appears, so its place needs numbers too. ${count(n.width)} ${n.learned ? "learned numbers" : "sines and cosines"} ` +
      `are added to the row. At the first position the piece's row has length ${places(n.piece, 1)}, the position's ${places(n.place, 1)}.`,
    turned: (n: { pairs: number; first: number; last: number }) =>
      "Nothing is added to a row for its place. Instead every query and key is rotated, further for each position: of the " +
      `${n.pairs} pairs of numbers, the first turns by ${places(n.first, 1)}° from one position to the next, the last by ${places(n.last, 3)}°.`,
    bias: "Nothing is added to a row for its place. Instead each head adds a learned number to its scores, which depends only on how far apart query and key are.",
    order: "This model reads one piece after the other. The order is the order of reading: nothing has to be added for it.",
  },
  parameters: {
    title: "Where is what it learned?",
    parts: PARTS,
    ask: (total: number) => `The model has ${count(total)} parameters: numbers that training chose. Where are most of them?`,
    text: (n: { total: number; what: keyof typeof PARTS; share: number; second: keyof typeof PARTS; secondShare: number }) =>
      `Of the ${count(n.total)} parameters, ${share(n.share)} are in ${PARTS[n.what]} and ${share(n.secondShare)} in ${PARTS[n.second]}.`,
  },
  axis: {
    title: "Which axis reads?",
    text: (n: { row: string; most: string; mostTotal: number; least: string; leastTotal: number }) =>
      `A row reads, a column is read. The row of “${n.row}” adds up to 100%: it shares out its attention. A column need not: in this head “${n.most}” is ` +
      `read ${share(n.mostTotal)} in all, and “${n.least}” ${share(n.leastTotal)}.`,
    note: "Many pictures of attention leave out which axis is which. Here it is always: rows read.",
  },
  reads: {
    title: "Who reads whom?",
    ask: (n: { row: string; kind: string; layer: number; head: number }) =>
      n.kind === "cross_attention" ? `Which piece of the source does “${n.row}” read here?` : `Which piece does “${n.row}” read here?`,
    text: (n: { row: string; column: string; share: number; layer: number; head: number; kind: string }) =>
      `In head ${n.head + 1} of block ${n.layer + 1}, the position of “${n.row}” takes ${share(n.share)} of what it reads from “${n.column}”` +
      (n.kind === "cross_attention" ? ". It does so before “" + n.row + "” is written: this row is what chooses it." : "."),
  },
  sum: {
    title: "Where does such a number come from?",
    text: (n: { row: string; column: string; width: number; product: number; divisor: number; scaled: number; share: number }) =>
      `“${n.row}” asks with a query of ${n.width} numbers, “${n.column}” answers with a key of ${n.width} numbers. Their ${n.width} products add up to ` +
      `${places(n.product, 2)}. Divided by ${places(n.divisor, 2)} that is ${places(n.scaled, 2)}. Softmax compares this with the scores of all ` +
      `other pieces and makes a share of it: ${share(n.share)}.`,
  },
  later: {
    title: "May it look ahead?",
    ask: (n: { query: number; row: string; keys: number }) => `“${n.row}” is piece ${n.query + 1} of ${n.keys}. How many pieces may it read, itself included?`,
    text: (n: { row: string; mayRead: number; keys: number }) =>
      `“${n.row}” may read itself and what comes before it: ${n.mayRead} of ${n.keys} pieces. The scores of later pieces are set to −∞, so their shares are exactly 0. In training the model sees whole texts at once, ` +
      "and this mask is what keeps it from copying the answer.",
    both: (n: { row: string; after: number; query: number }) =>
      `Yes. This attention has no mask for the future: in its first head “${n.row}”, piece ${n.query + 1}, takes ${share(n.after)} of what it reads from pieces after it.`,
  },
  needed: {
    title: "Which head matters most?",
    text: (n: { stack: string; kind: string; layer: number; head: number; heads: number; cost: number; times: number }) =>
      `Each of the ${n.heads} heads was removed in turn: its result was replaced by its mean over all positions. The answer misses ${headName(n)} most: without it, its probability is ` +
      `${n.times < 10 ? places(n.times, 1) : count(Math.round(n.times))} times smaller (log P falls by ${places(n.cost, 2)}).`,
  },
  effect: {
    title: "Is attention the same as effect?",
    ask: (n: { stack: string; kind: string; layer: number; head: number; sharpness: number }) =>
      `${headName(n)[0]!.toUpperCase()}${headName(n).slice(1)} is sure of what it reads. What happens to the answer without it?`,
    little: "Next to nothing",
    half: "It becomes half as probable",
    other: "It becomes ten times less probable",
    text: (n: { cost: number; stack: string; kind: string; layer: number; head: number }) =>
      `Next to nothing: without ${headName(n)}, log P of the answer ${n.cost >= 0 ? "falls" : "rises"} by ${Math.abs(n.cost) < 0.001 ? "less than 0.001" : places(Math.abs(n.cost), 3)}. ` +
      "Its pattern is sharp, but the answer does not depend on it here.",
    note: "Attention is not effect. A pattern says where a head reads, not whether anyone needs what it read. Only removing it shows that.",
  },
  decided: {
    title: "Where is each word decided?",
    text: (n: { early: string; earlyPart: string; late: string; latePart: string }) =>
      `If the model had to answer at every point of the way, “${n.early}” would be its settled answer already ${n.earlyPart}, “${n.late}” only ${n.latePart}.`,
    note: "These guesses use the model's own output layer before the model does. They show when an answer can be read off, not when it was thought of.",
  },
  sure: {
    title: "How sure is it?",
    ask: "At which piece of the answer was the model least sure?",
    text: (n: { name: string; probability: number; second: string; secondProbability: number; candidates: number; positions: number }) =>
      `Least sure was “${n.name}”: ${share(n.probability)}, and ${share(n.secondProbability)} for “${n.second}”. Each of the ${n.positions} choices was among ${count(n.candidates)}.`,
    only: (n: { name: string; probability: number; second: string; secondProbability: number; candidates: number }) =>
      `“${n.name}” has ${share(n.probability)}, and “${n.second}” ${share(n.secondProbability)}, of ${count(n.candidates)} to choose from.`,
  },
  ceiling: {
    title: "Why is it never quite certain?",
    text: (n: { name: string; top: number; smoothing: number; asked: number }) =>
      `Its surest choice, “${n.name}”, has ${share(n.top)}. That is no weakness: training used label smoothing ${n.smoothing}, so it asked for ` +
      `${share(n.asked)} on the right piece, not for 100%. A model that learned this well comes close to ${share(n.asked)} and stays there.`,
  },
  beam: {
    title: "Did it try something else?",
    text: (n: { width: number; nodes: number; beaten: number; score: number; secondScore: number; second: string }) =>
      `The search kept up to ${n.width} beginnings at a time and followed ${n.nodes} in all. The answer has score ${places(n.score, 3)}; ` +
      `the next one, “${n.second}”, ${places(n.secondScore, 3)}.`,
  },
  proof: {
    title: "Can you believe this page?",
    text: (n: { compared: number; worst: number; recorded: boolean }) =>
      (n.recorded ? "" : "Python never saw this sentence. It went through the same arithmetic as the recorded one, and that was checked: ") +
      `${count(n.compared)} numbers of ${n.recorded ? "this run" : "the recorded sentence"} were computed again here and compared with those that Python recorded. The largest difference is ` +
      `${n.worst === 0 ? "0" : n.worst.toExponential(0).replace("e-", "e−")} of the largest value of its step.`,
  },
};
