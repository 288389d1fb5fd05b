// What the file contains: the types of its header, written by Python, and of what the engine gives to the views.

/** Where an array is: in the unpacked bytes of a chunk, little endian. */
export interface ArrayRef {
  chunk: number;
  offset: number; // in bytes
  shape: number[];
  dtype: "f32" | "f16" | "i32";
}

/** Where a UTF-8 text is. */
export interface TextRef {
  chunk: number;
  offset: number;
  length: number; // in bytes
}

export type Setting = number | string | boolean | null | Setting[];

/** One step of the forward pass. */
export interface Step {
  name: string; // the tap's dotted name, or the module's name and what it is
  op: string;
  inputs: string[]; // earlier steps, or sequences
  weights: string[]; // names of the state dict
  axes: string[]; // ["head", "target", "source"]
  shape: (number | string)[]; // a number, or the sequence whose length it is
  settings: Record<string, Setting>;
  part: string; // place in the figure: "encoder.0.self_attention"
  tapped: boolean; // whether the model itself reports this value
  code: string; // "nn/attention.py:74"
}

export type SequenceKind = "ids" | "segments" | "image" | "numbers";

export interface Program {
  kind: string;
  sequences: Record<string, SequenceKind>;
  steps: Step[];
  outputs: Record<string, string>;
  causal: string[]; // sequences whose later rows never change earlier ones
}

export interface OpText {
  formula: string;
  sentence: string;
  row_wise: boolean; // row i of the result needs row i of the inputs only
}

export interface Header {
  format: 1;
  title: string;
  kind: string;
  tier: "live" | "recorded";
  precision: "float32" | "float16";
  settings: Record<string, unknown>; // of the model
  program: Program;
  ops: Record<string, OpText>;
  weights: Record<string, ArrayRef>;
  task: Task;
  tokenizers: Record<string, TokenizerInfo>;
  decoding?: Decoding;
  traces: TraceRecord[];
  left_out: string[];
  provenance: Record<string, string>;
  alignment?: unknown;
}

export interface Task {
  verb: string;
  head: "next" | "words" | "class" | "tokens" | "span" | "vector" | "number";
  classes?: string[];
  scale?: [number, number]; // of a number: what an output of 0 means, and how much 1 adds
}

export interface TokenizerInfo {
  file: TextRef; // tokenizer.json
  shown: TextRef; // JSON list: each piece as a reader sees it
  before: number[]; // ids put before and after those of the text
  after: number[];
  probes: [string, number[]][]; // texts and their ids (without before and after), computed by Python
  typed: boolean; // false: the page cannot tokenize
  why?: string;
  silent?: number[]; // ids that are left out of a text: special tokens
  stripped?: boolean; // white space at both ends is removed first
  longest?: number; // texts with more ids cannot be read
  whole?: number; // texts with more ids are split or shortened in Python, not here
  mask?: { id: number; spelled: string[] }; // a text is split where one of these is; the id goes between the parts
  reversed?: boolean; // the model reads the ids of the source in reverse order
}

/** The most tokens of an output, the end mark included: a number, or times * (number of source ids) + plus, at most max. */
export type Limit = number | { times: number; plus: number; max?: number };

export interface Decoding {
  start: number; // the id that every output begins with; -1: the output continues the text
  end: number;
  ends?: number[]; // several ends count as one, `end`: the most likely of them
  limit: Limit;
  beam: number;
  ranked: "mean" | { by_length: number } | { gnmt: number };
  cut_last?: boolean; // false: outputs cut at the limit rank among the finished ones
  chooser: "Best" | "BestRefilled";
  smoothing?: number;
  forbidden?: number[]; // ids that an output may never contain
  first?: number[]; // ids that every output begins with
  rules?: string[]; // other rules in force in Python, which the page does not know
  search_beam?: number; // of the recorded search
}

/** Proof samples of one step. -Infinity entries are not counted in max and sum; in `values` they are null. */
export interface Proof {
  max: number; // the largest magnitude of the finite entries
  sum: number; // of the finite entries
  at: number[]; // flat indices
  values: (number | null)[];
}

/** How a word is put together from letters. */
export interface Merges {
  word: string;
  kind: string;
  steps: { before: string[]; merged: [string, string] | null; after: string[]; rank?: number; score?: number; tried?: string[] }[];
  pieces: string[];
  ids: number[];
  first: number; // the number of its first piece in the sequence
}

export interface Prediction {
  at: number;
  chosen: string;
  id: number;
  probability: number;
  log_probability: number;
  top: { piece: string; id: number; probability: number }[];
}

export interface TraceRecord {
  text: string;
  answer: string;
  ids: Record<string, number[]>; // of each sequence of the program (ids and segments)
  pieces: Record<string, string[]>;
  words: Record<string, number[]>; // number of the word of each piece; -1: none
  written?: { ids: number[]; pieces: string[] }; // what each decoder step chose
  merges?: Record<string, Merges[]>; // of each sequence, one per word
  predictions?: Prediction[];
  score?: number;
  search?: SearchRecord;
  values: Record<string, ArrayRef>; // recorded by Python, float32
  proof: Record<string, Proof>; // of every step
  rounding?: number; // how far Python's own float32 values are from the same computed in float64, relative, at the worst tap
  image?: ArrayRef; // the input of the sequence of kind "image"
}

// --- Search: the same in Python's record and in the page's own -----------------------------------------------------

/** What became of a candidate. kept: it continues. finished: it ended with the end mark. beaten: others were better.
 * forbidden: a rule excludes it. */
export type Fate = "kept" | "finished" | "beaten" | "forbidden";

export interface Candidate {
  token: number;
  log_prob: number | null; // the model's own; null is -Infinity here and below
  sum: number | null; // of the whole prefix with it, after the rules
  score: number | null; // `sum` normalised by length: what finished hypotheses are ranked by
  fate: Fate;
  rule?: string; // which rule forbids it
  node?: number; // the number it has as a prefix, if it was kept or finished
}

/** One open hypothesis at one step, with its most likely continuations, best first: the beam width + 2, or more where a
 * less likely one was chosen. */
export interface SearchRow {
  node: number; // 0 is the empty prefix
  candidates: Candidate[];
}

export interface SearchNode {
  parent: number; // node 0 is its own parent
  token: number; // -1 for node 0
  log_prob: number;
  sum: number;
}

export interface Finished {
  node: number;
  ids: number[]; // without the end mark
  log_probs: number[]; // with that of the end mark
  score: number;
  finished: boolean; // false: cut at the limit
}

export interface SearchRecord {
  width: number;
  widened?: boolean; // wider than the search that made the answer
  nodes: SearchNode[]; // by number
  steps: SearchRow[][]; // by length of the prefixes
  hypotheses: Finished[]; // all complete ones, best first
}

// --- What the engine gives to the views -----------------------------------------------------------------------------

/** Row major. */
export interface Tensor {
  data: Float32Array;
  shape: number[];
}

/** A change of one step's result, applied as soon as it is computed. head, row and column select on the axis named head,
 * the second last and the last one; what is absent means all. */
export interface Patch {
  step: string;
  how: "zero" | "mean" | "set" | "hide"; // mean: of the rows (the axis before the last); hide: -Infinity
  head?: number;
  row?: number;
  column?: number;
  value?: number; // for "set"
}

export type Inputs = Record<string, number[] | Tensor>; // of each sequence

/** All steps of one forward pass; computed when asked for. */
export interface Pass {
  values(name: string): Tensor;
  has(name: string): boolean;
}

/** One input with its answer. */
export interface Run {
  text: string;
  answer: string;
  ids: Record<string, number[]>;
  pieces: Record<string, string[]>;
  words: Record<string, number[]>;
  written?: { ids: number[]; pieces: string[] };
  pass: Pass;
  patches: Patch[];
  search?: SearchRecord;
  trace?: TraceRecord; // Python's record of it, where there is one
  inexact?: string[]; // why Python might answer differently
  logProbs(row: number): Float32Array; // of the whole vocabulary (or all classes), at a row of the output
}

export interface StepCheck {
  step: string;
  error: number; // largest difference / largest magnitude of the step
  compared: number; // how many numbers
  only?: true; // read from the record, not computed: it says nothing about the page's arithmetic
  ok: boolean;
  why?: string;
}

export interface Checks {
  ok: boolean;
  steps: StepCheck[];
  worst: StepCheck | null;
  compared: number; // numbers compared that were computed here
  failures: StepCheck[];
  rules: { name: string; ok: boolean; detail: string }[]; // row sums, NaN, the causal-leak test
}

export interface RunOptions {
  patches?: Patch[];
  forced?: Record<number, number>; // output position -> token
  beam?: number;
  target?: number[]; // a given output instead of a search: its ids as in Run.written, with the end mark if it has one
  pruned?: number[][]; // beginnings of outputs that the search does not follow
}

export interface Source {
  header: Header;
  live: boolean;
  recorded(index: number): Run;
  run(text: string, options?: RunOptions): Promise<Run>;
  verify(run: Run): Checks;
  checked(run: Run): Promise<Checks>; // the same as verify, without blocking the page where that is possible
  changed(run: Run, patches: Patch[]): Run; // the same ids with other patches, at once
  origin(step: string, run: Run): "recomputed" | "recorded";
}

/** How a group's terms make its result. "value": the result is worked out from them as its label says. */
export type How = "sum" | "product" | "quotient" | "mean" | "value";

export interface Term {
  name: string;
  value: number;
  factors?: [number, number]; // where the value is their product
}

export interface Group {
  label: string;
  how: How;
  terms: Term[];
  result: number;
}

/** One number taken apart into the sum that it is. */
export interface Reckoning {
  step: string;
  index: number[];
  op: string;
  formula: string;
  code: string;
  tap: string | null; // the tap's name, where the model reports this value
  groups: Group[]; // in order; the last one's result is the number. Empty: what it needs is not in the file
  result: number | null; // the reckoned value, in float64
  computed: number; // what the pass has
  recorded: number | null; // Python's, if it was recorded
  difference: number | null; // computed - recorded
}
