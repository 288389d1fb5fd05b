// Everything that can be jumped to: heads ("cross 2.4"), pieces and words, steps by their names.

import { spoken, visible } from "./labels";
import { select } from "./selection";
import { attentions, program, run, selectNumber } from "./store";
import { T } from "./strings";

export interface Found {
  name: string;
  also: string; // other words by which it is found
  go(): void;
}

function heads(): Found[] {
  return attentions.value.flatMap((one) => Array.from({ length: one.heads }, (_, head): Found => {
    const kind = [one.stack, one.kind.replace("_attention", "").replaceAll("_", " ")].filter(Boolean).join(" ");
    return {
      name: T.jump.head(kind, one.layer + 1, head + 1), also: T.jump.headAlso(one.layer + 1, head + 1),
      go: () => select({ view: "head", stack: one.stack, kind: one.kind, layer: one.layer, head, tap: "" }),
    };
  }));
}

function chooser(sequence: string, at: number): () => void {
  return () => select(attentions.value.some((one) => one.queries === sequence) ? { query: at } : { key: at });
}

/** The words of a text that are several pieces; they are found as they are written. */
function words(sequence: string): Found[] {
  const [pieces, numbers] = [run.value?.pieces[sequence] ?? [], run.value?.words[sequence] ?? []];
  const found: Found[] = [];
  for (let from = 0; from < pieces.length; from++) {
    const number = numbers[from] ?? -1;
    if (number < 0 || numbers[from - 1] === number) continue;
    let to = from + 1;
    while (numbers[to] === number) to++;
    if (to === from + 1) continue;
    const word = pieces.slice(from, to).map((piece, i) => visible(piece).replaceAll("␣", " ").replace(i ? /^##(?=.)/ : /^/, "")).join("").trim();
    found.push({ name: T.jump.word(word, to - from, sequence), also: "", go: chooser(sequence, from) });
  }
  return found;
}

function everything(): Found[] {
  const pieces = Object.entries(run.value?.pieces ?? {}).flatMap(([sequence, all]) => [
    ...words(sequence), ...all.map((piece, at): Found => ({ name: T.jump.piece(visible(piece), sequence), also: "", go: chooser(sequence, at) })),
  ]);
  const steps = (program.value?.steps ?? []).map((step): Found => ({ name: step.name, also: "", go: () => { selectNumber(step.name, step.shape.map(() => 0)); select({ view: "proof" }); } }));
  return [...heads(), ...pieces, ...steps];
}

/** Those that contain what was typed, or every word of it; a number only as a whole number. */
export function matching(text: string): Found[] {
  const asked = text.toLowerCase().split(/\s+/).filter(Boolean);
  const has = (all: string, word: string): boolean => (/^\d+$/.test(word) ? new RegExp(`(^|\\D)${word}(\\D|$)`).test(all) : all.includes(word));
  const found = everything().filter((one) => {
    const all = `${one.name} ${one.also}`.toLowerCase();
    return asked.every((word) => has(all, word));
  });
  const phrase = asked.join(" ");
  const exact = (one: Found): boolean => phrase !== "" && ` ${one.also.toLowerCase()} `.includes(` ${phrase} `);
  return [...found.filter(exact), ...found.filter((one) => !exact(one))].slice(0, 12);
}

/** What can be typed, from the run that is shown. */
export function examples(): string[] {
  const last = attentions.value.at(-1);
  const word = Object.values(run.value?.pieces ?? {}).flat().map(spoken).find((piece) => /^\p{L}{3,}$/u.test(piece));
  const step = program.value?.steps.at(-1)?.name;
  return [last && T.jump.headOnly(Math.min(2, last.heads)), last && last.kind.replace("_attention", "").replaceAll("_", " "), word, step].filter((one) => one !== undefined);
}
