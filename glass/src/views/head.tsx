// View 3, one head: its pattern, one row of it step by step, its vectors, and what it is worth.

import { computed } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { Attention } from "../state/anatomy";
import { tokensBefore } from "../state/image";
import { labelsOf, spoken } from "../state/labels";
import { picked, select } from "../state/selection";
import { attention, attentions, hasPatch, otherPieces, run, selectNumber, showing, source, tensorShown } from "../state/store";
import { T } from "../state/strings";
import { keyOf, withoutHead, worths } from "../state/worth";
import { cellsOf, EMPTY, FUTURE, largest, OPEN, PADDING, type Cells } from "./cells";
import { loss, percent } from "./format";
import { Gates } from "./gates";
import { HeadVectors } from "./head-vectors";
import { Matrix, type Axis } from "./matrix";
import { Overlay } from "./overlay";
import { RowLines } from "./row-lines";
import { Thumbs } from "./thumbs";
import { WithPieces } from "./tokens";
import { WorthPanel } from "./worth";

/** The cells of one head's pattern, with what the mask hides. */
export function patternCells(one: Attention, head: number): Cells | null {
  const shown = tensorShown(one.pattern.name);
  if (!shown) return null;
  const cells = cellsOf(shown, shown.shape.length > 2 ? [Math.min(head, one.heads - 1)] : []);
  const before = one.lines.at(-2);
  const scores = before && run.value?.pass.values(before.name).data;
  if (!scores || shown.which === "B-A") return cells;
  const hidden = (row: number, column: number) => {
    if (scores[cells.offset + row * cells.columns + column] !== -Infinity) return OPEN;
    return one.causal && column > row ? FUTURE : PADDING;
  };
  return { ...cells, hidden };
}

/** Labels of the attention's rows and columns. */
function useAxes(one: Attention) {
  return useMemo(() => {
    const axis = (at: -1 | -2, name: string) => computed<Axis>(() => {
      const shape = run.value?.pass.values(one.pattern.name).shape;
      return { name, labels: shape ? labelsOf(one.pattern, at, shape.at(at)!) : [] };
    });
    return { rows: axis(-2, T.head.reads), columns: axis(-1, T.head.isRead) };
  }, [one]);
}

function Chooser({ now }: { now: Attention }) {
  const all = attentions.value;
  const kinds = all.filter((one, i) => all.findIndex((other) => other.stack === one.stack && other.kind === one.kind) === i);
  const layers = all.filter((one) => one.stack === now.stack && one.kind === now.kind);
  const go = (one: Attention) => select({ stack: one.stack, kind: one.kind, layer: one.layer, tap: "" });
  return (
    <div class="controls">
      {kinds.length > 1 && (
        <div class="group" role="group" aria-label={T.head.kinds}>
          {kinds.map((one) => <button type="button" key={one.id} aria-pressed={one.stack === now.stack && one.kind === now.kind} onClick={() => go(all.find((other) => other.stack === one.stack && other.kind === one.kind && other.layer === now.layer) ?? one)}>{T.head.kind(one.stack, one.kind)}</button>)}
        </div>
      )}
      {layers.length > 1 && layers.length <= 8 && (
        <div class="group" role="group" aria-label={T.head.blocks}>
          {layers.map((one) => <button type="button" key={one.id} aria-pressed={one.layer === now.layer} onClick={() => go(one)}>{T.head.block(one.layer + 1)}</button>)}
        </div>
      )}
      {layers.length > 8 && (
        <select aria-label={T.head.blocks} value={now.layer} onChange={(event) => go(layers.find((one) => one.layer === Number(event.currentTarget.value))!)}>
          {layers.map((one) => <option key={one.id} value={one.layer}>{T.head.block(one.layer + 1)}</option>)}
        </select>
      )}
    </div>
  );
}

function HeadThumbs({ one }: { one: Attention }) {
  const items = useMemo(() => Array.from({ length: one.heads }, (_, head) => ({
    name: T.head.head(head + 1),
    note: !source.peek()?.live ? undefined : computed(() => { const worth = worths.value.get(keyOf(one, head)); return worth ? T.head.note(loss(worth.loss)) : "\u00a0"; }),
    cells: computed(() => patternCells(one, head) ?? EMPTY),
  })), [one]);
  const marked = items.map((item, head) => { const patch = withoutHead(one, head); return { ...item, patched: patch !== null && hasPatch(patch) }; });
  return <Thumbs items={marked} chosen={Math.min(picked.head.value, one.heads - 1)} label={T.head.heads} onChoose={(head) => select({ head, tap: "" })} />;
}

/** One cell in words. */
function saying(one: Attention, rows: { value: Axis }, columns: { value: Axis }): (row: number, column: number, value: number) => string {
  return (row, column, value) => {
    const [query, key] = [spoken(rows.value.labels[row] ?? ""), spoken(columns.value.labels[column] ?? "")];
    if (showing.value !== "B-A") return T.head.cell(query, key, percent(value));
    const change = percent(Math.abs(value));
    const index = one.pattern.shape.length > 2 ? [0, row, column] : [row, column];
    return (otherPieces(one.pattern, index) ? T.head.cellOther : T.head.cellMinus)(query, key, value < 0 ? T.head.less(change) : T.head.more(change));
  };
}

function Pattern({ one, rows, columns }: { one: Attention; rows: { value: Axis }; columns: { value: Axis } }) {
  const head = computed(() => Math.min(picked.head.value, one.heads - 1));
  const cells = useMemo(() => computed(() => patternCells(one, head.value) ?? EMPTY), [one]);
  const same = useMemo(() => computed(() => largest(cells.value.values, cells.value.offset, cells.value.rows * cells.value.columns) === 0), [cells]);
  const at = useMemo(() => computed(() => ({ row: picked.query.value, column: picked.key.value })), [one]);
  const onPick = (row: number, column: number) => selectNumber(one.pattern.name, one.heads > 1 || one.pattern.shape.length > 2 ? [head.value, row, column] : [row, column]);
  const title = `${T.head.kind(one.stack, one.kind)} ${one.layer + 1}.${head.value + 1}`;
  return (
    <section class="panel">
      <h3>{T.head.pattern}<small>{showing.value !== "B-A" ? T.head.patternNote : same.value ? T.head.minusNone : T.head.minusNote}</small></h3>
      <Matrix cells={cells} rows={rows as never} columns={columns as never} picked={at} onPick={onPick} title={title} say={saying(one, rows, columns)} />
    </section>
  );
}

/** Where the keys are patches of an image: the selected row over the image. */
function OverImage({ one, rows }: { one: Attention; rows: { value: Axis } }) {
  const cells = useMemo(() => computed(() => patternCells(one, picked.head.value) ?? EMPTY), [one]);
  const before = tokensBefore(cells.value.columns);
  const row = useMemo(() => computed(() => Math.min(cells.value.rows - 1, picked.query.value)), [cells]);
  const shares = useMemo(() => computed(() => {
    const { values, offset, columns } = cells.value;
    return Array.from({ length: columns - (before ?? 0) }, (_, i) => values[offset + row.value * columns + (before ?? 0) + i]!);
  }), [cells, before]);
  const patch = useMemo(() => computed(() => picked.key.value - (before ?? 0)), [before]);
  if (before === null) return null;
  const query = spoken(rows.value.labels[row.value] ?? "");
  const onPick = (at: number) => selectNumber(one.pattern.name, [Math.min(picked.head.peek(), one.heads - 1), row.peek(), at + before]);
  return (
    <section class="panel overimage">
      <h3><WithPieces text={T.head.overImage(query)} /><small>{T.head.overImageNote}</small></h3>
      <Overlay shares={shares} picked={patch} onPick={onPick} label={T.head.overImage(query)} />
    </section>
  );
}

function Title({ rows, columns }: { rows: { value: Axis }; columns: { value: Axis } }) {
  const query = rows.value.labels[Math.min(picked.query.value, rows.value.labels.length - 1)] ?? "";
  const key = columns.value.labels[Math.min(picked.key.value, columns.value.labels.length - 1)] ?? "";
  return <h2><WithPieces text={T.head.title(query, key)} /></h2>;
}

function OneHead({ one }: { one: Attention }) {
  const { rows, columns } = useAxes(one);
  return (
    <>
      <Title rows={rows} columns={columns} />
      <Chooser now={one} />
      <HeadThumbs one={one} />
      <div class={`row headrow ${columns.value.labels.length > 12 ? "many" : ""} ${tokensBefore(columns.value.labels.length) === null ? "" : "image"}`}>
        <OverImage one={one} rows={rows} />
        <Pattern one={one} rows={rows} columns={columns} />
        <WorthPanel one={one} />
      </div>
      <RowLines one={one} rows={rows} columns={columns} />
      <HeadVectors one={one} rows={rows} columns={columns} />
    </>
  );
}

export function Head() {
  const one = attention.value;
  return one ? <OneHead one={one} key={one.id} /> : <Gates />;
}
