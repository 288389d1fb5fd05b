// The interpreter: runs a program's steps, all of one pass when they are asked for, or only the newest rows of a sequence.

import type { Inputs, Pass, Patch, Program, Step } from "./header";
import { OPS, type Linear, type Op } from "./ops";
import { byStep, patched } from "./patches";
import { appendRows, dim, rowAxis, rowsOf, tensor, type Tensor } from "./tensor";

/** What a pass computes with. */
export interface Engine {
  program: Program;
  weight(name: string): Tensor;
  linear: Linear;
  ops?: Record<string, Op>; // others than the usual ones: tests put wrong ones here
}

const STEPS = new WeakMap<Program, Map<string, Step>>();

/** The steps of a program by name. */
export function stepsOf(program: Program): Map<string, Step> {
  let steps = STEPS.get(program);
  if (!steps) STEPS.set(program, (steps = new Map(program.steps.map((step) => [step.name, step]))));
  return steps;
}

export function asTensors(inputs: Inputs): Map<string, Tensor> {
  return new Map(Object.entries(inputs).map(([name, value]) => [name, Array.isArray(value) ? tensor(value) : value]));
}

export function compute(engine: Engine, step: Step, inputs: Tensor[], first = 0): Tensor {
  const op = (engine.ops ?? OPS)[step.op];
  if (!op) throw new Error(`This page does not know the operation ${step.op}.`);
  const weights = step.weights.map((name) => engine.weight(name));
  return op({ inputs, weights, settings: step.settings, first, linear: engine.linear });
}

/** The names of all steps that depend on one of `names`, these included. */
export function dependents(program: Program, names: Iterable<string>): Set<string> {
  const found = new Set(names);
  for (const step of program.steps) if (step.inputs.some((input) => found.has(input))) found.add(step.name);
  return found;
}

/** Values that were recorded because they cannot be computed. */
export interface Stored {
  available: ReadonlySet<string>; // stored, or computed from what is
  read: ReadonlySet<string>; // stored
  value(name: string): Tensor | undefined;
}

/** One forward pass. A step is computed when it is first asked for. */
export class ForwardPass implements Pass {
  private readonly known: Map<string, Tensor>;
  private readonly patches: Map<string, Patch[]>;

  /** `known` are values that are there already; `stored` gives those that cannot be computed, and is asked first. */
  constructor(
    readonly engine: Engine,
    readonly inputs: Inputs,
    patches: readonly Patch[] = [],
    known: Iterable<[string, Tensor]> = [],
    private readonly stored: Stored | null = null,
  ) {
    this.known = new Map([...known, ...asTensors(inputs)]);
    this.patches = byStep(patches);
    for (const name of this.patches.keys()) {
      if (!stepsOf(engine.program).has(name)) throw new Error(`There is no step ${name} in this program.`);
    }
  }

  has(name: string): boolean {
    if (this.known.has(name)) return true;
    return this.stored ? this.stored.available.has(name) : stepsOf(this.engine.program).has(name);
  }

  /** Whether a value is read from the file, not computed. */
  isStored(name: string): boolean {
    return this.stored?.read.has(name) ?? false;
  }

  values(name: string): Tensor {
    const value = this.known.get(name);
    if (value) return value;
    const step = stepsOf(this.engine.program).get(name);
    if (!step || !this.has(name)) throw new Error(`There is no value of ${name} in this file.`);
    this.prepare(step);
    return this.known.get(name)!;
  }

  /** Computes what a step needs, then the step: without recursion, since programs may be thousands of steps long. */
  private prepare(last: Step): void {
    const steps = stepsOf(this.engine.program);
    const open = [last];
    while (open.length) {
      const step = open[open.length - 1]!;
      const value = this.stored?.value(step.name);
      if (value && !this.known.has(step.name)) this.known.set(step.name, value);
      if (this.known.has(step.name)) {
        open.pop();
        continue;
      }
      const missing = step.inputs.filter((input) => !this.known.has(input));
      if (missing.length) {
        for (const input of missing) {
          const needed = steps.get(input);
          if (!needed) throw new Error(`The step ${step.name} needs ${input}, which is not there.`);
          open.push(needed);
        }
        continue;
      }
      open.pop();
      this.known.set(step.name, this.result(step));
    }
  }

  private result(step: Step): Tensor {
    const value = compute(this.engine, step, step.inputs.map((input) => this.known.get(input)!));
    const changes = this.patches.get(step.name);
    return changes ? patched(value, step, changes) : value;
  }

  /** All steps of the program. */
  all(): this {
    for (const step of this.engine.program.steps) this.values(step.name);
    return this;
  }

  /** The same pass with other patches: what none of them changes is shared, not computed again. */
  with(patches: readonly Patch[]): ForwardPass {
    const changed = [...this.patches.keys(), ...patches.map((patch) => patch.step)];
    const other = dependents(this.engine.program, changed);
    const shared = [...this.known].filter(([name]) => !other.has(name));
    return new ForwardPass(this.engine, this.inputs, patches, shared, this.stored);
  }

  /** The same pass with other inputs: what does not depend on them is shared. */
  given(inputs: Inputs, patches: readonly Patch[]): ForwardPass {
    const other = dependents(this.engine.program, Object.keys(inputs));
    const shared = [...this.known].filter(([name]) => !other.has(name));
    return new ForwardPass(this.engine, { ...this.inputs, ...inputs }, patches, shared, this.stored);
  }
}

// --- Only the newest rows -------------------------------------------------------------------------------------------

/** Which of an operation's inputs it reads with all rows, also for its newest rows alone. */
const WHOLE: Record<string, number[]> = { scores: [1], mix: [1], relative_bias: [1] };

/** Operations whose newest rows cannot be computed from the newest rows of their inputs and those above. */
const NEVER = new Set(["mean_rows", "concat", "patches", "word_odds", "stack", "reverse", "weigh"]);

/** How a program's newest rows of one causal sequence are computed. */
export interface Plan {
  sequence: string;
  steps: Step[]; // those that depend on the sequence and lead to the output
  kept: Set<string>; // values whose earlier rows are needed later
  output: string;
}

/** The plan for one more row at a time; null if the program, or a patch, does not allow it. */
export function planOf(program: Program, sequence: string, output: string, patches: readonly Patch[] = []): Plan | null {
  if (!program.causal.includes(sequence)) return null;
  const depends = dependents(program, [sequence]);
  const needed = new Set([output]);
  for (const step of [...program.steps].reverse()) {
    if (needed.has(step.name)) step.inputs.forEach((input) => needed.add(input));
  }
  const steps = program.steps.filter((step) => depends.has(step.name) && needed.has(step.name));
  const byRow = (step: Step): boolean => step.shape[rowAxis(step.shape)] === sequence;
  if (steps.some((step) => NEVER.has(step.op) || !byRow(step))) return null;
  const names = new Set(steps.map((step) => step.name));
  if (patches.some((patch) => names.has(patch.step) && (patch.how === "mean" || (patch.row ?? 0) < 0))) return null;
  const kept = new Set<string>();
  for (const step of steps) {
    for (const i of WHOLE[step.op] ?? []) kept.add(step.inputs[i]!);
    if (step.op in CONTINUED) kept.add(continuedFrom(step));
  }
  return { sequence, steps, kept: new Set([...kept].filter((name) => depends.has(name))), output };
}

/** Recurrent operations start from the last state instead of the first one: their inputs, given the earlier rows. */
const CONTINUED: Record<string, (inputs: Tensor[], earlier: Tensor) => Tensor[]> = {
  lstm: ([given], earlier) => [given!, lastState(earlier, 5), lastState(earlier, 4)],
  gru: ([given], earlier) => [given!, lastState(earlier, 3)],
  attentive_gru: ([given, , ...rest], earlier) => [given!, lastState(earlier, 3), ...rest],
  before: ([states], earlier) => [states!, rowsOf(earlier, dim(earlier, 0) - 1, dim(earlier, 0))],
};

/** The value whose earlier rows a recurrent operation continues. */
const continuedFrom = (step: Step): string => (step.op === "before" ? step.inputs[0]! : step.name);

/** The last row of one part: (N, T, H) -> (1, H) */
function lastState(x: Tensor, part: number): Tensor {
  const [, rows, units] = x.shape as [number, number, number];
  const from = (part * rows + rows - 1) * units;
  return tensor(x.data.slice(from, from + units), [1, units]);
}

/** The rows computed so far. A later one is a new object, so hypotheses can share their beginnings. */
export interface Rows {
  length: number;
  kept: Map<string, Tensor>; // all rows of values that are needed later
  newest: Tensor; // the output's newest rows
}

export class RowByRow {
  private readonly patches: Map<string, Patch[]>;

  /** `fixed` has all values that do not depend on the sequence. */
  constructor(
    readonly engine: Engine,
    readonly plan: Plan,
    readonly fixed: ForwardPass,
    patches: readonly Patch[] = [],
  ) {
    this.patches = byStep(patches);
  }

  /** Further rows: ids that continue the sequence. */
  extend(before: Rows | null, ids: readonly number[]): Rows {
    const { sequence, steps, kept } = this.plan;
    const first = before?.length ?? 0;
    const fresh = new Map<string, Tensor>([[sequence, tensor(ids)]]);
    const whole = new Map<string, Tensor>();
    const keep = (name: string, rows: Tensor): void => {
      const earlier = before?.kept.get(name);
      whole.set(name, earlier ? appendRows(earlier, rows) : rows);
    };
    if (kept.has(sequence)) keep(sequence, fresh.get(sequence)!);
    for (const step of steps) {
      let inputs = step.inputs.map((input, i) => {
        if (!fresh.has(input)) return this.fixed.values(input);
        return WHOLE[step.op]?.includes(i) ? whole.get(input)! : fresh.get(input)!;
      });
      const earlier = step.op in CONTINUED ? before?.kept.get(continuedFrom(step)) : undefined;
      if (earlier) inputs = CONTINUED[step.op]!(inputs, earlier);
      let value = compute(this.engine, step, inputs, first);
      const changes = this.patches.get(step.name);
      if (changes) value = patched(value, step, changes, first);
      fresh.set(step.name, value);
      if (kept.has(step.name)) keep(step.name, value);
    }
    return { length: first + ids.length, kept: whole, newest: fresh.get(this.plan.output)! };
  }
}

/** The last row of a value (T, V). */
export function lastRow(x: Tensor): Float32Array {
  const rows = x.shape[rowAxis(x.shape)]!;
  return rowsOf(x, rows - 1, rows).data;
}
