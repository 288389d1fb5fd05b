// Where the page's numbers come from: a model whose weights are all here (live), or what Python recorded of it.

import { verify } from "./check";
import { chunksOf, type Chunks } from "./chunks";
import { writer } from "./decode";
import type { Checks, Decoding, Header, Inputs, Patch, Run, RunOptions, SearchRecord, Source, Step, TraceRecord } from "./header";
import type { Linear, Op } from "./ops";
import { answerOf, type Words } from "./predict";
import { ForwardPass, type Engine, type Stored } from "./run";
import { rankedBy, search } from "./search";
import { dim, logSoftmax, rowsOf, type Tensor } from "./tensor";
import { Refused, TextReader, type Encoded } from "./tokenize";
import { fastLinear } from "./wasm";

/** What tests replace. */
export interface Parts {
  linear?: Linear;
  ops?: Record<string, Op>;
}

/** A run of this source, with what it was computed from. */
export interface OwnRun extends Run {
  pass: ForwardPass;
  inputs: Inputs;
}

export class ModelSource implements Source {
  readonly live: boolean;
  readonly product: string; // which code computes linear layers
  private readonly engine: Engine;
  private readonly weights = new Map<string, Tensor>();
  private readonly readers = new Map<string, TextReader>();
  private readonly outputStep: string;

  /** All chunks must have been loaded. */
  constructor(
    readonly header: Header,
    protected readonly chunks: Chunks,
    parts: Parts = {},
  ) {
    this.live = header.tier === "live";
    const fast = fastLinear();
    this.product = fast.name;
    this.engine = {
      program: header.program,
      weight: (name) => this.weight(name),
      linear: parts.linear ?? fast.linear,
      ...(parts.ops && { ops: parts.ops }),
    };
    const { outputs } = header.program;
    this.outputStep = outputs["logits"] ?? Object.values(outputs)[0]!;
  }

  private weight(name: string): Tensor {
    const known = this.weights.get(name);
    if (known) return known;
    const where = this.header.weights[name];
    if (!where) throw new Error(`The weight ${name} is not in this file.`);
    const value = this.chunks.array(where);
    this.weights.set(name, value);
    return value;
  }

  /** The tokenizer of a sequence. */
  reader(sequence: string): TextReader | null {
    const info = this.header.tokenizers[sequence];
    if (!info) return null;
    let reader = this.readers.get(sequence);
    if (!reader) {
      reader = new TextReader(info, this.chunks.string(info.file), this.chunks.string(info.shown));
      this.readers.set(sequence, reader);
    }
    return reader;
  }

  // --- Runs ---------------------------------------------------------------------------------------------------------

  recorded(index: number): Run {
    const trace = this.header.traces[index];
    if (!trace) throw new Error(`The file has ${this.header.traces.length} recorded texts; there is no number ${index}.`);
    const inputs = this.inputsOf(trace);
    const stored = this.live ? null : this.stored(trace);
    const pass = new ForwardPass(this.engine, inputs, [], [], stored);
    const { text, answer, ids, pieces, words, written, search } = trace;
    const about = { text, answer, ids, pieces, words, ...(written && { written }), ...(search && { search }), trace };
    const run = this.asRun(about, pass, []);
    return answer || this.header.decoding || !pass.has(this.outputStep) ? run : this.answered(run);
  }

  protected asRun(about: Omit<Run, "pass" | "patches" | "logProbs">, pass: ForwardPass, patches: Patch[]): Run {
    const rows = new Map<number, Float32Array>();
    const run: OwnRun = {
      ...about,
      pass,
      patches,
      inputs: pass.inputs,
      logProbs: (row) => {
        let found = rows.get(row);
        if (!found) rows.set(row, (found = logSoftmax(rowsOf(pass.values(this.outputStep), row, row + 1).data)));
        return found;
      },
    };
    return run;
  }

  private inputsOf(trace: TraceRecord): Inputs {
    const inputs: Inputs = { ...trace.ids };
    for (const [name, kind] of Object.entries(this.header.program.sequences)) {
      if (kind === "image" && trace.image) inputs[name] = this.chunks.array(trace.image);
    }
    return inputs;
  }

  async run(text: string, options: RunOptions = {}): Promise<Run> {
    if (!this.live) throw new Refused("This page has recorded values only: the weights do not fit in it.");
    const patches = options.patches ?? [];
    const read = this.read(text);
    const { decoding } = this.header;
    const { inputs, ...known } = read;
    const about = { text, answer: "", ...known };
    if (!decoding) {
      const pass = new ForwardPass(this.engine, inputs, patches);
      return this.answered(this.asRun(about, pass, patches));
    }
    return this.written(about, inputs, decoding, { ...options, patches });
  }

  /** The inputs for a text: those of its record, or its own ids. */
  private read(text: string): Pick<Run, "ids" | "pieces" | "words" | "trace" | "inexact"> & { inputs: Inputs } {
    const { sequences } = this.header.program;
    const output = this.outputSequence();
    const continues = this.header.decoding?.start === -1;
    const own = <T>(all: Record<string, T>): Record<string, T> =>
      Object.fromEntries(Object.entries(all).filter(([name]) => name !== output || continues));
    const trace = this.header.traces.find((one) => one.text === text);
    if (trace) {
      return { ids: own(trace.ids), pieces: own(trace.pieces), words: own(trace.words), inputs: own(this.inputsOf(trace) as never), trace };
    }
    const found: Record<string, Encoded> = {};
    const inputs: Inputs = {};
    for (const [name, kind] of Object.entries(sequences)) {
      if (name === output && !continues) continue;
      const reader = kind === "ids" ? this.reader(name) : null;
      if (kind !== "segments" && !reader) throw new Refused("This page cannot read another input.");
      if (reader) inputs[name] = (found[name] = reader.read(text)).ids;
    }
    const length = Math.max(0, ...Object.values(found).map(({ ids }) => ids.length));
    if (!length) throw new Refused("There is no text.");
    for (const [name, kind] of Object.entries(sequences)) if (kind === "segments") inputs[name] = new Array<number>(length).fill(0);
    const each = <T>(pick: (one: Encoded) => T): Record<string, T> =>
      Object.fromEntries(Object.entries(found).map(([name, one]) => [name, pick(one)]));
    const inexact = Object.values(found).flatMap(({ beyond }) => (beyond === undefined ? [] : [this.divided(beyond)]));
    const known = { ids: inputs as Record<string, number[]>, pieces: each((one) => one.pieces), words: each((one) => one.words), inputs };
    return inexact.length ? { ...known, inexact } : known;
  }

  /** What Python's command does to a long text, and this page does not. */
  private divided(whole: number): string {
    const { verb } = this.header.task;
    const how = verb === "translate" ? "can be translated sentence by sentence" : "are shortened";
    return `this page reads the text whole; with \`glassformer ${verb}\` texts of more than ${whole} pieces ${how}`;
  }

  /** The sequence that the model writes. */
  private outputSequence(): string | null {
    return this.header.decoding ? (this.header.program.causal[0] ?? null) : null;
  }

  /** A search for the output, or a given one; then one pass over it. */
  private written(about: Omit<Run, "pass" | "patches" | "logProbs">, inputs: Inputs, decoding: Decoding, options: RunOptions): Run {
    const { patches = [], target } = options;
    const sequence = this.outputSequence()!;
    const continues = decoding.start === -1;
    const beginning = continues ? (inputs[sequence] as number[]) : [decoding.start];
    const fixed = new ForwardPass(this.engine, continues ? {} : inputs, patches);
    const found = target ? null : this.search(fixed, beginning, this.limit(decoding, inputs), decoding, options);
    const best = found?.hypotheses[0];
    const ids = target ?? (best ? [...best.ids, ...(best.finished ? [decoding.end] : [])] : []);
    const words = this.wordsOf(sequence);
    const read = continues ? beginning : [decoding.start, ...ids.slice(0, -1)];
    const pass = fixed.given({ ...inputs, [sequence]: read }, patches);
    const shown = ids[ids.length - 1] === decoding.end ? ids.slice(0, -1) : ids;
    return this.asRun(
      {
        ...about,
        answer: this.reader(sequence)?.text(shown, continues ? beginning : []) ?? "",
        ids: { ...about.ids, [sequence]: read },
        pieces: { ...about.pieces, [sequence]: words.pieces(read) },
        words: { ...about.words, [sequence]: about.words[sequence] ?? wordNumbers(words.pieces(read), read, decoding) },
        written: { ids, pieces: words.pieces(ids) },
        ...(found && { search: found }),
        ...((about.inexact || decoding.rules) && { inexact: [...(about.inexact ?? []), ...(decoding.rules ?? [])] }),
      },
      pass,
      [...patches],
    );
  }

  private wordsOf(sequence: string): Words {
    const reader = this.reader(sequence);
    return { pieces: (ids) => reader?.pieces(ids) ?? ids.map(String) };
  }

  private limit({ limit }: Decoding, inputs: Inputs): number {
    if (typeof limit === "number") return limit;
    const source = Object.entries(inputs).find(([name]) => this.header.program.sequences[name] === "ids")?.[1];
    const length = Array.isArray(source) ? source.length : source ? dim(source, 0) : 0;
    return Math.min(Math.trunc(length * limit.times + limit.plus), limit.max ?? Infinity);
  }

  private search(fixed: ForwardPass, beginning: number[], limit: number, decoding: Decoding, options: RunOptions): SearchRecord {
    const first = Object.fromEntries((decoding.first ?? []).map((token, i) => [i, token]));
    return search({
      model: writer(fixed, this.outputSequence()!, this.outputStep, beginning, options.patches ?? []),
      width: options.beam ?? decoding.beam,
      chooser: decoding.chooser,
      limit,
      end: decoding.end,
      ranked: rankedBy(decoding.ranked),
      cutLast: decoding.cut_last ?? true,
      ends: decoding.ends ?? [],
      forbidden: decoding.forbidden ?? [],
      forced: { ...first, ...options.forced },
      pruned: new Set((options.pruned ?? []).map((ids) => ids.join(" "))),
    });
  }

  changed(run: Run, patches: Patch[]): Run {
    const { pass, trace, search, ...about } = run as OwnRun;
    const other = this.asRun({ ...about, ...(trace && { trace }), ...(search && { search }) }, pass.with(patches), patches);
    return this.header.decoding ? other : this.answered(other);
  }

  private answered(run: Run): Run {
    const output = run.pass.values(this.outputStep);
    const sequence = Object.keys(run.ids)[0];
    return { ...run, answer: answerOf(this.header, output, run, sequence ? this.wordsOf(sequence) : null) };
  }

  // --- Proof --------------------------------------------------------------------------------------------------------

  verify(run: Run): Checks {
    const { trace, pass, inputs, patches } = run as OwnRun;
    const same = trace && sameIds(trace.ids, run.ids) ? trace : undefined;
    const recorded = (step: string): Tensor | undefined => {
      if (pass.isStored(step)) return undefined; // it is this value: comparing it with itself says nothing
      const where = same?.values[step];
      return where && where.dtype !== "f16" ? this.chunks.array(where) : undefined;
    };
    return verify({ engine: this.engine, pass, inputs, patches, trace: same, recorded, live: this.live, hollow: (step) => this.origin(step, run) === "recorded" });
  }

  checked(run: Run): Promise<Checks> {
    return Promise.resolve(this.verify(run));
  }

  /** A pass whose values are known already. */
  protected passOf(inputs: Inputs, patches: Patch[], values: [string, Tensor][]): ForwardPass {
    return new ForwardPass(this.engine, inputs, patches, values);
  }

  origin(step: string, run: Run): "recomputed" | "recorded" {
    const { pass } = run as OwnRun;
    return pass.has(step) && !pass.isStored(step) ? "recomputed" : "recorded";
  }

  /** Python's value of a step, if it was recorded. */
  recordedValue(step: string, run: Run): Tensor | null {
    const { trace, ids, patches } = run;
    const where = trace && !patches.length && sameIds(trace.ids, ids) ? trace.values[step] : undefined;
    return where ? this.chunks.array(where) : null;
  }

  private hasWeights(step: Step): boolean {
    return step.weights.every((weight) => weight in this.header.weights);
  }

  /** What a recorded page has: steps whose inputs and weights are here are computed, others are read. */
  private stored(trace: TraceRecord): Stored {
    const available = new Set(Object.keys(this.header.program.sequences));
    const read = new Set<string>();
    for (const step of this.header.program.steps) {
      if (this.hasWeights(step) && step.inputs.every((input) => available.has(input))) available.add(step.name);
      else if (trace.values[step.name]) {
        available.add(step.name);
        read.add(step.name);
      }
    }
    return { available, read, value: (name) => (read.has(name) ? this.chunks.array(trace.values[name]!) : undefined) };
  }
}

export function sameIds(a: Record<string, number[]>, b: Record<string, number[]>): boolean {
  return Object.keys(a).every((name) => a[name]!.join() === b[name]?.join());
}

/** Words begin where a piece begins with a space. */
function wordNumbers(pieces: string[], ids: number[], { start, end }: Decoding): number[] {
  let word = -1;
  return pieces.map((piece, i) => {
    if (ids[i] === start || ids[i] === end) return -1;
    if (word < 0 || piece.startsWith("▁")) word++;
    return word;
  });
}

/** The data of a page, unpacked. */
export async function pageData(page: Document): Promise<{ header: Header; chunks: Chunks }> {
  const text = page.getElementById("glass")?.textContent;
  if (!text) throw new Error("This page has no data.");
  const chunks = chunksOf(page);
  await chunks.loadAll();
  return { header: JSON.parse(text) as Header, chunks };
}
