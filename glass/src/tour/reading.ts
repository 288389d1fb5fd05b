// Claims about attention: who reads whom, how a share is computed, and what may not be read.

import { tour } from "../state/strings/tour";
import type { Attention } from "../state/anatomy";
import { counted, type Rule } from "./claim";
import { bare, canBeSeen, columnNames, peaks, rowNames, type Cell, type Scene } from "./scene";

/** The attention that a reader wants to see first: the decoder's reading of the source, or the last one. */
function kindsOf(scene: Scene): Attention[] {
  const cross = scene.attentions.filter((one) => one.kind === "cross_attention");
  return cross.length ? cross : scene.attentions;
}

/** Whether a cell says something: a word reads another word, and not only itself. */
function isTelling(cell: Cell, rows: string[], columns: string[]): boolean {
  const [row, column] = [rows[cell.query] ?? "", columns[cell.key] ?? ""];
  if (!canBeSeen(row) || !canBeSeen(column)) return false;
  return cell.attention.queries !== cell.attention.keys || cell.query !== cell.key;
}

/** The sharpest telling cell of every row, over all heads. */
function sharpest(scene: Scene): Cell[] {
  const best = new Map<number, Cell>();
  for (const attention of kindsOf(scene)) {
    const [rows, columns] = [rowNames(scene, attention), columnNames(scene, attention)];
    for (const cell of peaks(scene, attention)) {
      if (!isTelling(cell, rows, columns)) continue;
      const known = best.get(cell.query);
      if (!known || cell.share > known.share) best.set(cell.query, cell);
    }
  }
  return [...best.values()];
}

function costOf(scene: Scene, cell: Cell): number {
  return scene.costs?.find((one) => one.attention.id === cell.attention.id && one.head === cell.head)?.cost ?? 0;
}

/** The piece whose sharpest head costs most when it is removed; the sharpest cell where costs are not known. */
export function example(scene: Scene, atLeast = 0.5): Cell | null {
  const sharp = sharpest(scene).filter((cell) => cell.share >= atLeast);
  const order = (cell: Cell): number => (scene.costs ? costOf(scene, cell) : cell.share);
  return sharp.length ? sharp.reduce((best, cell) => (order(cell) > order(best) ? cell : best)) : null;
}

function placeOf(cell: Cell) {
  const { attention: { stack, kind, layer }, head, query, key } = cell;
  return { view: "head" as const, stack, kind, layer, head, query, key, tap: "" };
}

const axis: Rule = {
  id: "axis",
  title: tour.axis.title,
  claim(scene) {
    const cell = example(scene) ?? example(scene, 0);
    if (!cell) return null;
    const { data, shape } = scene.run.pass.values(cell.attention.pattern.name);
    const [queries = 0, keys = 0] = shape.slice(-2);
    if (queries < 2) return null;
    const start = cell.head * queries * keys;
    const totals = Array.from({ length: keys }, (_, key) => {
      let total = 0;
      for (let query = 0; query < queries; query++) total += data[start + query * keys + key]!;
      return total;
    });
    const rowTotal = data.subarray(start + cell.query * keys, start + (cell.query + 1) * keys).reduce((a, b) => a + b, 0);
    const most = totals.indexOf(Math.max(...totals));
    const least = totals.indexOf(Math.min(...totals));
    const [rows, columns] = [rowNames(scene, cell.attention), columnNames(scene, cell.attention)];
    const numbers = {
      head: cell.head, part: cell.attention.id, row: bare(rows[cell.query] ?? ""), query: cell.query, rowTotal,
      most: bare(columns[most] ?? ""), mostTotal: totals[most]!, mostKey: most, least: bare(columns[least] ?? ""), leastTotal: totals[least]!, leastKey: least,
    };
    const differ = numbers.mostTotal - numbers.leastTotal > 0.2 && numbers.most !== numbers.least;
    return { holds: Math.abs(rowTotal - 1) < 1e-3 && differ, numbers, text: tour.axis.text(numbers), note: tour.axis.note, at: placeOf(cell) };
  },
};

const reads: Rule = {
  id: "reads",
  title: tour.reads.title,
  claim(scene) {
    const cell = example(scene);
    if (!cell) return null;
    const [rows, columns] = [rowNames(scene, cell.attention), columnNames(scene, cell.attention)];
    const [row, column] = [bare(rows[cell.query]!), bare(columns[cell.key]!)];
    const numbers = {
      part: cell.attention.id, kind: cell.attention.kind, layer: cell.attention.layer, head: cell.head,
      row, column, query: cell.query, key: cell.key, share: cell.share, keys: columns.length,
    };
    const seen = cell.attention.causal ? columns.slice(0, cell.query + 1) : columns;
    const options = seen.map((name, key) => ({ text: bare(name), right: key === cell.key })).filter((option) => option.right || option.text !== column);
    const question = options.length > 1 && options.length <= 40 ? { ask: tour.reads.ask(numbers), options } : undefined;
    return { holds: true, numbers, text: tour.reads.text(numbers), question, at: placeOf(cell) };
  },
};

/** The four lines of one cell, where this attention has exactly these. */
const sum: Rule = {
  id: "sum",
  title: tour.sum.title,
  claim(scene) {
    const cell = example(scene);
    const lines = cell?.attention.lines ?? [];
    const ops = lines.map((step) => step.op).filter((op) => op !== "same").join(" ");
    if (!cell || !/^scores scale (mask )?softmax$/.test(ops)) return null;
    const value = (op: string): number => {
      const step = lines.filter((one) => one.op === op).at(-1)!;
      const { data, shape } = scene.run.pass.values(step.name);
      const [queries = 0, keys = 0] = shape.slice(-2);
      return data[(cell.head * queries + cell.query) * keys + cell.key]!;
    };
    const factor = Number(lines.find((step) => step.op === "scale")!.settings.factor);
    const width = cell.attention.q ? Number(cell.attention.q.shape.at(-1)) : 0;
    const [rows, columns] = [rowNames(scene, cell.attention), columnNames(scene, cell.attention)];
    const numbers = {
      part: cell.attention.id, head: cell.head, query: cell.query, key: cell.key, row: bare(rows[cell.query]!), column: bare(columns[cell.key]!),
      width, product: value("scores"), divisor: 1 / factor, scaled: value("scale"), share: cell.share,
    };
    const right = Math.abs(numbers.product * factor - numbers.scaled) <= 1e-4 * Math.max(1, Math.abs(numbers.scaled));
    return { holds: right && width > 0, numbers, text: tour.sum.text(numbers), at: { ...placeOf(cell), tap: cell.attention.pattern.name, row: cell.query, column: cell.key } };
  },
};

/** In causal attention: how many pieces a row may read. In the other kind: how much it reads from what comes later. */
const later: Rule = {
  id: "later",
  title: tour.later.title,
  claim(scene) {
    const own = scene.attentions.filter((one) => one.queries === one.keys);
    const causal = own.find((one) => one.causal);
    const attention = causal ?? own[0];
    const columns = attention ? columnNames(scene, attention) : [];
    if (!attention || columns.length < 4) return null;
    const { data, shape } = scene.run.pass.values(attention.pattern.name);
    const [queries = 0, keys = 0] = shape.slice(-2);
    const query = Math.min(2, queries - 2);
    let after = 0;
    for (let key = query + 1; key < keys; key++) after += data[query * keys + key]!;
    const numbers = { part: attention.id, query, row: bare(columns[query] ?? ""), keys, mayRead: query + 1, after, head: 0, causal: causal !== undefined };
    const at = { ...placeOf({ attention, head: 0, query, key: query + 1, share: 0 }) };
    if (!causal) return { holds: after > 0.01, numbers, text: tour.later.both(numbers), at };
    const question = { ask: tour.later.ask(numbers), options: counted(query + 1, keys) };
    return { holds: after === 0, numbers, text: tour.later.text(numbers), question, at };
  },
};

export const READING_RULES = { axis, reads, sum, later };
