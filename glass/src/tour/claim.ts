// A stop of the tour: a claim about this run with its numbers, and whether it is true.

import type { Selection } from "../state/selection";
import type { Scene } from "./scene";

export interface Option {
  text: string;
  right: boolean;
}

/** Asked before the text is shown. */
export interface Question {
  ask: string;
  options: Option[];
}

export type Numbers = Record<string, number | string | boolean | string[]>;

export interface Claim {
  holds: boolean;
  numbers: Numbers; // everything that the text says, for tests
  text: string;
  note?: string; // where people go wrong
  question?: Question;
  at: Partial<Selection>; // what the page shows beside it
}

/** A rule finds an example in the run and makes a claim of it; null: this model or run has none. */
export interface Rule {
  id: string;
  title: string;
  claim(scene: Scene): Claim | null;
}

/** The same for every reader of the same page, but not always in the same order. */
export function mixed(options: Option[], seed: number): Option[] {
  const sorted = [...options].sort((a, b) => (a.text < b.text ? -1 : 1));
  const by = sorted.length ? seed % sorted.length : 0;
  return [...sorted.slice(by), ...sorted.slice(0, by)];
}

/** The numbers from 1 to at least `right` as options, at most six of them. */
export function counted(right: number, most: number): Option[] {
  const from = Math.max(1, Math.min(right - 2, most - 4));
  const numbers = Array.from({ length: 5 }, (_, i) => from + i).filter((number) => number <= Math.max(most, right));
  return numbers.map((number) => ({ text: String(number), right: number === right }));
}
