// The stream as numbers: how long each piece's vector is, how much each step changes it, and for one answer how its
// probability grows.

import { computed, type ReadonlySignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { lengths } from "../analysis/contributions";
import type { Stream } from "../analysis/graph";
import { shares, through } from "../analysis/lens";
import { logitsAt } from "../analysis/readout";
import type { Tensor } from "../engine/header";
import { largest as best } from "../engine/tensor";
import { pointName } from "../state/adding";
import { applyWith, candidateName, engineOf, output, place, readout, sightOf } from "../state/inside";
import { labelsOf, visible } from "../state/labels";
import { run, stepNamed } from "../state/store";
import { T } from "../state/strings";
import { largest, type Cells } from "./cells";
import { brief, percent } from "./format";
import { Matrix, type Axis } from "./matrix";

export type What = "length" | "change";

interface Props {
  stream: Stream;
  picked: ReadonlySignal<{ point: number; place: number }>;
  onPick(point: number, place: number): void;
}

/** Rows from the last point down to the first. */
function matrixOf(rows: ArrayLike<number>[], top?: number): Cells {
  const columns = rows[0]?.length ?? 1;
  const values = new Float32Array(rows.length * columns);
  rows.forEach((row, i) => { for (let column = 0; column < columns; column++) values[i * columns + column] = row[column]!; });
  return { values, offset: 0, rows: rows.length, columns, signed: false, plain: top === undefined, top: top ?? (largest(values) || 1) };
}

/** How much of a state is new at each place, beside the length of the one before; a backwards layer comes from the end. */
function renewed({ data, shape }: Tensor, backwards: boolean): Float64Array {
  const [rows, width] = shape.slice(-2) as [number, number];
  return Float64Array.from({ length: rows }, (_, row) => {
    const before = backwards ? row + 1 : row - 1;
    let [change, size] = [0, 0];
    for (let i = 0; i < width; i++) {
      const old = before >= 0 && before < rows ? data[before * width + i]! : 0;
      change += (data[row * width + i]! - old) ** 2;
      size += old ** 2;
    }
    return size ? Math.sqrt(change / size) : 1;
  });
}

/** Length of the stream at each point; or the length of what was added, divided by that of what it was added to. */
function numbersOf(stream: Stream, what: What): ArrayLike<number>[] {
  const of = run.value!;
  const points = what === "length" ? stream.points : stream.points.slice(1);
  return points.map((point, i) => {
    if (what === "length") return lengths(of.pass.values(point.step));
    if (!point.added) return renewed(of.pass.values(point.step), (stepNamed(point.step)?.part ?? "").endsWith("backwards"));
    const before = lengths(of.pass.values(stream.points[i]!.step));
    return lengths(of.pass.values(point.added)).map((value, at) => value / (before[at]! || 1));
  }).reverse();
}

export function LengthsOf({ stream, what, picked, onPick }: Props & { what: What }) {
  const skipped = what === "change" ? 1 : 0;
  const last = stream.points.length - 1;
  const cells = useMemo(() => computed(() => matrixOf(numbersOf(stream, what))), [stream, what]);
  const rows = useMemo(() => computed<Axis>(() => ({ name: T.stream.after, labels: stream.points.slice(skipped).map((point) => pointName(point)).reverse() })), [stream, what]);
  const columns = useMemo(() => computed<Axis>(() => {
    const step = stepNamed(stream.points.at(-1)!.step)!;
    return { name: T.stream.reads, labels: labelsOf(step, -2, cells.value.columns) };
  }), [stream, cells]);
  const chosen = useMemo(() => computed(() => ({ row: picked.value.point < 0 ? 0 : last - Math.max(skipped, picked.value.point), column: picked.value.place })), [picked, last, skipped]);
  const say = (row: number, column: number, value: number): string => {
    const [piece, point] = [visible(columns.value.labels[column] ?? ""), rows.value.labels[row] ?? ""];
    return what === "length" ? T.stream.lengthCell(piece, point, brief(value)) : T.stream.changeCell(piece, point, percent(value));
  };
  return <Matrix cells={cells} rows={rows} columns={columns} picked={chosen} onPick={(row, column) => onPick(last - row, column)} title={T.stream.titlePlain} say={say} largest={56} />;
}

const SHOWN = 8; // candidates

/** One place, several points: the probability of each likely answer after every step. */
export function SharesOf({ stream, picked, onPick }: Props) {
  const found = useMemo(() => computed(() => {
    const [of, out, said] = [run.value!, output.value!, readout.value!];
    const engine = engineOf(of)!;
    const end = out.stream.points.at(-1)!.step;
    const all = stream.points.map((point) => {
      const logits = through(sightOf(of), out.tail, end, of.pass.values(point.step), applyWith(engine));
      return shares(logitsAt(logits, said, place.value));
    });
    const ids = best(all.at(-1)!, Math.min(SHOWN, said.candidates));
    return { ids, rows: all.map((row) => ids.map((id) => row[id]!)).reverse() };
  }), [stream]);
  const last = stream.points.length - 1;
  const cells = useMemo(() => computed(() => matrixOf(found.value.rows, 1)), [found]);
  const rows = useMemo(() => computed<Axis>(() => ({ name: T.stream.after, labels: stream.points.map((point) => pointName(point)).reverse() })), [stream]);
  const columns = useMemo(() => computed<Axis>(() => ({ name: T.stream.says, labels: found.value.ids.map((id) => candidateName(id)) })), [found]);
  const chosen = useMemo(() => computed(() => ({ row: picked.value.point < 0 ? 0 : last - picked.value.point, column: 0 })), [picked, last]);
  const say = (row: number, column: number, value: number): string => `${visible(columns.value.labels[column] ?? "")}, ${T.stream.after} “${rows.value.labels[row] ?? ""}”: ${percent(value)}`;
  return <Matrix cells={cells} rows={rows} columns={columns} picked={chosen} onPick={(row) => onPick(last - row, place.peek())} title={T.stream.leadShares} say={say} largest={72} />;
}
