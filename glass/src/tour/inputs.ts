// Claims about what the model sees: pieces, rows of the table, places, and where its numbers are.

import { length } from "../analysis/nearest";
import { figureOf, sizesOf, type Figure } from "../analysis/figure";
import { tour } from "../state/strings/tour";
import type { Step } from "../engine/header";
import { counted, mixed, type Claim, type Rule } from "./claim";
import { bare, isWordy, stepsOf, type Scene } from "./scene";

interface WordPieces {
  sequence: string;
  from: number;
  parts: string[];
}

/** The first sequence that is a text. */
export function textOf(scene: Scene): string | null {
  const { sequences } = scene.program;
  return Object.keys(sequences).find((name) => sequences[name] === "ids" && scene.run.pieces[name]?.length) ?? null;
}

/** Pieces with the same word number, of the input. */
function wordsIn(scene: Scene, sequence: string): WordPieces[] {
  const [pieces, words] = [scene.run.pieces[sequence] ?? [], scene.run.words[sequence] ?? []];
  const found: WordPieces[] = [];
  pieces.forEach((piece, at) => {
    const word = words[at] ?? -1;
    if (word < 0) return;
    if (at && words[at - 1] === word) found.at(-1)?.parts.push(piece);
    else found.push({ sequence, from: at, parts: [piece] });
  });
  return found;
}

/** The word as a reader writes it. */
function spelled(word: WordPieces): string {
  return word.parts.map((part) => part.replace(/^[▁␣ ]|^##(?=.)/, "")).join("");
}

function vocabularySize(scene: Scene): number {
  const embed = stepsOf(scene, "embed")[0];
  return embed ? (scene.weight(embed.weights[0] ?? "")?.shape[0] ?? 0) : 0;
}

/** A picture is cut into patches before anything else. */
const patches: Rule = {
  id: "patches",
  title: tour.patches.title,
  claim(scene) {
    const cut = stepsOf(scene, "patches")[0];
    if (!cut) return null;
    const [count = 0, width = 0] = scene.run.pass.values(cut.name).shape;
    const numbers = { count, width, high: Number(cut.settings.height), wide: Number(cut.settings.width) };
    return { holds: count > 1, numbers, text: tour.patches.text(numbers), at: { view: "pieces", tap: "" } };
  },
};

const pieces: Rule = {
  id: "pieces",
  title: tour.pieces.title,
  claim(scene) {
    const sequence = textOf(scene);
    if (!sequence || stepsOf(scene, "patches").length) return null;
    const words = wordsIn(scene, sequence).filter((word) => isWordy(spelled(word)));
    if (!words.length) return null;
    const longest = words.reduce((best, word) => (word.parts.length > best.parts.length ? word : best));
    const [word, count, parts] = [spelled(longest), longest.parts.length, longest.parts.map(bare)];
    const spaced = /^[▁␣]/.test(longest.parts[0]!);
    const numbers = { sequence, from: longest.from, word, count, parts, words: words.length, vocabulary: vocabularySize(scene), pieces: scene.run.pieces[sequence]!.length };
    const at = { view: "pieces" as const, row: longest.from };
    if (count === 1) return { holds: true, numbers, text: tour.pieces.whole(numbers), at };
    const question = { ask: tour.pieces.ask(word), options: counted(count, [...word].length) };
    return { holds: true, numbers, text: tour.pieces.text(numbers), ...(spaced && { note: tour.pieces.note(parts[0]!) }), question, at };
  },
};

/** The longest piece that is a word or part of one. */
function longestPiece(scene: Scene, sequence: string): number {
  const all = scene.run.pieces[sequence] ?? [];
  let best = -1;
  all.forEach((piece, at) => {
    if (isWordy(piece) && (best < 0 || bare(piece).length > bare(all[best]!).length)) best = at;
  });
  return best;
}

const row: Rule = {
  id: "row",
  title: tour.row.title,
  claim(scene) {
    const sequence = textOf(scene);
    const embed = stepsOf(scene, "embed").find((step) => step.inputs[0] === sequence);
    const table = embed && scene.weight(embed.weights[0] ?? "");
    const place = sequence ? longestPiece(scene, sequence) : -1;
    if (!sequence || !table || place < 0) return null;
    const [id, piece] = [scene.run.ids[sequence]![place]!, bare(scene.run.pieces[sequence]![place]!)];
    const near = scene.near(sequence, id, 12).filter((one) => isWordy(scene.shown(one.row)) && bare(scene.shown(one.row)) !== piece);
    const [first, far] = [near[0], near.at(-1)];
    if (!first || !far || far === first) return null;
    const numbers = { piece, id, rows: table.shape[0]!, width: table.shape[1]!, near: bare(scene.shown(first.row)), nearId: first.row, cosine: first.cosine };
    return { holds: first.cosine >= 0.3, numbers, text: tour.row.text(numbers), note: tour.row.note, at: { view: "pieces", row: place, tap: embed.name } };
  },
};

function sizeOf(scene: Scene, step: Step, row: number): number {
  const value = scene.run.pass.values(step.name);
  const width = value.shape.at(-1) ?? 0;
  return length(value.data, row * width, width);
}

/** How the model knows the order, by what its program does. */
function placeClaim(scene: Scene): Omit<Claim, "at"> | null {
  const inputs = new Set(scene.program.steps.filter((step) => /(^|\.)inputs$/.test(step.part)).map((step) => step.name));
  const position = scene.program.steps.find((step) => inputs.has(step.name) && (step.op === "sinusoidal" || step.op === "rows"));
  const embed = stepsOf(scene, "embed")[0];
  if (position && embed) {
    const numbers = { width: Number(embed.shape.at(-1)), learned: position.op === "rows", piece: sizeOf(scene, embed, 0), place: sizeOf(scene, position, 0), step: position.name, embed: embed.name };
    return { holds: true, numbers, text: tour.place.added(numbers) };
  }
  const turned = stepsOf(scene, "rotate")[0];
  if (turned) {
    const turns = turned.settings.turns as number[];
    const numbers = { pairs: turns.length, first: (turns[0]! * 180) / Math.PI, last: (turns.at(-1)! * 180) / Math.PI };
    return turns.length > 1 ? { holds: turns[0]! > turns.at(-1)!, numbers, text: tour.place.turned(numbers) } : null;
  }
  if (stepsOf(scene, "relative_bias").length) return { holds: true, numbers: {}, text: tour.place.bias };
  const recurrent = scene.program.steps.some((step) => step.op === "lstm" || step.op === "gru");
  return recurrent ? { holds: true, numbers: {}, text: tour.place.order } : null;
}

const place: Rule = {
  id: "place",
  title: tour.place.title,
  claim(scene) {
    const found = placeClaim(scene);
    return found && { ...found, at: { view: "pieces" } };
  },
};

/** The shares of the parameters: tables, attention, feed-forward, the rest. */
export function shareOfParameters(figure: Figure): { what: "table" | "attention" | "feed_forward" | "recurrent" | "rest"; share: number }[] {
  const total = figure.parameters ?? 0;
  const sums = { table: 0, attention: 0, feed_forward: 0, recurrent: 0, rest: 0 };
  for (const tower of figure.towers) {
    for (const box of tower.boxes) {
      const recurrent = box.steps.some((step) => /lstm|gru/.test(step.op));
      const what = recurrent ? "recurrent" : /inputs$|^output$/.test(box.what) ? "table" : /attention/.test(box.what) ? "attention" : box.what === "feed_forward" ? "feed_forward" : "rest";
      sums[what] += box.parameters ?? 0;
    }
  }
  const all = (Object.keys(sums) as (keyof typeof sums)[]).map((what) => ({ what, share: total ? sums[what] / total : 0 }));
  return all.sort((a, b) => b.share - a.share);
}

const parameters: Rule = {
  id: "parameters",
  title: tour.parameters.title,
  claim(scene) {
    const figure = figureOf(scene.program, sizesOf(scene.header));
    if (!figure.parameters) return null;
    const [first, second] = shareOfParameters(figure);
    if (!first || !second || first.what === "rest" || second.what === "rest" || first.share < second.share * 1.05) return null;
    const names = tour.parameters.parts;
    const numbers = { total: figure.parameters, what: first.what, share: first.share, second: second.what, secondShare: second.share };
    const known = shareOfParameters(figure).filter((one) => one.share > 0 && one.what !== "rest");
    const options = known.map((one) => ({ text: names[one.what], right: one === known.find((other) => other.what === first.what) }));
    const question = known.length > 1 ? { ask: tour.parameters.ask(figure.parameters), options: mixed(options, 1) } : undefined;
    return { holds: true, numbers, text: tour.parameters.text(numbers), question, at: { view: "whole" } };
  },
};

export const INPUT_RULES = { patches, pieces, row, place, parameters };
