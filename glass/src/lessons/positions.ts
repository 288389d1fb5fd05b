// The candidates for positions, and what each of them keeps and breaks.

import type { Tensor } from "../engine/header";
import { dim, tensor } from "../engine/tensor";
import type { Results } from "./check";
import type { Lesson } from "./data";
import { row, sinusoidal } from "./reckon";

export interface Settings {
  length: number;
  width: number;
  base: number;
  shifts: number[];
}

export const BITS = 9;

/** The vector of a position; the table of all of them is what a candidate is. */
export type Candidate = (position: number, words: number) => number[];

export const CANDIDATES: Record<string, Candidate> = {
  "a count": (position) => [position],
  "a count / length": (position, words) => [words > 1 ? position / (words - 1) : 0],
  "binary digits": (position) => Array.from({ length: BITS }, (_, i) => Math.floor(position / 2 ** i) % 2),
  "one sine": (position) => [Math.sin(position)],
};

export function waves(width: number, base: number): Candidate {
  const turns = anglesOf(width, base);
  return (position) => turns.flatMap((turn) => [Math.sin(position * turn), Math.cos(position * turn)]).slice(0, width);
}

/** The angle by which each pair turns from one position to the next. */
export function anglesOf(width: number, base: number): number[] {
  return Array.from({ length: Math.ceil(width / 2) }, (_, i) => 1 / base ** ((2 * i) / width));
}

export const tableOf = (candidate: Candidate, words: number): number[][] => Array.from({ length: words }, (_, t) => candidate(t, words));

const apart = (a: readonly number[], b: readonly number[]): number => Math.sqrt(a.reduce((sum, value, i) => sum + (value - b[i]!) ** 2, 0));

export interface Facts {
  largest: number; // magnitude
  unevenness: number; // the longest step to the next position, divided by the shortest
  closest: number; // the smallest distance between two positions
}

export function factsOf(table: readonly (readonly number[])[]): Facts {
  const steps = table.slice(1).map((values, t) => apart(values, table[t]!));
  let closest = Infinity;
  for (let t = 0; t < table.length; t++) for (let s = 0; s < t; s++) closest = Math.min(closest, apart(table[t]!, table[s]!));
  const largest = Math.max(...table.map((values) => Math.max(...values.map(Math.abs))));
  return { largest, unevenness: Math.max(...steps) / Math.min(...steps), closest };
}

/** How many numbers of a position's vector lie outside what its dimension had in texts of `seen` words. */
export function unseen(candidate: Candidate, position: number, seen: number, words: number): [number, number] {
  const table = tableOf(candidate, seen);
  const values = candidate(position, words);
  const outside = values.filter((value, i) => {
    const column = table.map((one) => one[i]!);
    return value > Math.max(...column) + 1e-9 || value < Math.min(...column) - 1e-9;
  });
  return [outside.length, values.length];
}

/** P(t) · P(s), divided by P(t) · P(t), for all s. */
export function likeness(table: Tensor, position: number): number[] {
  const own = row(table, position);
  const dot = (other: Float32Array) => other.reduce((sum, value, i) => sum + value * own[i]!, 0);
  const top = dot(own);
  return Array.from({ length: dim(table, 0) }, (_, s) => dot(row(table, s)) / top);
}

/** M_c P(t): each pair (sin, cos) is turned by c times its own angle. */
export function turned(values: ArrayLike<number>, shift: number, width: number, base: number): number[] {
  const found = Array.from(values);
  anglesOf(width, base).forEach((turn, i) => {
    if (2 * i + 1 >= width) return;
    const [sine, cosine] = [values[2 * i]!, values[2 * i + 1]!];
    const [c, s] = [Math.cos(shift * turn), Math.sin(shift * turn)];
    found[2 * i] = sine * c + cosine * s;
    found[2 * i + 1] = cosine * c - sine * s;
  });
  return found;
}

const AT = 7; // whose rotations Python wrote down

export function results({ settings, right }: Lesson<Settings>): Results {
  const { length, width, base, shifts } = settings;
  const table = sinusoidal(length, width, base);
  const sampled = Array.from({ length: Math.ceil(length / 16) }, (_, i) => [...row(table, 16 * i)]).flat();
  const found: Results = {
    table: tensor(sampled, [Math.ceil(length / 16), width]),
    likeness: tensor(likeness(table, 50).slice(0, right.likeness?.data.length)),
    rotated: tensor(shifts.flatMap((shift) => turned(row(table, AT), shift, width, base))),
  };
  if (!Object.keys(right).some((name) => name.startsWith("a count"))) return found;
  const candidates = { ...CANDIDATES, sinusoids: waves(width, base) };
  for (const [name, candidate] of Object.entries(candidates)) {
    if (!right[`${name}, largest`]) continue;
    for (const [fact, value] of Object.entries(factsOf(tableOf(candidate, length)))) found[`${name}, ${fact}`] = tensor([value]);
  }
  return found;
}
