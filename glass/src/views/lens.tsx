// One row of a long matrix: its strongest entries as bars, and the rest in one line.

import type { ReadonlySignal } from "@preact/signals";
import { frame as T } from "../state/strings/frame";
import { spoken } from "../state/visible";
import { at, shade, type Cells } from "./cells";
import { brief, percent } from "./format";
import { palette } from "./palette";
import type { Axis, Place } from "./matrix";
import { Piece, WithPieces } from "./tokens";

interface LensProps {
  cells: ReadonlySignal<Cells>;
  labels: ReadonlySignal<Axis>;
  row: ReadonlySignal<Axis>;
  picked: ReadonlySignal<Place>;
  onPick(row: number, column: number): void;
  most?: number;
}

/** The columns of a row with the largest magnitudes, largest first. */
export function strongest(cells: Cells, row: number, most: number): number[] {
  const columns = Array.from({ length: cells.columns }, (_, column) => column).filter((column) => !cells.hidden?.(row, column));
  const size = (column: number) => Math.abs(at(cells, row, column));
  return columns.sort((a, b) => size(b) - size(a)).slice(0, most);
}

export function RowLens({ cells, labels, row, picked, onPick, most = 12 }: LensProps) {
  const data = cells.value;
  const { row: line, column } = picked.value;
  if (line >= data.rows) return null;
  const shown = strongest(data, line, most);
  if (!shown.includes(column)) shown.push(column);
  let rest = 0;
  for (let i = 0; i < data.columns; i++) if (!shown.includes(i) && !data.hidden?.(line, i)) rest += at(data, line, i);
  const text = data.signed ? brief : percent;
  const colours = palette.value;
  return (
    <table class="lens">
      <caption class="sr"><WithPieces text={T.matrix.rowLens(spoken(row.value.labels[line] ?? ""))} /></caption>
      <tbody>
        {shown.map((i) => {
          const value = at(data, line, i);
          const [scale, step] = colours ? shade(value, data, colours) : [null, 0];
          return (
            <tr key={i} data-on={i === column ? "" : undefined}>
              <td class="num note">{/\d/.test(labels.value.labels[i] ?? "") ? "" : i + 1}</td>
              <td><button type="button" class="plain" onClick={() => onPick(line, i)}><Piece text={labels.value.labels[i] ?? ""} /></button></td>
              <td class="num">{text(value)}</td>
              <td class="bar"><i style={{ width: `${Math.min(100, (100 * Math.abs(value)) / data.top)}%`, background: scale?.css[Math.max(step, 110)] }} /></td>
            </tr>
          );
        })}
        {data.columns > shown.length && <tr><td /><td class="note">{T.matrix.rest(data.columns - shown.length)}</td><td class="num">{text(rest)}</td><td /></tr>}
      </tbody>
    </table>
  );
}
