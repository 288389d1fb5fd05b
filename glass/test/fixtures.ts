// The fixtures: tiny models with random weights, and the value of each step as Python computed it in float64.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { OpText, Patch, Program, Tensor } from "../src/engine/header";
import { linear, type Linear } from "../src/engine/ops";
import type { Engine } from "../src/engine/run";
import { tensor } from "../src/engine/tensor";

interface Stored {
  shape: number[];
  data: (number | null)[]; // null: -Infinity
}

export interface Fixture {
  name: string;
  program: Program;
  inputs: Record<string, Tensor>;
  weights: Record<string, Tensor>;
  values: Record<string, Tensor>;
  patched: { patches: Patch[]; values: Record<string, Tensor> }[];
}

const FOLDER = join("test", "fixtures");

export function read<T>(name: string): T {
  return JSON.parse(readFileSync(join(FOLDER, name), "utf8")) as T;
}

function tensors(stored: Record<string, Stored>): Record<string, Tensor> {
  const found = Object.entries(stored).map(([name, { shape, data }]) => {
    return [name, tensor(data.map((value) => value ?? -Infinity), shape)] as const;
  });
  return Object.fromEntries(found);
}

function fixture(name: string): Fixture | null {
  const stored = read<Record<string, never>>(name);
  if (!("program" in stored && "values" in stored)) return null;
  const { inputs, weights, values, patched, ...rest } = stored as unknown as Record<string, Record<string, Stored>>;
  return {
    ...(rest as unknown as Fixture),
    inputs: tensors(inputs!),
    weights: tensors(weights!),
    values: tensors(values!),
    patched: ((patched as unknown as { patches: Patch[]; values: Record<string, Stored> }[]) ?? []).map((one) => ({
      patches: one.patches.map(withoutNulls),
      values: tensors(one.values),
    })),
  };
}

function withoutNulls(patch: Patch): Patch {
  return Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== null)) as unknown as Patch;
}

export function fixtures(): Fixture[] {
  const names = readdirSync(FOLDER).filter((name) => name.endsWith(".json"));
  return names.map(fixture).filter((one) => one !== null);
}

export const opTexts = (): Record<string, OpText> => read("ops.json");

export function engineOf(one: Fixture, product: Linear = linear): Engine {
  return { program: one.program, weight: (name) => one.weights[name]!, linear: product };
}
