// A panel as a file: a list of rectangles and texts becomes SVG or PNG, numbers become CSV or NPY.

import { at, shade, short, type Cells } from "./cells";
import { palette, type Palette } from "./palette";
import { visible } from "../state/visible";

interface Mark {
  x: number;
  y: number;
  fill: string;
  width?: number;
  height?: number;
  text?: string;
  anchor?: "start" | "middle" | "end";
  turned?: number; // degrees
  size?: number;
}

export interface Picture {
  width: number;
  height: number;
  marks: Mark[];
}

const SVG = "http://www.w3.org/2000/svg";

/** Offers a file for download. */
export function save(name: string, content: BlobPart, type: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name.replace(/[^\w.-]+/g, "-");
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function attribute(node: Element, values: Record<string, string | number>): void {
  for (const [name, value] of Object.entries(values)) node.setAttribute(name, String(value));
}

function svgOf(picture: Picture, background: string): string {
  const root = document.createElementNS(SVG, "svg");
  attribute(root, { xmlns: SVG, width: picture.width, height: picture.height, viewBox: `0 0 ${picture.width} ${picture.height}` });
  const sheet = root.appendChild(document.createElementNS(SVG, "rect"));
  attribute(sheet, { width: "100%", height: "100%", fill: background });
  for (const mark of picture.marks) {
    const node = root.appendChild(document.createElementNS(SVG, mark.text === undefined ? "rect" : "text"));
    attribute(node, { x: mark.x, y: mark.y, fill: mark.fill });
    if (mark.text === undefined) attribute(node, { width: mark.width ?? 0, height: mark.height ?? 0 });
    else {
      attribute(node, { "text-anchor": mark.anchor ?? "start", "font-size": mark.size ?? 12, "font-family": "sans-serif", "dominant-baseline": "central" });
      if (mark.turned) node.setAttribute("transform", `rotate(${mark.turned} ${mark.x} ${mark.y})`);
      node.textContent = mark.text;
    }
  }
  return new XMLSerializer().serializeToString(root);
}

function drawPicture(context: CanvasRenderingContext2D, picture: Picture): void {
  for (const mark of picture.marks) {
    context.fillStyle = mark.fill;
    if (mark.text === undefined) {
      context.fillRect(mark.x, mark.y, mark.width ?? 0, mark.height ?? 0);
      continue;
    }
    context.save();
    context.translate(mark.x, mark.y);
    context.rotate(((mark.turned ?? 0) * Math.PI) / 180);
    context.font = `${mark.size ?? 12}px sans-serif`;
    context.textAlign = mark.anchor === "middle" ? "center" : (mark.anchor ?? "start");
    context.textBaseline = "middle";
    context.fillText(mark.text, 0, 0);
    context.restore();
  }
}

export function saveSvg(name: string, picture: Picture): void {
  save(`${name}.svg`, svgOf(picture, palette.value?.paper ?? "#fff"), "image/svg+xml");
}

export function savePng(name: string, picture: Picture, density = 2): void {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [picture.width * density, picture.height * density];
  const context = canvas.getContext("2d")!;
  context.scale(density, density);
  context.fillStyle = palette.value?.paper ?? "#fff";
  context.fillRect(0, 0, picture.width, picture.height);
  drawPicture(context, picture);
  canvas.toBlob((blob) => blob && save(`${name}.png`, blob, "image/png"));
}

function cellMarks(cells: Cells, left: number, top: number, size: number, colours: Palette): Mark[] {
  const marks: Mark[] = [];
  for (let row = 0; row < cells.rows; row++) {
    for (let column = 0; column < cells.columns; column++) {
      const value = at(cells, row, column);
      const [scale, step] = shade(value, cells, colours);
      const [x, y] = [left + column * size, top + row * size];
      const hidden = cells.hidden?.(row, column);
      marks.push({ x, y, width: size - 1, height: size - 1, fill: hidden ? colours.paper : scale.css[step]! });
      const text = hidden ? "" : short(value, cells);
      if (text && size >= 24) marks.push({ x: x + size / 2, y: y + size / 2, text, anchor: "middle", size: 10, fill: scale.text[step]! });
    }
  }
  return marks;
}

/** A matrix with its labels. */
export function pictureOf(title: string, cells: Cells, rows: readonly string[], columns: readonly string[]): Picture {
  const colours = palette.value!;
  const size = cells.columns <= 40 ? 26 : Math.max(2, Math.floor(1000 / cells.columns));
  const [left, top] = [120, 110];
  const marks: Mark[] = [{ x: 10, y: 16, text: title, size: 14, fill: colours.ink }, ...cellMarks(cells, left, top, size, colours)];
  if (size >= 10) {
    rows.forEach((label, row) => marks.push({ x: left - 6, y: top + (row + 0.5) * size, text: visible(label), anchor: "end", fill: colours.ink }));
    columns.forEach((label, column) => marks.push({ x: left + (column + 0.5) * size, y: top - 6, text: visible(label), turned: -55, fill: colours.ink }));
  }
  return { width: left + cells.columns * size + 60, height: top + cells.rows * size + 16, marks };
}

function quoted(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text; // no formula in a spreadsheet
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Rows of texts and numbers as CSV (RFC 4180). */
export function csvOf(rows: readonly (readonly (string | number)[])[]): string {
  return rows.map((row) => row.map((cell) => quoted(String(cell))).join(",")).join("\r\n") + "\r\n";
}

export function csvOfCells(cells: Cells, rows: readonly string[], columns: readonly string[]): string {
  const lines: (string | number)[][] = [["", ...columns.map(visible)]];
  for (let row = 0; row < cells.rows; row++) {
    const start = cells.offset + row * cells.columns;
    lines.push([visible(rows[row] ?? String(row + 1)), ...Array.from({ length: cells.columns }, (_, i) => cells.values[start + i]!)]);
  }
  return csvOf(lines);
}

/** A float32 array as a file that numpy.load reads (format 1.0). */
export function npyOf(data: Float32Array, shape: readonly number[]): Uint8Array<ArrayBuffer> {
  const tuple = shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(", ")})`;
  let head = `{'descr': '<f4', 'fortran_order': False, 'shape': ${tuple}, }`;
  head = head.padEnd(Math.ceil((head.length + 11) / 64) * 64 - 11) + "\n";
  const bytes = new Uint8Array(10 + head.length + data.byteLength);
  bytes.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, head.length & 255, head.length >> 8]);
  bytes.set(new TextEncoder().encode(head), 10);
  const view = new DataView(bytes.buffer, 10 + head.length);
  data.forEach((value, i) => view.setFloat32(i * 4, value, true));
  return bytes;
}
