// Claims about the answer: which heads it needs, where each piece is decided, how sure the model is, what the search did.

import { tour } from "../state/strings/tour";
import type { Claim, Rule } from "./claim";
import { bare, isWordy, sharpestOf, type Decided, type Decision, type HeadCost, type Scene } from "./scene";

function placeOf(scene: Scene, { attention, head }: HeadCost) {
  const { stack, kind, layer } = attention;
  const { query, key } = sharpestOf(scene, attention, head);
  return { stack, kind, layer, head, query, key, tap: "" };
}

function numbersOf(one: HeadCost) {
  const { attention, head, cost, sharpness } = one;
  return { part: attention.id, kind: attention.kind, stack: attention.stack, layer: attention.layer, head, cost, times: Math.exp(cost), sharpness };
}

const needed: Rule = {
  id: "needed",
  title: tour.needed.title,
  claim(scene) {
    const all = scene.costs ?? [];
    if (all.length < 2) return null;
    const sorted = [...all].sort((one, other) => other.cost - one.cost);
    const most = sorted[0]!;
    const numbers = { ...numbersOf(most), heads: all.length };
    return { holds: most.cost > 0.1 && most.cost > sorted[1]!.cost, numbers, text: tour.needed.text(numbers), at: { view: "heads", ...placeOf(scene, most) } };
  },
};

/** A head that is sure of what it reads, and without which almost nothing changes. */
const effect: Rule = {
  id: "effect",
  title: tour.effect.title,
  claim(scene) {
    const sharp = (scene.costs ?? []).filter((one) => one.sharpness >= 0.6 && Math.abs(one.cost) <= 0.1);
    if (!sharp.length) return null;
    const telling = ({ sharpness, cost }: HeadCost): number => sharpness - 3 * Math.abs(cost);
    const one = sharp.reduce((best, other) => (telling(other) > telling(best) ? other : best));
    const numbers = numbersOf(one);
    const options = [{ text: tour.effect.little, right: true }, { text: tour.effect.other, right: false }, { text: tour.effect.half, right: false }];
    const question = { ask: tour.effect.ask(numbers), options };
    return { holds: true, numbers, text: tour.effect.text(numbers), note: tour.effect.note, question, at: { view: "head", ...placeOf(scene, one) } };
  },
};

const decided: Rule = {
  id: "decided",
  title: tour.decided.title,
  claim(scene) {
    const known = (scene.decided ?? []).filter((one) => isWordy(one.name));
    if (known.length < 2) return null;
    const late = known.reduce((best, one) => (one.at > best.at ? one : best));
    const early = known.reduce((best, one) => (one.at < best.at ? one : best));
    const part = ({ layer, what }: Decided): string => tour.part(layer, what);
    const numbers = { early: bare(early.name), earlyRow: early.row, earlyAt: early.at, earlyLayer: early.layer ?? -1, earlyPart: part(early), late: bare(late.name), lateRow: late.row, lateAt: late.at, lateLayer: late.layer ?? -1, latePart: part(late) };
    return { holds: late.at > early.at && late.layer !== null, numbers, text: tour.decided.text(numbers), note: tour.decided.note, at: { view: "stream", step: late.row } };
  },
};

/** The position where the runner-up comes closest. */
function closest(decisions: Decision[]): Decision {
  return decisions.reduce((best, one) => (one.probability < best.probability ? one : best));
}

const sure: Rule = {
  id: "sure",
  title: tour.sure.title,
  claim(scene) {
    const all = scene.decisions;
    if (!all.length) return null;
    const least = closest(all);
    const numbers = {
      row: least.row, name: bare(least.name), probability: least.probability, second: bare(least.second), secondProbability: least.secondProbability,
      positions: all.length, candidates: least.candidates, chosenFirst: least.probability >= least.secondProbability,
    };
    const options = all.map((one) => ({ text: bare(one.name), right: one === least }));
    const distinct = new Set(options.map((option) => option.text)).size === options.length;
    const question = all.length > 2 && all.length <= 30 && distinct ? { ask: tour.sure.ask, options } : undefined;
    const text = all.length === 1 ? tour.sure.only(numbers) : tour.sure.text(numbers);
    return { holds: numbers.chosenFirst, numbers, text, question, at: { view: "choice", step: least.row } };
  },
};

/** Label smoothing: training asked for less than certainty, so a well trained model gives less. */
const ceiling: Rule = {
  id: "ceiling",
  title: tour.ceiling.title,
  claim(scene) {
    const smoothing = scene.header.decoding?.smoothing ?? 0;
    const all = scene.decisions;
    if (!smoothing || all.length < 2) return null;
    const top = all.reduce((best, one) => (one.probability > best.probability ? one : best));
    const asked = 1 - smoothing + smoothing / top.candidates;
    const numbers = { smoothing, asked, top: top.probability, name: bare(top.name), row: top.row };
    return { holds: top.probability <= asked + 0.03 && top.probability >= asked - 0.06, numbers, text: tour.ceiling.text(numbers), at: { view: "choice", step: top.row } };
  },
};

const beam: Rule = {
  id: "beam",
  title: tour.beam.title,
  claim(scene) {
    const search = scene.run.search;
    const [first, second] = search?.hypotheses ?? [];
    if (!search || search.width < 2 || !first || !second) return null;
    const beaten = search.steps.flat().flatMap((row) => row.candidates).filter((one) => one.fate === "beaten").length;
    const numbers = {
      width: search.width, nodes: search.nodes.length - 1, beaten, score: first.score, secondScore: second.score,
      second: second.ids.map((id) => scene.shown(id)).join("").replace(/[▁␣]/g, " ").trim(),
    };
    return { holds: first.score >= second.score, numbers, text: tour.beam.text(numbers), at: { view: "choice", step: 0 } };
  },
};

const proof: Rule = {
  id: "proof",
  title: tour.proof.title,
  claim(scene) {
    const checks = scene.checks;
    if (!checks || !checks.compared) return null;
    const numbers = { compared: checks.compared, steps: checks.steps.length, worst: checks.worst?.error ?? 0, worstStep: checks.worst?.step ?? "", recorded: scene.recorded ?? true };
    const claim: Claim = { holds: checks.ok, numbers, text: tour.proof.text(numbers), at: { view: "proof" } };
    return claim;
  },
};

export const DECIDING_RULES = { needed, effect, decided, sure, ceiling, beam, proof };
