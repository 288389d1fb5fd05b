// The proof: each step of a pass against what Python recorded, and rules that every pass must keep.

import { difference, differenceFromProof, type Difference } from "./compare";
import type { Checks, Inputs, Pass, Patch, Program, Step, StepCheck, TraceRecord } from "./header";
import { compute, dependents, ForwardPass, lastRow, planOf, RowByRow, type Engine } from "./run";
import { dim, flat, rowAxis, rowsOf, tensor, type Tensor } from "./tensor";

/** The largest errors, relative to the largest magnitude of a step, that rounding to float32 explains. */
export const WHOLE_PASS = 1e-5; // from the ids to the step
export const TIMES_ROUNDING = 3; // some models enlarge rounding: then as many times what Python measured of its own pass
export const MOST = 1e-3; // beyond, it is not rounding
export const ONE_STEP = 2e-6; // from the last recorded values to the step; WHOLE_PASS through a recurrence

const RECURRENT = new Set(["lstm", "gru", "attentive_gru"]); // many steps in one: rounding adds up along the tokens

type Rule = Checks["rules"][number];

export interface Subject {
  engine: Engine;
  pass: Pass;
  inputs: Inputs;
  patches: readonly Patch[];
  trace: TraceRecord | undefined;
  recorded(step: string): Tensor | undefined; // Python's value, if it was recorded with 32 bits
  live: boolean; // all weights are there
  hollow?(step: string): boolean; // its value is only read from the record
}

/** Everything that can be checked about a pass. */
export function verify(subject: Subject): Checks {
  const steps = subject.trace && !subject.patches.length ? checkSteps(subject, subject.trace) : [];
  const rules = [noNaN(subject), rowSums(subject), ...(subject.live ? liveRules(subject) : [])];
  const failures = steps.filter((step) => !step.ok);
  const worst = steps.filter((step) => !step.only).reduce<StepCheck | null>((a, b) => (a && a.error >= b.error ? a : b), null);
  return {
    ok: !failures.length && rules.every((rule) => rule.ok),
    steps,
    worst,
    compared: steps.reduce((sum, step) => (step.only ? sum : sum + step.compared), 0),
    failures,
    rules,
  };
}

const stepsThere = ({ engine, pass }: Subject): Step[] => engine.program.steps.filter((step) => pass.has(step.name));

function checkSteps(subject: Subject, trace: TraceRecord): StepCheck[] {
  const allowed = Math.min(MOST, Math.max(WHOLE_PASS, TIMES_ROUNDING * (trace.rounding ?? 0)));
  const alone = subject.live ? eachStepAlone(subject) : new Map<string, Alone>();
  return stepsThere(subject).map((step) => {
    const computed = subject.pass.values(step.name);
    const [recorded, proof] = [subject.recorded(step.name), trace.proof[step.name]];
    const found: Difference[] = [];
    if (recorded) found.push(difference(computed, recorded));
    if (proof) found.push(differenceFromProof(computed, proof));
    const error = Math.max(0, ...found.map((one) => one.error));
    const own = alone.get(step.name) ?? { error: 0, allowed: 0 };
    const compared = found.reduce((sum, one) => sum + one.compared, 0);
    const only = subject.hollow?.(step.name) && { only: true as const };
    return { step: step.name, error, compared, ...only, ...judged(error, allowed, own, found.length > 0) };
  });
}

function judged(error: number, allowed: number, own: Alone, known: boolean): { ok: boolean; why?: string } {
  if (!known) return { ok: false, why: "Python recorded nothing of this step." };
  if (!(error <= allowed)) return { ok: false, why: `It differs from Python's value by ${error.toExponential(1)}.` };
  if (!(own.error <= own.allowed)) return { ok: false, why: `From Python's own inputs it differs by ${own.error.toExponential(1)}.` };
  return { ok: true };
}

interface Alone {
  error: number;
  allowed: number;
}

/** Each step from recorded inputs: small errors of one step do not hide behind the rounding of all steps before it. */
function eachStepAlone({ engine, inputs, recorded }: Subject): Map<string, Alone> {
  const errors = new Map<string, Alone>();
  const long = new Set<string>(); // what comes from a recurrence, without a recorded value in between
  const known = new Map<string, Tensor>();
  for (const [name, value] of Object.entries(inputs)) known.set(name, Array.isArray(value) ? tensor(value) : value);
  for (const step of engine.program.steps) {
    const value = compute(engine, step, step.inputs.map((input) => known.get(input)!));
    const right = recorded(step.name);
    if (RECURRENT.has(step.op) || step.inputs.some((input) => long.has(input))) long.add(step.name);
    if (right) {
      errors.set(step.name, { error: difference(value, right).error, allowed: long.has(step.name) ? WHOLE_PASS : ONE_STEP });
      long.delete(step.name);
    }
    known.set(step.name, right ?? value);
  }
  return errors;
}

// --- Rules ----------------------------------------------------------------------------------------------------------

function noNaN(subject: Subject): Rule {
  const bad = stepsThere(subject).find((step) => subject.pass.values(step.name).data.some(Number.isNaN));
  return { name: "no NaN", ok: !bad, detail: bad ? `${bad.name} has a NaN.` : "No value is NaN." };
}

function rowSums(subject: Subject): Rule {
  let [worst, rows, where] = [0, 0, ""];
  for (const step of stepsThere(subject).filter(({ op }) => op === "softmax")) {
    const value = subject.pass.values(step.name);
    const [count, width] = flat(value);
    for (let t = 0; t < count; t++) {
      const row = value.data.subarray(t * width, (t + 1) * width);
      const sum = row.reduce((a, b) => a + b, 0);
      const off = Math.min(Math.abs(sum - 1), Math.abs(sum)) + (row.some((share) => share < 0) ? 1 : 0);
      if (!(off <= worst)) [worst, where] = [off, step.name];
      rows++;
    }
  }
  const ok = worst <= 1e-5;
  const detail = ok ? `${rows} rows of shares add up to 1.` : `A row of ${where} does not add up to 1.`;
  return { name: "rows add up to 1", ok, detail };
}

function liveRules(subject: Subject): Rule[] {
  const { program } = subject.engine;
  const own = program.causal.filter((name) => length(subject.inputs, name) > 1);
  return own.flatMap((name) => [noLeak(subject, name), ...rowByRow(subject, name)]);
}

const length = (inputs: Inputs, name: string): number => {
  const value = inputs[name];
  return value === undefined ? 0 : Array.isArray(value) ? value.length : dim(value, 0);
};

/** Changes the last token of a sequence: nothing before it may move, not even by rounding. */
function noLeak({ engine, inputs, patches, pass }: Subject, sequence: string): Rule {
  const ids = [...(inputs[sequence] as number[])];
  const last = ids.length - 1;
  const other = ids.find((id) => id !== ids[last]) ?? (ids[last]! > 0 ? 0 : 1);
  const again = patches.filter((patch) => patch.how !== "mean");
  const here = again.length === patches.length ? pass : new ForwardPass(engine, inputs, again);
  const there = new ForwardPass(engine, { ...inputs, [sequence]: [...ids.slice(0, last), other] }, again);
  const moved = comparable(engine.program, sequence).find((step) => {
    const [a, b] = [here, there].map((one) => rowsOf(one.values(step.name), 0, last).data) as [Float32Array, Float32Array];
    return a.some((value, i) => !Object.is(value, b[i]));
  });
  const detail = moved
    ? `With another last token, earlier rows of ${moved.name} change.`
    : `With another last token of ${sequence}, nothing before it moves.`;
  return { name: "the future is hidden", ok: !moved, detail };
}

/** The steps with one row for each token, except products with all keys, which are hidden later. */
function comparable(program: Program, sequence: string): Step[] {
  const names = dependents(program, [sequence]);
  return program.steps.filter(({ name, shape, op }) => {
    const square = shape[shape.length - 1] === sequence && op !== "softmax";
    return names.has(name) && shape[rowAxis(shape)] === sequence && !square;
  });
}

/** Computed one token at a time, as in decoding, the output must be the same. */
function rowByRow({ engine, inputs, patches, pass }: Subject, sequence: string): Rule[] {
  const output = Object.values(engine.program.outputs)[0];
  const plan = output === undefined ? null : planOf(engine.program, sequence, output, patches);
  if (!plan || output === undefined) return [];
  const machine = new RowByRow(engine, plan, new ForwardPass(engine, inputs, patches), patches);
  const ids = inputs[sequence] as number[];
  let rows = machine.extend(null, ids.slice(0, 1));
  for (const id of ids.slice(1)) rows = machine.extend(rows, [id]);
  const { error } = difference(tensor(lastRow(rows.newest)), tensor(lastRow(pass.values(output))));
  const ok = error <= WHOLE_PASS;
  const detail = ok ? "One token at a time gives the same output." : `One token at a time differs by ${error.toExponential(1)}.`;
  return [{ name: "row by row", ok, detail }];
}
