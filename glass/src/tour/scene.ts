// What the tour's claims are about: one run, its program, and the calculations that need more than one pass.

import type { Near } from "../analysis/nearest";
import type { Checks, Header, Program, Run, Step, Tensor } from "../engine/header";
import type { Attention } from "../state/anatomy";

/** What a position of the output was given as its answer. */
export interface Decision {
  row: number; // of the output
  name: string;
  probability: number;
  second: string; // the runner-up
  secondProbability: number;
  candidates: number; // how many there were to choose from
}

/** When a decision came about: the first sub-layer after which it is the best guess and stays so. */
export interface Decided {
  row: number;
  name: string;
  layer: number | null; // null: before all blocks
  what: string; // "inputs", "self_attention" ...
  at: number; // the number of that point of the stream, from 0
}

/** Head by head: what the answer's log P loses without it, and how sharp its pattern is. */
export interface HeadCost {
  attention: Attention;
  head: number;
  cost: number;
  sharpness: number;
}

export interface Scene {
  header: Header;
  program: Program;
  run: Run;
  attentions: Attention[];
  decisions: Decision[];
  costs: HeadCost[] | null; // null: this page cannot compute them
  decided: Decided[] | null;
  checks: Checks | null;
  recorded?: boolean; // false: the checks are those of the recorded sentence, not of this run
  weight(name: string): Tensor | null;
  shown(id: number): string; // a piece as a reader sees it, without its space
  near(sequence: string, id: number, count: number): Near[];
}

export function stepsOf(scene: Scene, op: string): Step[] {
  return scene.program.steps.filter((step) => step.op === op);
}

/** A piece in a sentence: without the marks of spaces. */
export function bare(piece: string): string {
  return piece.replace(/^[▁␣\s]+|[▁␣\s]+$/g, "") || "␣";
}

/** Pieces that are words or parts of words. */
export function isWordy(piece: string): boolean {
  return /^(##)?[\p{L}\p{M}\p{N}]+$/u.test(piece.replace(/^[▁␣\s]+|[▁␣\s]+$/g, ""));
}

/** The names of the rows of a step that reads: those of the output by the piece that they choose. */
export function rowNames(scene: Scene, attention: Attention): string[] {
  const { run, program } = scene;
  const output = program.steps.find((step) => step.name === Object.values(program.outputs)[0]);
  if (attention.queries === "patch") return columnNames(scene, { ...attention, keys: "patch" });
  const written = scene.header.decoding?.start === -1 ? undefined : run.written?.pieces;
  if (written && output?.shape.at(-2) === attention.queries) return written;
  return run.pieces[attention.queries] ?? [];
}

export function columnNames(scene: Scene, attention: Attention): string[] {
  const image = Object.keys(scene.program.sequences).find((name) => scene.program.sequences[name] === "image");
  if (attention.keys !== "patch" || !image) return scene.run.pieces[attention.keys] ?? [];
  return (scene.run.pieces[image] ?? []).map((name) => (/\d/.test(name) ? `patch ${name}` : "the whole picture"));
}

/** Whether a column is something that a reader can see: a word or a part of one, or a patch. */
export function canBeSeen(name: string): boolean {
  return isWordy(name) || name.startsWith("patch ");
}

/** One cell of a pattern. */
export interface Cell {
  attention: Attention;
  head: number;
  query: number;
  key: number;
  share: number;
}

/** The head and row where an attention is read most sharply, of one head. */
export function sharpestOf(scene: Scene, attention: Attention, head: number): Cell {
  const own = peaks(scene, attention).filter((cell) => cell.head === head);
  return own.reduce((best, cell) => (cell.share > best.share ? cell : best));
}

/** The largest share of every row of every head of an attention. */
export function peaks(scene: Scene, attention: Attention): Cell[] {
  const { data, shape } = scene.run.pass.values(attention.pattern.name);
  const [queries = 0, keys = 0] = shape.slice(-2);
  const found: Cell[] = [];
  for (let at = 0; at < data.length; at += keys) {
    let key = 0;
    for (let column = 1; column < keys; column++) if (data[at + column]! > data[at + key]!) key = column;
    const row = at / keys;
    found.push({ attention, head: Math.floor(row / queries), query: row % queries, key, share: data[at + key]! });
  }
  return found;
}
