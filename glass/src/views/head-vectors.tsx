// The vectors of one head: query, keys, values, their mixture, and what it adds to the stream.

import { computed, type ReadonlySignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { Step } from "../engine/header";
import type { Attention } from "../state/anatomy";
import { picked } from "../state/selection";
import { run, selectNumber, stepNamed, tensorShown } from "../state/store";
import { T } from "../state/strings";
import { cellsOf, EMPTY, largest, type Cells } from "./cells";
import { brief } from "./format";
import type { Axis } from "./matrix";
import { Rotation } from "./rotation";
import { Strip } from "./strip";
import { WithPieces } from "./tokens";

const TALLEST = 300; // CSS pixels of all rows together

/** The part of a step that a head uses: with fewer key heads than query heads, several share one. */
function leadOf(step: Step, heads: number): number[] {
  const groups = Number(step.shape[0]);
  return step.axes[0] === "head" ? [Math.floor((Math.min(picked.head.value, heads - 1) * groups) / heads)] : [];
}

/** All rows of a step for the selected head, or one row. */
function useCells(step: Step | undefined, heads: number, row?: ReadonlySignal<number>): ReadonlySignal<Cells> {
  return useMemo(() => computed(() => {
    const shown = step && tensorShown(step.name);
    if (!step || !shown) return EMPTY;
    const all = cellsOf({ ...shown, signed: true }, leadOf(step, heads));
    if (!row) return all;
    const offset = all.offset + Math.min(row.value, all.rows - 1) * all.columns;
    return { ...all, offset, rows: 1, top: largest(all.values, offset, all.columns) || 1 };
  }), [step, heads, row]);
}

interface VectorProps {
  step: Step | undefined;
  one: Attention;
  row?: ReadonlySignal<number>; // only this row
  framed?: ReadonlySignal<number>; // all rows, this one framed
  title: string;
  note: string;
  colour?: string;
}

function Vectors({ step, one, row, framed, title, note, colour }: VectorProps) {
  const cells = useCells(step, one.heads, row);
  const at = useMemo(() => computed(() => ({ row: framed?.value ?? 0, column: step && picked.tap.value === step.name ? picked.column.value : -1 })), [step, framed]);
  if (!step) return null;
  const data = cells.value;
  const onPick = (line: number, column: number) => selectNumber(step.name, [...leadOf(step, one.heads), row ? Math.min(row.peek(), Number.MAX_SAFE_INTEGER) : line, column]);
  return (
    <div class="vectors">
      <h4 class={colour}><WithPieces text={title} /><small><WithPieces text={note} /></small></h4>
      <Strip cells={cells} title={title} picked={at} onPick={onPick} tall={data.rows === 1 ? 18 : Math.min(11, TALLEST / data.rows)} wide={data.columns > 64 ? 4 : 8} />
    </div>
  );
}

function lengthOf(cells: Cells): number {
  let sum = 0;
  for (let i = 0; i < cells.columns; i++) sum += (cells.values[cells.offset + i] ?? 0) ** 2;
  return Math.sqrt(sum);
}

export function HeadVectors({ one, rows, columns }: { one: Attention; rows: { value: Axis }; columns: { value: Axis } }) {
  const result = useCells(one.result, one.heads, picked.query);
  const words = T.head;
  const [query, key] = [rows.value.labels[picked.query.value] ?? "", columns.value.labels[picked.key.value] ?? ""];
  const shape = (step?: Step) => (step && run.value?.pass.has(step.name) ? run.value.pass.values(step.name).shape : [0, 0]);
  const [count = 0, width = 0] = shape(one.k).slice(-2);
  const groups = Number(one.k?.shape[0] ?? one.heads);
  if (!one.z) return null;
  return (
    <section class="panel">
      <h3>{words.vectors}{groups < one.heads && <small>{words.shared(one.heads / groups)}</small>}</h3>
      <div class="row">
        <div>
          <Vectors step={one.q} one={one} row={picked.query} title={words.query(query)} note={`1 × ${width}`} colour="q" />
          <Vectors step={one.k} one={one} framed={picked.key} title={words.keys} note={words.keysNote(count, width, key)} colour="k" />
        </div>
        <div>
          <Vectors step={one.v} one={one} framed={picked.key} title={words.values} note={words.valuesNote(count, shape(one.v).at(-1) ?? 0)} colour="v" />
          <Vectors step={one.z} one={one} row={picked.query} title={words.mixture} note={words.mixtureNote} />
        </div>
      </div>
      <Vectors step={one.result} one={one} row={picked.query} title={words.result(shape(one.result).at(-1) ?? 0)} note={words.resultNote(brief(lengthOf(result.value)))} />
      {one.q && stepNamed(one.q.name)?.op === "rotate" && <Rotation one={one} />}
    </section>
  );
}
