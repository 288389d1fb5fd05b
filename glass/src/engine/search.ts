// The search for an output: the loop, the beam and the stopping rule of Glassformer's own (decode/search.py), for one text.
// It records each open hypothesis's best continuations and what became of them.

import type { Candidate, Decoding, Fate, Finished, SearchNode, SearchRecord, SearchRow } from "./header";
import { largest } from "./tensor";

const DEAD = -Infinity;
const SHOWN = 2; // candidates recorded beyond the width of the beam

/** The state of a model after some tokens, and its log-probabilities of the next one. */
export interface State {
  logProbs: Float32Array; // (V,)
}

export interface Model<S extends State> {
  start(): S;
  extend(state: S, token: number): S;
}

export type Ranked = (logProb: number, length: number) => number;

export function rankedBy(how: Decoding["ranked"]): Ranked {
  if (how === "mean") return (logProb, length) => logProb / Math.max(length, 1);
  if ("by_length" in how) return (logProb, length) => logProb / Math.max(length, 1) ** how.by_length;
  return (logProb, length) => logProb / ((5 + length) / 6) ** how.gnmt;
}

export interface Job<S extends State> {
  model: Model<S>;
  width: number;
  chooser: Decoding["chooser"];
  limit: number;
  end: number;
  ranked: Ranked;
  cutLast?: boolean; // usual: outputs that were cut rank after finished ones
  best?: number; // how many outputs are wanted: the search stops when no other can be among them
  ends?: readonly number[]; // several end marks count as one
  forbidden?: readonly number[];
  forced?: Readonly<Record<number, number>>; // position -> token
  pruned?: ReadonlySet<string>; // prefixes that are not followed, as "5 17 3"
}

/** An open hypothesis. */
interface Open<S> {
  node: number;
  state: S;
  ids: number[];
  logProbs: number[];
  score: number; // log-probability of the prefix
}

/** A possible continuation. */
interface Next<S> {
  from: Open<S>;
  token: number;
  logProb: number; // the model's own
  score: number;
}

/** The distribution of a hypothesis's next token: the model's own, and after the rules. */
interface Distribution {
  own: Float32Array;
  allowed: Float32Array;
  rules: Map<number, string>; // of the tokens a rule forbids
  rest: string | null; // the rule that forbids all others
}

export function search<S extends State>(job: Job<S>): SearchRecord {
  const record: SearchRecord = { width: job.width, nodes: [], steps: [], hypotheses: [] };
  record.nodes.push({ parent: 0, token: -1, log_prob: 0, sum: 0 });
  let open: Open<S>[] = [{ node: 0, state: job.model.start(), ids: [], logProbs: [], score: 0 }];
  let left = job.width;
  for (let length = 0; open.length; length++) {
    if (length >= job.limit) {
      open.forEach((one) => complete(job, record, one, false));
      break;
    }
    if (left < job.width && settled(job, record, Math.max(...open.map((one) => one.score)))) break;
    const distributions = open.map((one) => distribution(job, one));
    const chosen = job.chooser === "BestRefilled" && job.width > 1 ? refilled(job, open, distributions) : beam(job.width, open, distributions, left);
    const nodes = chosen.map((next) => added(record, next));
    record.steps.push(open.map((one, i) => rowRecord(job, one, distributions[i]!, chosen, nodes)));
    if (!chosen.length) {
      open.forEach((one) => complete(job, record, one, false)); // the rules forbid every token
      break;
    }
    const continued: Open<S>[] = [];
    chosen.forEach((next, i) => {
      const one = extended(next, nodes[i]!);
      if (next.token === job.end) {
        complete(job, record, one, true);
        left--;
      } else continued.push(one);
    });
    open = left > 0 || job.chooser === "BestRefilled" ? continued : [];
    if (open.length && length + 1 < job.limit && !stops(job, record, open, left)) followed(job, open);
  }
  const last = job.cutLast ?? true;
  record.hypotheses.sort((a, b) => (last ? Number(b.finished) - Number(a.finished) : 0) || b.score - a.score);
  return record;
}

function stops<S extends State>(job: Job<S>, record: SearchRecord, open: Open<S>[], left: number): boolean {
  return left < job.width && settled(job, record, Math.max(...open.map((one) => one.score)));
}

/** Runs the model on the last token of each hypothesis. */
function followed<S extends State>(job: Job<S>, open: Open<S>[]): void {
  for (const one of open) one.state = job.model.extend(one.state, one.ids[one.ids.length - 1]!);
}

/** Whether no open hypothesis can still enter the best ones: log P only falls with length, so the best that one can reach is
 * its present log P at full length. */
function settled<S extends State>(job: Job<S>, record: SearchRecord, best: number): boolean {
  const scores = record.hypotheses.filter((one) => one.finished).map((one) => one.score);
  scores.sort((a, b) => b - a);
  const wanted = job.best ?? 1;
  return scores.length >= wanted && scores[wanted - 1]! >= job.ranked(best, job.limit);
}

// --- Rules ----------------------------------------------------------------------------------------------------------

function distribution<S extends State>(job: Job<S>, { state, ids }: Open<S>): Distribution {
  const own = state.logProbs;
  if (own.some(Number.isNaN)) throw new Error("The model's output is NaN: its weights are damaged.");
  const found: Distribution = { own, allowed: own, rules: new Map(), rest: null };
  const forced = job.forced?.[ids.length];
  const forbid = (token: number, rule: string): void => {
    found.allowed[token] = DEAD;
    found.rules.set(token, rule);
  };
  if (!job.forbidden?.length && !job.pruned?.size && forced === undefined && (job.ends?.length ?? 0) < 2) return found;
  found.allowed = own.slice();
  for (const token of job.forbidden ?? []) if (token < own.length) forbid(token, "forbidden");
  if ((job.ends?.length ?? 0) > 1) mergeEnds(job, found);
  if (job.pruned?.size) {
    const prefix = ids.join(" ");
    for (const text of job.pruned) {
      const place = text.lastIndexOf(" ");
      if ((place < 0 ? "" : text.slice(0, place)) === prefix) forbid(Number(text.slice(place + 1)), "pruned");
    }
  }
  if (forced !== undefined) {
    const value = own[forced]!;
    found.allowed.fill(DEAD);
    found.allowed[forced] = value;
    found.rules.delete(forced);
    found.rest = "forced prefix";
  }
  return found;
}

/** All end marks count as one: the most likely of them. */
function mergeEnds<S extends State>(job: Job<S>, found: Distribution): void {
  found.own = found.own.slice();
  const best = Math.max(...job.ends!.map((end) => found.allowed[end]!));
  const ownBest = Math.max(...job.ends!.map((end) => found.own[end]!));
  for (const end of job.ends!) {
    found.own[end] = found.allowed[end] = DEAD;
    if (end !== job.end) found.rules.set(end, "merged ends");
  }
  found.allowed[job.end] = best;
  found.own[job.end] = ownBest;
}

// --- Choosers -------------------------------------------------------------------------------------------------------

/** The `width` best continuations of all hypotheses, of which the first `left` continue. */
function beam<S extends State>(width: number, open: Open<S>[], all: Distribution[], left: number): Next<S>[] {
  const found: Next<S>[] = [];
  open.forEach((from, i) => {
    const { own, allowed } = all[i]!;
    for (const token of largest(allowed, Math.min(width, allowed.length))) {
      found.push({ from, token, logProb: own[token]!, score: from.score + allowed[token]! });
    }
  });
  const order = found.map((_, i) => i).sort((a, b) => descending(found[a]!.score, found[b]!.score) || a - b);
  const chosen = order.slice(0, Math.min(width, left)).map((i) => found[i]!);
  return chosen.filter((next) => next.score > DEAD);
}

const descending = (a: number, b: number): number => (a === b ? 0 : a > b ? -1 : 1);

/** The beam stays full: an end counts if it is among the `width` best; the `width` best others continue. */
function refilled<S extends State>(job: Job<S>, open: Open<S>[], all: Distribution[]): Next<S>[] {
  let others = 0;
  return beam(2 * job.width, open, all, 2 * job.width).filter((next, place) =>
    next.token === job.end ? place < job.width : ++others <= job.width,
  );
}

// --- The record -----------------------------------------------------------------------------------------------------

function added<S extends State>(record: SearchRecord, { from, token, logProb, score }: Next<S>): number {
  const node: SearchNode = { parent: from.node, token, log_prob: logProb, sum: score };
  return record.nodes.push(node) - 1;
}

function extended<S extends State>({ from, token, logProb, score }: Next<S>, node: number): Open<S> {
  return { node, state: from.state, ids: [...from.ids, token], logProbs: [...from.logProbs, logProb], score };
}

function complete<S extends State>(job: Job<S>, record: SearchRecord, one: Open<S>, finished: boolean): void {
  const found: Finished = {
    node: one.node,
    ids: finished ? one.ids.slice(0, -1) : one.ids,
    log_probs: one.logProbs,
    score: job.ranked(one.score, one.ids.length),
    finished,
  };
  record.hypotheses.push(found);
}

function rowRecord<S extends State>(job: Job<S>, from: Open<S>, found: Distribution, chosen: Next<S>[], nodes: number[]): SearchRow {
  const count = Math.min(considered(job), found.own.length) + SHOWN;
  const shown = largest(found.own, count);
  const own = new Map(chosen.map((next, i) => [next, nodes[i]!] as const).filter(([next]) => next.from === from).map(([next, node]) => [next.token, node]));
  for (const token of own.keys()) if (!shown.includes(token)) shown.push(token);
  shown.sort((a, b) => descending(found.own[a]!, found.own[b]!));
  const candidates = shown.map((token): Candidate => {
    const sum = from.score + found.allowed[token]!;
    const node = own.get(token);
    const fate: Fate = sum === DEAD ? "forbidden" : node === undefined ? "beaten" : token === job.end ? "finished" : "kept";
    const rule = fate === "forbidden" ? (found.rules.get(token) ?? found.rest ?? undefined) : undefined;
    const score = job.ranked(sum, from.ids.length + 1);
    const numbers = { log_prob: finite(found.own[token]!), sum: finite(sum), score: finite(score) };
    return { token, ...numbers, fate, ...(rule && { rule }), ...(node !== undefined && { node }) };
  });
  return { node: from.node, candidates };
}

const finite = (value: number): number | null => (Number.isFinite(value) ? value : null);

/** How many continuations of all hypotheses the chooser looks at. */
function considered<S extends State>(job: Job<S>): number {
  return job.chooser === "BestRefilled" && job.width > 1 ? 2 * job.width : job.width;
}
