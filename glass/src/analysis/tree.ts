// The tree of a search as a drawing: a column for each step, the best output a straight line, other branches below.

import type { Candidate, Fate, SearchRecord } from "../engine/header";

export interface Leaf {
  node: number;
  parent: number;
  token: number;
  depth: number; // column; the empty prefix is 0
  row: number;
  logProb: number; // of the token
  sum: number; // of the prefix
  fate: Fate; // kept: it continued; beaten: it was followed, then dropped
  score: number | null; // of a finished one
  rank: number | null; // among the finished ones, from 0
}

export interface Drawing {
  leaves: Leaf[]; // by node number
  columns: number;
  rows: number;
}

function childrenOf(search: SearchRecord): number[][] {
  const children: number[][] = search.nodes.map(() => []);
  search.nodes.forEach((node, number) => { if (number > 0) children[node.parent]!.push(number); });
  return children;
}

/** The best score that a node leads to: finished outputs first, then longer prefixes, then sums. */
function promise(search: SearchRecord, children: number[][]): number[][] {
  const ranks = new Map(search.hypotheses.map((one, rank) => [one.node, rank]));
  const best: number[][] = search.nodes.map((node, number) => [ranks.get(number) ?? Infinity, 0, -node.sum]);
  for (let number = search.nodes.length - 1; number > 0; number--) {
    for (const child of children[number]!) {
      const mine = best[number]!;
      const theirs = best[child]!;
      if (theirs[0]! < mine[0]! || (theirs[0] === mine[0] && theirs[1]! - 1 < mine[1]!)) best[number] = [theirs[0]!, theirs[1]! - 1, theirs[2]!];
    }
  }
  return best;
}

function before(one: number[], other: number[]): number {
  for (let i = 0; i < one.length; i++) if (one[i] !== other[i]) return one[i]! - other[i]!;
  return 0;
}

/** Gives every node a row: each branch takes the first row below its parent's that is free where it runs. */
class Rows {
  private readonly spans: [number, number][][] = [];

  first(from: number, begin: number, end: number): number {
    for (let row = from; ; row++) {
      const spans = (this.spans[row] ??= []);
      if (spans.every(([b, e]) => end < b || begin > e)) {
        spans.push([begin, end]);
        return row;
      }
    }
  }

  get count(): number {
    return this.spans.length;
  }
}

export function drawingOf(search: SearchRecord): Drawing {
  const children = childrenOf(search);
  const worth = promise(search, children);
  for (const list of children) list.sort((a, b) => before(worth[a]!, worth[b]!));
  const leaves: Leaf[] = search.nodes.map((node, number) => ({
    node: number, parent: node.parent, token: node.token, depth: 0, row: 0, logProb: node.log_prob, sum: node.sum,
    fate: children[number]!.length ? "kept" : "beaten", score: null, rank: null,
  }));
  search.hypotheses.forEach((one, rank) => {
    const leaf = leaves[one.node];
    if (leaf) Object.assign(leaf, { fate: one.finished ? "finished" : leaf.fate, score: one.score, rank });
  });
  for (let number = 1; number < leaves.length; number++) leaves[number]!.depth = leaves[leaves[number]!.parent]!.depth + 1;
  const rows = new Rows();
  placeBranch(0, 0, { leaves, children, rows });
  return { leaves, columns: Math.max(0, ...leaves.map((leaf) => leaf.depth)) + 1, rows: rows.count };
}

interface Layout {
  leaves: Leaf[];
  children: number[][];
  rows: Rows;
}

/** A branch runs straight along its first children; the others begin branches of their own, the last ones first, so
 * that lines do not cross. */
function placeBranch(start: number, from: number, layout: Layout): void {
  const open: { node: number; from: number }[] = [{ node: start, from }];
  while (open.length) {
    const { node, from: least } = open.shift()!;
    const path = [node];
    for (let next = layout.children[node]![0]; next !== undefined; next = layout.children[next]![0]) path.push(next);
    const begin = Math.max(0, layout.leaves[node]!.depth - 1);
    const row = layout.rows.first(least, node === start ? 0 : begin + 1, layout.leaves[path.at(-1)!]!.depth);
    for (const each of path) layout.leaves[each]!.row = row;
    for (const each of path.reverse()) {
      for (const other of layout.children[each]!.slice(1)) open.push({ node: other, from: row + 1 });
    }
  }
}

/** The candidates that were weighed after a prefix, best first; none if it was never continued. */
export function candidatesAfter(search: SearchRecord, node: number): Candidate[] {
  for (const step of search.steps) for (const row of step) if (row.node === node) return row.candidates;
  return [];
}

/** The tokens from the beginning to a node. */
export function pathTo(search: SearchRecord, node: number): number[] {
  const path: number[] = [];
  for (let at = node; at > 0; at = search.nodes[at]!.parent) path.unshift(search.nodes[at]!.token);
  return path;
}
