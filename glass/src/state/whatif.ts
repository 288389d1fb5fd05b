// What makes B differ from A, as a list for people: each entry can be read, removed, and made again in Python.

import { signal } from "@preact/signals";
import type { Header, Patch, Program, Run, Step } from "../engine/header";
import type { WhatIf } from "./store";

/** Whether the forms for new changes are open. */
export const editing = signal(false);

export type Change =
  | { kind: "text"; text: string }
  | { kind: "head"; part: string; head: number; how: Patch["how"]; patches: Patch[] }
  | { kind: "neuron"; part: string; column: number; how: Patch["how"]; patches: Patch[] }
  | { kind: "hide"; sequence: string; column: number; everywhere: boolean; patches: Patch[] }
  | { kind: "force"; position: number; token: number }
  | { kind: "prune"; ids: number[] }
  | { kind: "other"; step: string; patches: Patch[] };

/** The steps in which the scores of a sequence can still be hidden: the last ones before softmax. */
export function maskedSteps(program: Program, sequence: string): Step[] {
  const steps = new Map(program.steps.map((step) => [step.name, step]));
  const masks = program.steps.filter((step) => step.op === "softmax").map((step) => steps.get(step.inputs[0] ?? ""));
  return masks.filter((step): step is Step => step !== undefined && step.shape.at(-1) === sequence);
}

/** Nothing reads this piece any more, neither itself nor another stack. */
export function hidePatches(program: Program, sequence: string, column: number): Patch[] {
  return maskedSteps(program, sequence).map((step) => ({ step: step.name, how: "hide", column }));
}

function samePlace(one: Patch, other: Patch): boolean {
  return one.step === other.step && one.how === other.how && one.head === other.head && one.row === other.row && one.column === other.column;
}

/** One patch as a change; hidden columns are collected by `changesOf`. */
function changeOf(patch: Patch, step: Step | undefined): Change {
  const patches = [patch];
  const part = step?.part ?? "";
  if (step && patch.head !== undefined && patch.row === undefined && patch.column === undefined && step.axes[0] === "head") {
    return { kind: "head", part, head: patch.head, how: patch.how, patches };
  }
  if (step && patch.column !== undefined && patch.head === undefined && patch.row === undefined && step.axes.at(-1) === "inner") {
    return { kind: "neuron", part, column: patch.column, how: patch.how, patches };
  }
  return { kind: "other", step: patch.step, patches };
}

export function changesOf(change: WhatIf, program: Program): Change[] {
  const steps = new Map(program.steps.map((step) => [step.name, step]));
  const found: Change[] = change.text === null ? [] : [{ kind: "text", text: change.text }];
  const hidden = new Map<string, Extract<Change, { kind: "hide" }>>();
  for (const patch of change.patches) {
    const step = steps.get(patch.step);
    const sequence = step?.shape.at(-1);
    const whole = patch.how === "hide" && patch.column !== undefined && patch.head === undefined && patch.row === undefined;
    if (!whole || typeof sequence !== "string") {
      found.push(changeOf(patch, step));
      continue;
    }
    const key = `${sequence} ${patch.column}`;
    const known = hidden.get(key);
    if (known) known.patches.push(patch);
    else {
      const entry = { kind: "hide" as const, sequence, column: patch.column!, everywhere: false, patches: [patch] };
      hidden.set(key, entry);
      found.push(entry);
    }
  }
  for (const one of hidden.values()) {
    const all = hidePatches(program, one.sequence, one.column);
    one.everywhere = all.every((patch) => one.patches.some((own) => samePlace(own, patch)));
  }
  for (const [position, token] of Object.entries(change.forced)) found.push({ kind: "force", position: Number(position), token });
  for (const ids of change.pruned) found.push({ kind: "prune", ids });
  return found;
}

/** All of it except one change. */
export function without(change: WhatIf, left: Change): WhatIf {
  if (left.kind === "text") return { ...change, text: null };
  if (left.kind === "prune") return { ...change, pruned: change.pruned.filter((ids) => ids.join() !== left.ids.join()) };
  if (left.kind === "force") {
    const forced = { ...change.forced };
    delete forced[left.position];
    return { ...change, forced };
  }
  return { ...change, patches: change.patches.filter((patch) => !left.patches.some((own) => samePlace(own, patch))) };
}

/** Why B - A cannot be shown; null: it can. */
export function whyNoDifference(a: Run, b: Run): "text" | "answer" | null {
  const sequences = Object.keys(a.ids);
  const differ = sequences.filter((name) => a.ids[name]?.length !== b.ids[name]?.length);
  if (!differ.length) return null;
  return a.text === b.text ? "answer" : "text";
}

// --- In Python -----------------------------------------------------------------------------------------------------

/** This B in Python: its numbers, and where that is possible the answer that the changed model writes by itself; null: it has no ids. */
export function asPython(header: Header, run: Run, change: WhatIf): string | null {
  const values = valuesLines(header, run);
  if (!values) return null;
  const output = Object.values(header.program.outputs)[0] ?? "";
  const best = `print(values[${quoted(output)}].argmax(-1))  # the best at each position`;
  return `${["import glassformer as gf", ...passLines(), ...values, best, ...answerLines(header, run, change)].join("\n")}\n`;
}

/** The model, and what computes its steps. */
export function passLines(): string[] {
  return [
    "from glassformer.explain.program import Patch",
    "from glassformer.explain.programs import program_of",
    "from glassformer.explain.programs.recorded import weights_of",
    "",
    'model = gf.load("MODEL")  # the folder of this model',
    "program = program_of(model.model)",
  ];
}

/** `values`: every step of a run, from its own ids and with its patches; null: its inputs are no ids. */
export function valuesLines(header: Header, run: Run): string[] | null {
  const names = Object.keys(header.program.sequences);
  if (!names.every((name) => run.ids[name])) return null;
  return [
    ...(run.patches.length ? ["patches = [", ...run.patches.map((patch) => `    ${patchLine(patch)},`), "]"] : ["patches = []"]),
    `inputs = {${names.map((name) => `${quoted(name)}: [${run.ids[name]!.join(", ")}]`).join(", ")}}`,
    "values = program.run(inputs, weights_of(program, model.model), patches=patches)",
  ];
}

function patchLine(patch: Patch): string {
  const named = (["head", "row", "column", "value"] as const).filter((key) => patch[key] !== undefined);
  return `Patch(${[quoted(patch.step), quoted(patch.how), ...named.map((key) => `${key}=${patch[key]}`)].join(", ")})`;
}

/** Where every change is at a tap and needs no other row, the whole model can be asked, search included. */
function answerLines(header: Header, run: Run, change: WhatIf): string[] {
  const steps = new Map(header.program.steps.map((step) => [step.name, step]));
  const call = callOf(header, run);
  const output = header.program.causal.at(-1);
  const plain = run.patches.every((patch) => {
    const step = steps.get(patch.step);
    const grows = patch.column !== undefined && step?.shape.at(-1) === output;
    return step?.tapped && patch.how !== "mean" && patch.row === undefined && !grows;
  });
  if (!call || !plain || Object.keys(change.forced).length || change.pruned.length) return [];
  if (!run.patches.length) return ["", call];
  const pairs = run.patches.map((patch, at) => `    (model.model.get_submodule(${quoted(patch.step)}), change_${at + 1}),`);
  return [
    "", "# the changed model writes its own answer", "from glassformer.nn.taps import listening", "",
    ...run.patches.flatMap((patch, at) => listener(patch, steps.get(patch.step)!, at + 1)),
    "with listening([", ...pairs, "]):", `    ${call}`,
  ];
}

const VERBS = new Set(["translate", "generate", "fill", "classify", "tag", "infill", "rewrite", "summarise", "embed"]);

/** The model asked as on this page; null: its inputs are more than one text. */
function callOf({ task: { verb }, decoding }: Header, run: Run): string | null {
  if (!VERBS.has(verb)) return null;
  const most = verb === "generate" && typeof decoding?.limit === "number" ? `, max_new=${decoding.limit}` : "";
  return `print(model.${verb}(${quoted(run.text)}${most}))`;
}

function listener(patch: Patch, step: Step, number: number): string[] {
  const axes = step.axes.map((axis) => (axis === "head" ? (patch.head ?? ":") : ":"));
  if (patch.column !== undefined) axes[axes.length - 1] = patch.column;
  const value = { zero: "0.0", hide: 'float("-inf")', set: String(patch.value ?? 0), mean: "" }[patch.how];
  return [
    `def change_${number}(value):  # (batch, ${step.axes.join(", ")})`,
    "    value = value.clone()",
    `    value[:, ${axes.join(", ")}] = ${value}`,
    "    return value",
    "",
  ];
}

/** A string of Python, whatever it contains; signs that a reader would not see, or that reorder the line, as escapes. */
export function quoted(text: string): string {
  return JSON.stringify(text).replace(/[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
