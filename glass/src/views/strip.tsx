// Vectors as strips of cells, one under the other, without names.

import type { ReadonlySignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { frame as T } from "../state/strings/frame";
import { Canvas } from "./canvas";
import { at, drawCells, drawPicked, type Cells } from "./cells";
import { full } from "./format";
import type { Palette } from "./palette";
import type { Place } from "./matrix";

interface StripProps {
  cells: ReadonlySignal<Cells>;
  title: string;
  picked?: ReadonlySignal<Place>; // column -1: the row alone is framed
  onPick?(row: number, column: number): void;
  tall?: number; // CSS pixels of a row
  wide?: number; // of a cell, at most
}

/** How to say one number of a vector: its place and value. */
function saying(cells: Cells, place: Place): string {
  return T.matrix.cell(String(place.row + 1), String(place.column + 1), full(at(cells, place.row, place.column)));
}

export function Strip({ cells, title, picked, onPick, tall = 14, wide = 8 }: StripProps) {
  type Pen = CanvasRenderingContext2D;
  const all = useMemo(() => (pen: Pen, w: number, h: number, p: Palette) => drawCells(pen, cells.value, w, h, p, false), [cells]);
  const frame = useMemo(() => (pen: Pen, w: number, h: number, p: Palette) => picked && drawPicked(pen, cells.value, w, h, p, picked.value), [cells, picked]);
  const data = cells.value;
  const style = { width: `${data.columns * wide}px`, height: `${data.rows * tall}px`, cursor: onPick ? "crosshair" : undefined };
  const click = (event: MouseEvent) => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const part = (value: number, count: number) => Math.max(0, Math.min(count - 1, Math.floor(value * count)));
    onPick?.(part((event.clientY - box.top) / box.height, data.rows), part((event.clientX - box.left) / box.width, data.columns));
  };
  const key = (event: KeyboardEvent) => {
    const by: Record<string, [number, number]> = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    const move = by[event.key];
    if (!move || !onPick) return;
    event.preventDefault();
    const now = picked?.peek() ?? { row: 0, column: 0 };
    onPick(Math.max(0, Math.min(data.rows - 1, now.row + move[0])), Math.max(0, Math.min(data.columns - 1, Math.max(0, now.column) + move[1])));
  };
  const where = picked && picked.value.column >= 0 && picked.value.row < data.rows ? `. ${saying(data, picked.value)}` : "";
  return (
    <div class="strip" style={style} tabIndex={onPick ? 0 : undefined} role={onPick ? "application" : "img"}
      aria-roledescription={onPick ? "vector" : undefined} aria-label={`${title}, ${data.rows} × ${data.columns}${where}`} onClick={onPick ? click : undefined} onKeyDown={onPick ? key : undefined}>
      <Canvas draw={all} over={picked && (frame as typeof all)} />
    </div>
  );
}
