// What is added up for each piece before the first block: the lines that a reader sees, in order.

import type { Program, Step } from "../engine/header";

export type LineKind = "scaled" | "looked_up" | "position" | "learned" | "segment" | "sum" | "normed" | "patch" | "other";

/** One step of the inputs whose rows belong to the pieces of a sequence. */
export interface InputLine {
  step: Step;
  kind: LineKind;
  shift: number; // rows before the first piece, such as one for the whole picture
}

const HIDDEN = new Set(["same", "center", "rms", "divide", "patches", "scale", "concat"]);

function kindOf(step: Step, program: Program): LineKind {
  const first = step.inputs[0] ?? "";
  if (step.op === "embed") {
    if (program.sequences[first] === "segments") return "segment";
    return Number(step.settings.scale ?? 1) === 1 ? "looked_up" : "scaled";
  }
  const kinds: Record<string, LineKind> = { sinusoidal: "position", rows: "learned", add: "sum", gain: "normed", linear: "patch", constant: "learned" };
  return kinds[step.op] ?? "other";
}

/** The part of the figure in which a sequence becomes rows. */
export function inputPart(program: Program, sequence: string): string | null {
  return program.steps.find((step) => step.inputs.includes(sequence) && /(^|\.)inputs$/.test(step.part))?.part ?? program.steps.find((step) => step.inputs.includes(sequence))?.part ?? null;
}

/** The lines of one sequence. `rows`: how many rows each step has in this run. */
export function inputLines(program: Program, sequence: string, rows: (step: Step) => number): InputLine[] {
  const part = inputPart(program, sequence);
  const steps = program.steps.filter((step) => step.part === part && step.shape.length === 2 && !HIDDEN.has(step.op));
  const most = Math.max(0, ...steps.map(rows));
  return steps.map((step) => ({ step, kind: kindOf(step, program), shift: 0 })).filter((line) => {
    line.shift = most - rows(line.step);
    return rows(line.step) > 1 || most === 1;
  });
}
