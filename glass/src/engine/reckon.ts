// One number taken apart: the sum that it is, with its real terms.

import type { Group, Reckoning, Run, Step, Term } from "./header";
import { TAKEN_APART, type Place } from "./terms";
import { TAKEN_APART as RECURRENT } from "./terms_recurrent";
import { stepsOf, type ForwardPass } from "./run";
import type { ModelSource } from "./source";
import { placeOf, type Tensor } from "./tensor";

/** What a position along an axis is called: a piece, where the axis has one row for each, or else the axis and a number. */
export function nameAlong(run: Run, step: Step | undefined, axis: number, at: number): string {
  const size = step?.shape[axis < 0 ? step.shape.length + axis : axis];
  const label = step?.axes[axis < 0 ? step.axes.length + axis : axis] ?? "number";
  const pieces = typeof size === "string" ? run.pieces[size] : undefined;
  const piece = pieces?.[label.endsWith("_from_end") ? pieces.length - 1 - at : at];
  return piece ?? `${label.replaceAll("_", " ")} ${at + 1}`;
}

/** Takes the number of a step at an index apart. */
export function reckon(source: ModelSource, run: Run, name: string, index: number[]): Reckoning {
  const pass = run.pass as ForwardPass;
  const step = stepsOf(pass.engine.program).get(name);
  if (!step) throw new Error(`There is no step ${name} in this program.`);
  const value = pass.values(name);
  const computed = value.data[placeOf(value.shape, index)]!;
  const groups = source.origin(name, run) === "recomputed" ? groupsOf(run, step, index, value) : [];
  const python = source.recordedValue(name, run);
  const recorded = python ? python.data[placeOf(python.shape, index)]! : null;
  return {
    step: name,
    index,
    op: step.op,
    formula: source.header.ops[step.op]?.formula ?? "",
    code: step.code,
    tap: step.tapped ? name : null,
    groups,
    result: groups.length ? groups[groups.length - 1]!.result : null,
    computed,
    recorded,
    difference: recorded === null ? null : computed === recorded ? 0 : computed - recorded,
  };
}

function groupsOf(run: Run, step: Step, index: number[], value: Tensor): Group[] {
  const pass = run.pass as ForwardPass;
  const changed = run.patches.filter((patch) => patch.step === step.name);
  const take = TAKEN_APART[step.op] ?? RECURRENT[step.op];
  if (!take || !step.inputs.every((input) => pass.has(input))) return [];
  const place: Place = {
    step,
    index,
    value,
    shape: value.shape,
    inputs: step.inputs.map((input) => pass.values(input)),
    weights: step.weights.map((weight) => pass.engine.weight(weight)),
    inputName: (i, axis, at) => nameAlong(run, stepsOf(pass.engine.program).get(step.inputs[i]!), axis, at),
    ownName: (axis, at) => nameAlong(run, step, axis, at),
  };
  const groups = take(place);
  const now = value.data[placeOf(value.shape, index)]!;
  return changed.length ? [...groups, { label: "changed by the what-if", how: "value", terms: [], result: now }] : groups;
}

/** The terms with the largest magnitudes, and the sum of all others. */
export function strongest(terms: Term[], count: number): { shown: Term[]; rest: number } {
  const order = [...terms].sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  const shown = new Set(order.slice(0, count));
  const rest = terms.reduce((sum, term) => (shown.has(term) ? sum : sum + term.value), 0);
  return { shown: order.slice(0, count), rest };
}
