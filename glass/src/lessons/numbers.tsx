// A matrix of the lab, drawn by the matrix of the main page.

import { useSignal } from "@preact/signals";
import type { Tensor } from "../engine/header";
import { cellsOf, type Cells } from "../views/cells";
import { full } from "../views/format";
import { Matrix, type Axis, type Place } from "../views/matrix";

interface NumbersProps {
  title: string;
  values: Tensor;
  rows: readonly string[];
  columns: readonly string[];
  names: readonly [string, string]; // of what rows and columns are
  picked: Place;
  onPick(row: number, column: number): void;
  signed?: boolean;
  top?: number; // the magnitude with the full colour
  hidden?: Cells["hidden"];
  say?(row: number, column: number, value: number): string;
  largest?: number;
  bare?: boolean;
}

export function Numbers(props: NumbersProps) {
  const { values, signed = false, top, hidden, picked } = props;
  const text = props.say ?? ((row: number, column: number, value: number) => `${props.rows[row]}, ${props.columns[column]}: ${full(value)}`);
  const say = (row: number, column: number, value: number): string => (row < 0 || column < 0 ? "" : text(row, column, value));
  const made: Cells = { ...cellsOf({ ...values, signed }, [], top), ...(hidden && { hidden }) };
  const cells = useSignal(made);
  const rows = useSignal<Axis>({ name: props.names[0], labels: props.rows });
  const columns = useSignal<Axis>({ name: props.names[1], labels: props.columns });
  const place = useSignal(picked);
  if (cells.peek().values !== made.values || cells.peek().hidden !== hidden) cells.value = made;
  if (rows.peek().labels.join("\n") !== props.rows.join("\n")) rows.value = { name: props.names[0], labels: props.rows };
  if (columns.peek().labels.join("\n") !== props.columns.join("\n")) columns.value = { name: props.names[1], labels: props.columns };
  if (place.peek().row !== picked.row || place.peek().column !== picked.column) place.value = picked;
  return (
    <Matrix cells={cells} rows={rows} columns={columns} picked={place} onPick={props.onPick} title={props.title}
      say={say} largest={props.largest ?? 64} bare={props.bare ?? true} />
  );
}
