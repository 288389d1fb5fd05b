// Long computations in a worker, so that the page stays responsive. The worker runs the page's own script again.

import { Chunks } from "./chunks";
import type { Checks, Header, Inputs, Run, RunOptions, Tensor } from "./header";
import type { ForwardPass } from "./run";
import { ModelSource, pageData, type OwnRun } from "./source";
import { Refused } from "./tokenize";

/** A run without functions, as it is sent between threads. */
interface SentRun {
  about: Omit<Run, "pass" | "logProbs" | "trace">;
  recorded: boolean; // whether there is a record of this text
  inputs: Inputs;
  values: [string, Tensor][];
}

type Question = { kind: "run"; text: string; options: RunOptions } | { kind: "verify"; trace: number };
type ToWorker = { kind: "open"; header: Header; chunks: Uint8Array[] } | (Question & { id: number });
type FromWorker = { id: number } & ({ run: SentRun } | { checks: Checks } | { error: string; refused: boolean });

interface Scope {
  onmessage: ((event: { data: ToWorker }) => void) | null;
  postMessage(message: FromWorker, transfer: ArrayBuffer[]): void;
}

// --- In the worker --------------------------------------------------------------------------------------------------

export const isWorker = (): boolean => typeof document === "undefined" && typeof postMessage === "function";

/** Answers the questions of the page. */
export function serve(scope: Scope = globalThis as unknown as Scope): void {
  let source: ModelSource | null = null;
  scope.onmessage = ({ data }) => {
    if (data.kind === "open") source = new ModelSource(data.header, Chunks.of(data.chunks));
    else void answer(source!, data).then(({ message, transfer }) => scope.postMessage(message, transfer));
  };
}

async function answer(source: ModelSource, question: Question & { id: number }): Promise<{ message: FromWorker; transfer: ArrayBuffer[] }> {
  const { id } = question;
  try {
    if (question.kind === "verify") return { message: { id, checks: source.verify(source.recorded(question.trace)) }, transfer: [] };
    const run = sent(source, (await source.run(question.text, question.options)) as OwnRun);
    const owned = new Set(run.values.map(([, value]) => value.data.buffer as ArrayBuffer));
    return { message: { id, run }, transfer: [...owned] };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { message: { id, error: message, refused: error instanceof Refused }, transfer: [] };
  }
}

/** All values of a run. Those that share memory with the weights are copied. */
function sent(source: ModelSource, run: OwnRun): SentRun {
  const { pass, logProbs: _, ...rest } = run;
  const values = source.header.program.steps.map(({ name }): [string, Tensor] => {
    const { data, shape } = pass.values(name);
    return [name, { data: data.slice(), shape }];
  });
  const { inputs, trace, ...about } = rest;
  return { about, recorded: trace !== undefined, inputs, values };
}

// --- In the page ----------------------------------------------------------------------------------------------------

class Helper {
  private readonly worker: Worker;
  private readonly open = new Map<number, { done(found: FromWorker): void; failed(error: Error): void }>();
  private last = 0;

  constructor(code: string, header: Header, chunks: Uint8Array[]) {
    const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
    this.worker = new Worker(url);
    this.worker.onmessage = ({ data }: { data: FromWorker }) => {
      this.open.get(data.id)?.done(data);
      this.open.delete(data.id);
    };
    this.worker.onerror = () => {
      for (const { failed } of this.open.values()) failed(new Error("The worker failed."));
      this.open.clear();
    };
    this.worker.postMessage({ kind: "open", header, chunks } satisfies ToWorker);
  }

  ask(question: Question): Promise<FromWorker> {
    const id = ++this.last;
    return new Promise((done, failed) => {
      this.open.set(id, { done, failed });
      this.worker.postMessage({ ...question, id } satisfies ToWorker);
    });
  }
}

const SHORT = 5e7; // multiplications of a run that is computed in the page itself: about 50 ms

/** A source that gives long computations to a worker, where there is one. */
export class HelpedSource extends ModelSource {
  private helper: Helper | null | undefined; // null: there is none here

  constructor(
    header: Header,
    chunks: Chunks,
    private readonly code: string,
    private readonly short = SHORT,
  ) {
    super(header, chunks);
  }

  override async run(text: string, options: RunOptions = {}): Promise<Run> {
    if (!this.live || this.multiplications(text, options) < this.short) return super.run(text, options);
    const found = await this.asked({ kind: "run", text, options });
    return found && "run" in found ? this.received(found.run) : super.run(text, options);
  }

  override async checked(run: Run): Promise<Checks> {
    const trace = run.trace && !run.patches.length ? this.header.traces.indexOf(run.trace) : -1;
    const found = trace >= 0 && this.live ? await this.asked({ kind: "verify", trace }) : null;
    return found && "checks" in found ? found.checks : super.checked(run);
  }

  /** The worker's answer, or null if there is no worker. */
  private async asked(question: Question): Promise<FromWorker | null> {
    try {
      if (this.helper === undefined) this.helper = new Helper(this.code, this.header, this.chunks.all());
    } catch {
      this.helper = null;
    }
    if (!this.helper) return null;
    let found: FromWorker;
    try {
      found = await this.helper.ask(question);
    } catch {
      this.helper = null;
      return null;
    }
    if ("error" in found) throw found.refused ? new Refused(found.error) : new Error(found.error);
    return found;
  }

  private received({ about, recorded, inputs, values }: SentRun): Run {
    const trace = recorded ? this.header.traces.find(({ text }) => text === about.text) : undefined;
    const pass: ForwardPass = this.passOf(inputs, about.patches, values);
    return this.asRun({ ...about, ...(trace && { trace }) }, pass, about.patches);
  }

  /** About how many multiplications a run takes. */
  private multiplications(text: string, { beam, target }: RunOptions): number {
    const weights = Object.values(this.header.weights).reduce((sum, { shape }) => sum + (shape.length > 1 ? shape[0]! * shape[1]! : 0), 0);
    const tokens = 4 + text.length / 3;
    const passes = this.header.decoding && !target ? 1 + (beam ?? this.header.decoding.beam) : 1;
    return weights * tokens * passes;
  }
}

/** The source of a page, once its data are unpacked. `code` is the page's own script. */
export async function openHelped(page: Document, code: string): Promise<ModelSource> {
  const { header, chunks } = await pageData(page);
  return typeof Worker === "function" && code ? new HelpedSource(header, chunks, code) : new ModelSource(header, chunks);
}
