// A matrix as coloured cells: what every canvas of numbers draws with.

import type { Tensor } from "../engine/header";
import type { Palette, Scale } from "./palette";

export const OPEN = 0; // nothing is hidden
export const FUTURE = 1; // hidden because it comes later
export const PADDING = 2; // hidden because it is padding

/** A matrix in a longer row of numbers. */
export interface Cells {
  values: ArrayLike<number>;
  offset: number; // where its first number is
  rows: number;
  columns: number;
  signed: boolean; // zero in the middle of the scale, or none to full
  plain?: boolean; // neither signed nor shares: lengths, counts
  top: number; // the magnitude that has the full colour
  hidden?: (row: number, column: number) => number; // OPEN, FUTURE or PADDING
}

/** One cell with 0: while there is nothing to show. */
export const EMPTY: Cells = { values: [0], offset: 0, rows: 1, columns: 1, signed: false, top: 1 };

export function at(cells: Cells, row: number, column: number): number {
  return cells.values[cells.offset + row * cells.columns + column]!;
}

/** The largest finite magnitude. */
export function largest(values: ArrayLike<number>, offset = 0, count = values.length - offset): number {
  let top = 0;
  for (let i = offset; i < offset + count; i++) {
    const size = Math.abs(values[i]!);
    if (size > top && size < Infinity) top = size;
  }
  return top;
}

/** The matrix of the last two axes at the given leading index; a vector is one row. */
export function cellsOf(tensor: Tensor & { signed: boolean }, lead: readonly number[] = [], top?: number): Cells {
  const columns = tensor.shape.at(-1) ?? 1;
  const rows = tensor.shape.length > 1 ? tensor.shape.at(-2)! : 1;
  let place = 0;
  for (const [axis, index] of lead.entries()) place = place * tensor.shape[axis]! + index;
  const offset = place * rows * columns;
  const full = top ?? (tensor.signed ? largest(tensor.data, offset, rows * columns) : 1);
  return { values: tensor.data, offset, rows, columns, signed: tensor.signed, top: full || 1 };
}

/** The scale of a value and its place on it, 0 to 255. */
export function shade(value: number, cells: Cells, colours: Palette): [Scale, number] {
  const scale = cells.signed ? (value < 0 ? colours.minus : colours.plus) : colours.share;
  const share = Math.min(1, Math.abs(value) / cells.top);
  return [scale, Number.isFinite(share) ? Math.round(share * 255) : 0];
}

function hatch(context: CanvasRenderingContext2D, kind: number, colour: string): CanvasPattern | null {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const pen = tile.getContext("2d")!;
  pen.strokeStyle = colour;
  pen.lineWidth = 1;
  pen.beginPath();
  if (kind === FUTURE) for (const x of [-3, 3, 9]) { pen.moveTo(x - 4, 7); pen.lineTo(x + 4, -1); }
  else { pen.moveTo(0, 1.5); pen.lineTo(6, 1.5); pen.moveTo(1.5, 0); pen.lineTo(1.5, 6); }
  pen.stroke();
  return context.createPattern(tile, "repeat");
}

/** All cells as one picture; where several share a pixel, the strongest is shown. */
function drawPixels(context: CanvasRenderingContext2D, cells: Cells, width: number, height: number, colours: Palette): void {
  const across = Math.max(1, Math.min(cells.columns, Math.round(width * devicePixelRatio)));
  const down = Math.max(1, Math.min(cells.rows, Math.round(height * devicePixelRatio)));
  const picture = new ImageData(across, down);
  const strongest = new Float32Array(across * down);
  for (let row = 0; row < cells.rows; row++) {
    const line = Math.floor((row * down) / cells.rows) * across;
    for (let column = 0; column < cells.columns; column++) {
      const pixel = line + Math.floor((column * across) / cells.columns);
      const value = at(cells, row, column);
      if (Math.abs(value) > Math.abs(strongest[pixel]!) && Number.isFinite(value)) strongest[pixel] = value;
    }
  }
  for (let pixel = 0; pixel < strongest.length; pixel++) {
    const [scale, step] = shade(strongest[pixel]!, cells, colours);
    for (let i = 0; i < 3; i++) picture.data[pixel * 4 + i] = scale.rgb[step * 3 + i]!;
    picture.data[pixel * 4 + 3] = 255;
  }
  const small = document.createElement("canvas");
  [small.width, small.height] = [across, down];
  small.getContext("2d")!.putImageData(picture, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(small, 0, 0, width, height);
}

function drawHidden(context: CanvasRenderingContext2D, cells: Cells, width: number, height: number, colours: Palette): void {
  if (!cells.hidden) return;
  const [across, down] = [width / cells.columns, height / cells.rows];
  for (const kind of [FUTURE, PADDING]) {
    context.beginPath();
    for (let row = 0; row < cells.rows; row++) {
      for (let from = 0; from < cells.columns; from++) {
        let to = from;
        while (to < cells.columns && cells.hidden(row, to) === kind) to++;
        if (to > from) context.rect(from * across, row * down, (to - from) * across, down);
        from = to;
      }
    }
    context.fillStyle = colours.paper;
    context.fill();
    context.fillStyle = hatch(context, kind, colours.hatch) ?? colours.hatch;
    context.fill();
  }
}

/** A number in a cell: shares in hundredths without the point, others with two digits. */
export function short(value: number, { signed, plain }: Pick<Cells, "signed" | "plain">): string {
  if (!Number.isFinite(value)) return "";
  if (!signed && !plain) return value < 0.005 ? "" : value > 0.995 ? "1" : `.${String(Math.round(value * 100)).padStart(2, "0")}`;
  const size = Math.abs(value);
  const digits = size >= 10 ? 0 : size >= 1 ? 1 : 2;
  if (size === 0) return "";
  return size < 0.005 ? "0" : value.toFixed(digits).replace(/^(-?)0\./, "$1.").replace("-", "−");
}

function drawNumbers(context: CanvasRenderingContext2D, cells: Cells, width: number, height: number, colours: Palette): void {
  const [across, down] = [width / cells.columns, height / cells.rows];
  context.font = `${Math.min(11.5, across / 2.6).toFixed(1)}px system-ui, sans-serif`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (let row = 0; row < cells.rows; row++) {
    for (let column = 0; column < cells.columns; column++) {
      if (cells.hidden?.(row, column)) continue;
      const value = at(cells, row, column);
      const [scale, step] = shade(value, cells, colours);
      context.fillStyle = scale.text[step]!;
      const text = short(value, cells);
      if (text) context.fillText(text, (column + 0.5) * across, (row + 0.5) * down + 0.5);
    }
  }
}

const NUMBERS_FROM = 25; // CSS pixels: cells at least this wide have their number
const GAPS_FROM = 9; // cells at least this wide are drawn apart

/** Draws all cells into a box of width x height. */
export function drawCells(context: CanvasRenderingContext2D, cells: Cells, width: number, height: number, colours: Palette, numbers = true): void {
  drawPixels(context, cells, width, height, colours);
  drawHidden(context, cells, width, height, colours);
  const [across, down] = [width / cells.columns, height / cells.rows];
  if (Math.min(across, down) >= GAPS_FROM) {
    context.fillStyle = colours.paper;
    for (let column = 1; column < cells.columns; column++) context.fillRect(column * across - 0.5, 0, 1, height);
    for (let row = 1; row < cells.rows; row++) context.fillRect(0, row * down - 0.5, width, 1);
  }
  if (numbers && across >= NUMBERS_FROM && down >= 13) drawNumbers(context, cells, width, height, colours);
}

/** The selected row framed in ink, the selected cell in the colour of the selection. */
export function drawPicked(
  context: CanvasRenderingContext2D, cells: Cells, width: number, height: number, colours: Palette, picked: { row: number; column: number },
): void {
  const [across, down] = [width / cells.columns, height / cells.rows];
  const tall = Math.max(down, 3);
  context.lineWidth = 1.5;
  context.strokeStyle = colours.ink;
  if (picked.row >= 0 && picked.row < cells.rows && cells.rows > 1) {
    context.strokeRect(0.75, picked.row * down + 0.25, width - 1.5, Math.max(tall - 0.5, 2));
  }
  if (picked.column < 0 || picked.column >= cells.columns) return;
  const line = Math.min(2.5, Math.max(1.5, across / 6));
  context.lineWidth = line;
  context.strokeStyle = colours.pick;
  const wide = Math.max(across, 4);
  const left = Math.max(line / 2, Math.min(width - wide + line / 2, picked.column * across + line / 2));
  const top = Math.max(0, picked.row) * down + line / 2;
  context.strokeRect(left, top, wide - line, Math.max(tall - line, 2));
}
