// The selected head's pattern by pieces, by words or over the image; and what reaches each piece through all layers.

import { computed, signal, type ReadonlySignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { HeadPlace } from "../analysis/knockouts";
import { rollout, type Flow, type Layer } from "../analysis/rollout";
import { byWords, groupsOf, named, type Group } from "../analysis/words";
import type { Attention } from "../state/anatomy";
import { keyAt, tags } from "../state/headfacts";
import { tokensBefore } from "../state/image";
import { isPatch, labelsOf, numbered, visible } from "../state/labels";
import { picked, select } from "../state/selection";
import { attentions, run, selectNumber, stepNamed } from "../state/store";
import { T } from "../state/strings";
import { EMPTY, largest, type Cells } from "./cells";
import { percent } from "./format";
import { patternCells } from "./head";
import { nameOfHead } from "./heads-map";
import { longTag } from "./tagnames";
import { Matrix, type Axis } from "./matrix";
import { Overlay } from "./overlay";
import { Piece } from "./tokens";

const inWords = signal(false);

interface Side {
  labels: readonly string[];
  groups: Group[];
}

/** The pieces of one axis, and which of them are one word. Rows that write are grouped by what they write. */
function sideOf(one: Attention, axis: -1 | -2, length: number): Side {
  const labels = labelsOf(one.pattern, axis, length);
  const sequence = axis === -1 ? one.keys : one.queries;
  const words = run.value?.words[sequence];
  const writes = axis === -2 && labels === run.value?.written?.pieces;
  if (!words || words.length !== length || writes) return { labels, groups: writes ? bySpaces(labels) : labels.map((_, at) => ({ begin: at, end: at + 1 })) };
  return { labels, groups: groupsOf(words) };
}

/** Words of written pieces: each begins with a space; punctuation is a word of its own. */
function bySpaces(pieces: readonly string[]): Group[] {
  let word = -1;
  const numbers = pieces.map((piece, at) => {
    if (/^[‹<[]/.test(piece) || /^[▁␣ ]?\p{P}+$/u.test(piece)) return -1;
    if (at === 0 || /^[▁␣ ]/.test(piece)) word++;
    return word;
  });
  return groupsOf(numbers);
}

interface Shown {
  cells: Cells;
  rows: Side;
  columns: Side;
}

function shownOf(one: Attention, head: number): Shown {
  const cells = patternCells(one, head) ?? EMPTY;
  return { cells, rows: sideOf(one, -2, cells.rows), columns: sideOf(one, -1, cells.columns) };
}

function grouped({ cells, rows, columns }: Shown): Cells {
  const whole = Array.from({ length: cells.rows * cells.columns }, (_, i) => cells.values[cells.offset + i]!);
  const values = byWords(whole, cells.columns, rows.groups, columns.groups);
  return { values, offset: 0, rows: rows.groups.length, columns: columns.groups.length, signed: cells.signed, top: cells.signed ? largest(values) || 1 : 1 };
}

function groupAt(groups: Group[], at: number): number {
  return Math.max(0, groups.findIndex(({ begin, end }) => at >= begin && at < end));
}

function Facts({ at }: { at: HeadPlace }) {
  const found = tags.value.get(keyAt(at));
  return <h3>{T.heads.pattern(nameOfHead(at))}{found && <small>{T.heads.patternNote(found.sharpness.toFixed(2), found.entropy.toFixed(1), longTag(found.looks))}</small>}</h3>;
}

export function HeadPattern({ one, at }: { one: Attention; at: HeadPlace }) {
  const shown = useMemo(() => computed(() => shownOf(one, at.head)), [one, at.head]);
  const cells = useMemo(() => computed(() => (inWords.value ? grouped(shown.value) : shown.value.cells)), [shown]);
  const axis = (side: "rows" | "columns", name: string): ReadonlySignal<Axis> => computed(() => {
    const { labels, groups } = shown.value[side];
    return { name, labels: inWords.value ? named(groups, labels) : labels };
  });
  const rows = useMemo(() => axis("rows", T.heads.reads), [shown]);
  const columns = useMemo(() => axis("columns", T.heads.isRead), [shown]);
  const where = useMemo(() => computed(() => {
    const [query, key] = [picked.query.value, picked.key.value];
    return inWords.value ? { row: groupAt(shown.value.rows.groups, query), column: groupAt(shown.value.columns.groups, key) } : { row: query, column: key };
  }), [shown]);
  const pick = (row: number, column: number): void => {
    const { rows: r, columns: c } = shown.peek();
    const [query, key] = inWords.peek() ? [r.groups[row]!.begin, c.groups[column]!.begin] : [row, column];
    selectNumber(one.pattern.name, one.pattern.axes[0] === "head" ? [at.head, query, key] : [query, key]);
  };
  const say = (row: number, column: number, value: number): string => T.heads.cell(visible(rows.value.labels[row] ?? ""), visible(columns.value.labels[column] ?? ""), percent(value));
  const hasWords = shown.value.rows.groups.length < shown.value.rows.labels.length || shown.value.columns.groups.length < shown.value.columns.labels.length;
  const button = (on: boolean, text: string) => <button type="button" aria-pressed={inWords.value === on} onClick={() => { inWords.value = on; }}>{text}</button>;
  const before = cells.value.signed ? null : tokensBefore(shown.value.cells.columns);
  return (
    <>
      <Facts at={at} />
      {before !== null && <HeadOverlay shown={shown} before={before} pick={pick} />}
      {hasWords && <div class="group controls" role="group" aria-label={T.heads.unit}>{button(false, T.heads.pieces)}{button(true, T.heads.words)}</div>}
      {!(before !== null && isPatch(shown.value.rows.labels[0] ?? "")) && <Matrix cells={cells} rows={rows} columns={columns} picked={where} onPick={pick} title={T.heads.pattern(nameOfHead(at))} say={say} />}
      <p><a class="inside" href="#head" onClick={(event) => { event.preventDefault(); select({ view: "head" }); }}>{T.heads.open}</a></p>
    </>
  );
}

/** The selected row over the image, and the rows to choose from. */
function HeadOverlay({ shown, before, pick }: { shown: ReadonlySignal<Shown>; before: number; pick(row: number, column: number): void }) {
  const row = useMemo(() => computed(() => Math.min(shown.value.cells.rows - 1, picked.query.value)), [shown]);
  const shares = useMemo(() => computed(() => {
    const { cells } = shown.value;
    return Array.from({ length: cells.columns - before }, (_, i) => cells.values[cells.offset + row.value * cells.columns + before + i]!);
  }), [shown, before]);
  const patch = useMemo(() => computed(() => picked.key.value - before), [before]);
  const labels = shown.value.rows.labels;
  const own = isPatch(labels[0] ?? "");
  const nameOf = (at: number): string => labels[at] ?? "";
  const choices = own ? [...new Set([0, row.value, picked.key.value])] : labels.map((_, at) => at).slice(0, 64);
  return (
    <div class="overlaid">
      <div class="controls">{choices.map((at) => <button type="button" key={at} aria-pressed={row.value === at} onClick={() => pick(at, picked.key.peek())}><Piece text={nameOf(at)} /></button>)}</div>
      <Overlay shares={shares} picked={patch} onPick={(at) => pick(row.peek(), at + before)} label={T.heads.overlay(nameOf(row.value))} />
      <p class="note">{T.heads.overlay(nameOf(row.value))}. {percent(shares.value.reduce((sum, share) => sum + share, 0))}</p>
    </div>
  );
}

// --- Rollout --------------------------------------------------------------------------------------------------------------

function layersOf(stack: string): { layers: Layer[]; own: Attention | undefined; cross: Attention | undefined } {
  const all = attentions.value.filter((one) => one.stack === stack);
  const layers = all.map((one): Layer => ({ pattern: run.value!.pass.values(one.pattern.name).data, heads: one.heads, cross: one.kind.includes("cross") }));
  return { layers, own: all.find((one) => !one.kind.includes("cross")), cross: all.find((one) => one.kind.includes("cross")) };
}

const flows = new WeakMap<object, Map<string, Flow>>();

/** The flow into a stack: for one that reads another, through both. */
function flowOf(stack: string): Flow | null {
  const of = run.value;
  if (!of) return null;
  const known = flows.get(of) ?? new Map<string, Flow>();
  flows.set(of, known);
  if (known.has(stack)) return known.get(stack)!;
  const { layers, own, cross } = layersOf(stack);
  if (!own) return null;
  const rows = of.pass.values(own.pattern.name).shape.at(-1)!;
  const other = cross && [...new Set(attentions.value.map((one) => one.stack))].find((one) => one !== stack);
  const memory = other === undefined ? null : flowOf(other);
  const found = rollout(layers, rows, memory ? { flow: memory.own, size: memory.rows } : undefined);
  known.set(stack, found);
  return found;
}

export function Rollout({ stack }: { stack: string }) {
  const flow = flowOf(stack);
  const { own, cross } = layersOf(stack);
  const read = flow?.other.length ? cross : own;
  const values = flow?.other.length ? flow.other : flow?.own;
  const made = useMemo(() => {
    if (!flow || !read || !values) return null;
    const columns = values.length / flow.rows;
    const cells: Cells = { values, offset: 0, rows: flow.rows, columns, signed: false, top: largest(values) || 1 };
    const labels = (axis: -1 | -2, count: number): readonly string[] => (stepNamed(read.pattern.name) ? labelsOf(read.pattern, axis, count) : numbered(count));
    return { cells: signal(cells), rows: signal<Axis>({ name: T.heads.reads, labels: labels(-2, flow.rows) }), columns: signal<Axis>({ name: T.heads.from, labels: labels(-1, columns) }) };
  }, [flow, read]);
  const at = useMemo(() => computed(() => ({ row: picked.query.value, column: picked.key.value })), []);
  if (!made) return null;
  const say = (row: number, column: number, value: number): string => T.heads.rolloutCell(visible(made.rows.value.labels[row] ?? ""), visible(made.columns.value.labels[column] ?? ""), percent(value));
  return (
    <>
      <h3>{T.heads.rolloutTitle(stack)}</h3>
      <p class="note">{T.heads.rolloutNote}</p>
      <Matrix cells={made.cells} rows={made.rows} columns={made.columns} picked={at} onPick={(query, key) => select({ query, key })} title={T.heads.rolloutTitle(stack)} say={say} />
    </>
  );
}
