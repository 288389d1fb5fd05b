// Collects what the tour's claims need: what was decided and when, and what each head is worth.

import type { Breathe } from "../analysis/breathe";
import { outputOf, streamsOf, type Sight } from "../analysis/graph";
import { headsOf, removeEach } from "../analysis/knockouts";
import { decidedAt, guesses, type Guess } from "../analysis/lens";
import { nearest } from "../analysis/nearest";
import { logitsAt, logProbsOf, logTotal, readoutOf, type Readout } from "../analysis/readout";
import { tagsOf } from "../analysis/tags";
import type { Checks, Header, Run } from "../engine/header";
import { compute, ForwardPass } from "../engine/run";
import type { Attention } from "../state/anatomy";
import type { Decided, Decision, HeadCost, Scene } from "./scene";

export interface Materials {
  header: Header;
  run: Run;
  sight: Sight;
  attentions: Attention[];
  checks: Checks | null;
  shown(id: number): string; // a token of the output's vocabulary
  breathe: Breathe;
  progress?(done: number, all: number): void; // heads removed so far
}

/** The places of the output where something is said that a reader asked for. */
function placesOf({ header, run }: Materials, said: Readout): number[] {
  const [sequence = ""] = Object.keys(header.tokenizers);
  if (said.kind === "tokens") return said.answer.filter((place) => (run.words[sequence]?.[place] ?? -1) >= 0);
  return said.kind === "span" ? [] : said.answer;
}

/** A model that continues its text guesses what comes after each piece. */
function guessed({ header }: Materials, said: Readout, places: number[]): number[] {
  return said.kind === "next" && header.decoding?.start === -1 ? said.chosen.map((_, place) => place) : places;
}

function nameOf({ header, shown }: Materials, said: Readout, id: number): string {
  const named = said.kind === "class" || said.kind === "tokens" ? header.task.classes?.[id] : undefined;
  return named ?? shown(id);
}

/** The most likely one of the others. */
function runnerUp(logits: ArrayLike<number>, chosen: number): number {
  let found = chosen === 0 ? Math.min(1, logits.length - 1) : 0;
  for (let id = 0; id < logits.length; id++) if (id !== chosen && logits[id]! > logits[found]!) found = id;
  return found;
}

function decisionsOf(given: Materials, said: Readout, places: number[]): Decision[] {
  const logits = given.run.pass.values(said.step);
  return places.map((row) => {
    const all = logitsAt(logits, said, row);
    const total = logTotal(all);
    const chosen = said.chosen[row]!;
    const other = runnerUp(all, chosen);
    const share = (id: number): number => Math.exp(all[id]! - total);
    return { row, name: nameOf(given, said, chosen), probability: share(chosen), second: nameOf(given, said, other), secondProbability: share(other), candidates: all.length };
  });
}

async function costsOf(given: Materials, said: Readout, places: number[]): Promise<HeadCost[]> {
  const { run, attentions } = given;
  const found: HeadCost[] = [];
  const heads = headsOf(attentions.filter((one) => one.pattern.axes[0] === "head"));
  const before = logProbsOf(run.pass.values(said.step), said);
  await removeEach(heads, {
    how: "mean", pass: run.pass as ForwardPass, steps: [said.step], before, breathe: given.breathe,
    read: (output) => logProbsOf(output, said),
    found: ({ place, losses }) => {
      const attention = attentions.find((one) => one.id === place.part)!;
      const { data, shape } = run.pass.values(attention.pattern.name);
      const [queries = 1, keys = 1] = shape.slice(-2);
      const { sharpness } = tagsOf({ data, offset: place.head * queries * keys, queries, keys });
      given.progress?.(found.length + 1, heads.length);
      found.push({ attention, head: place.head, cost: places.reduce((sum, at) => sum + losses[at]!, 0), sharpness });
    },
  });
  return found;
}

async function decidedOf(given: Materials, said: Readout, places: number[]): Promise<Decided[] | null> {
  const { run, sight, header } = given;
  const out = outputOf(header.program, streamsOf(header.program));
  if (!out || said.across !== "row" || !(run.pass instanceof ForwardPass)) return null;
  const lens = { tail: out.tail, end: out.stream.points.at(-1)!.step };
  const { engine } = run.pass;
  const table: Guess[][] = [];
  for (const point of out.stream.points) {
    const value = run.pass.values(point.step);
    table.push(guesses(sight, lens, said, value, (step, inputs) => compute(engine, step, inputs), { begin: 0, end: said.places }));
    await given.breathe();
  }
  return places.flatMap((row) => {
    const at = decidedAt(table.map((guess) => guess[row]), said.chosen[row]!);
    const point = at === null ? undefined : out.stream.points[at];
    return at === null || !point ? [] : [{ row, name: nameOf(given, said, said.chosen[row]!), layer: point.layer, what: point.what, at }];
  });
}

/** Everything that can be claimed about a run; what this page cannot compute is null. */
export async function sceneOf(given: Materials): Promise<Scene> {
  const { header, run, sight, attentions, checks, shown } = given;
  const said = readoutOf(header, run);
  const places = said ? placesOf(given, said) : [];
  const live = header.tier === "live" && run.pass instanceof ForwardPass && said !== null && places.length > 0;
  const embedOf = (sequence: string) => header.program.steps.find((step) => step.op === "embed" && step.inputs[0] === sequence);
  return {
    header, program: header.program, run, attentions, checks, shown,
    decisions: said ? decisionsOf(given, said, places) : [],
    costs: live ? await costsOf(given, said!, places) : null,
    decided: live ? await decidedOf(given, said!, guessed(given, said!, places)) : null,
    weight: (name) => sight.weight(name),
    near: (sequence, id, count) => {
      const table = sight.weight(embedOf(sequence)?.weights[0] ?? "");
      return table ? nearest(table, id, count) : [];
    },
  };
}
