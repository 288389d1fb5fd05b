// The one matrix of the page: a canvas of cells with the names of its rows and columns, moved through by arrow keys.

import { computed, effect, signal, type ReadonlySignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { frame as T } from "../state/strings/frame";
import { spoken, visible } from "../state/visible";
import { Canvas, useWidth } from "./canvas";
import { at, drawCells, drawPicked, FUTURE, PADDING, type Cells } from "./cells";
import { csvOfCells, pictureOf, save, savePng, saveSvg } from "./export";
import { brief, full } from "./format";
import { Legend } from "./legend";
import { RowLens } from "./lens";
import { Piece } from "./tokens";

export interface Axis {
  name: string; // what its entries are and do: "reads: pieces that were chosen"
  labels: readonly string[];
}

export interface Place {
  row: number;
  column: number;
}

export interface MatrixProps {
  cells: ReadonlySignal<Cells>;
  rows: ReadonlySignal<Axis>;
  columns: ReadonlySignal<Axis>;
  picked: ReadonlySignal<Place>;
  onPick(row: number, column: number): void;
  title: string; // for readers who cannot see it, and for files
  say?(row: number, column: number, value: number): string; // one cell in a sentence
  largest?: number; // CSS pixels of a cell, at most
  numbers?: boolean; // false: cells without their numbers
  bare?: boolean; // without scale and tools
}

const LABELS_UP_TO = 64; // rows or columns; beyond this there is an overview

interface Layout {
  left: number; // width of the rows' labels
  top: number; // height of the columns' labels
  across: number; // width of a cell
  down: number;
  flat: boolean; // whether the columns' labels are not turned
}

function longest(labels: readonly string[]): number {
  return labels.reduce((length, label) => Math.max(length, label.length), 1);
}

function layout(available: number, cells: Cells, rows: Axis, columns: Axis, most: number): Layout {
  const room = Math.max(available, 240);
  const left = Math.min(room * 0.34, Math.max(78, Math.min(160, longest(rows.labels) * 7.6 + 18)));
  const large = cells.columns > LABELS_UP_TO;
  const free = room - left - 4;
  const across = large ? Math.max(0.5, free / cells.columns) : Math.max(9, Math.min(most, (free - 30) / cells.columns));
  const down = cells.rows > LABELS_UP_TO ? Math.max(0.5, Math.min(across, 600 / cells.rows)) : Math.max(cells.rows > 32 ? 13 : 15, Math.min(across, 30));
  const flat = longest(columns.labels) * 7.4 + 4 <= across;
  const top = large || flat ? 36 : Math.min(110, longest(columns.labels) * 5.9 + 20);
  return { left, top, across, down, flat };
}

/** Marks the labels of the selected row and column, without drawing anything else again. */
function useMarkedLabels(picked: ReadonlySignal<Place>, redrawn: unknown) {
  const [rows, columns] = [useRef<HTMLDivElement>(null), useRef<HTMLDivElement>(null)];
  useEffect(() => effect(() => {
    for (const [box, at] of [[rows.current, picked.value.row], [columns.current, picked.value.column]] as const) {
      box?.querySelector("[data-on]")?.removeAttribute("data-on");
      box?.querySelector(`[data-at="${at}"]`)?.setAttribute("data-on", "");
    }
  }), [picked, redrawn]);
  return { rows, columns };
}

function LabelsOf({ axis, place, from }: { axis: Axis; place: Layout; from: "rows" | "columns" }) {
  const step = from === "rows" ? place.down : place.across;
  const style = (i: number) => from === "rows"
    ? { top: `${i * step}px`, height: `${step}px` }
    : place.flat ? { left: `${i * step}px`, width: `${step}px`, bottom: "4px" } : { left: `${(i + 0.5) * step}px` };
  return <>{axis.labels.map((label, i) => (
    <span class={from === "columns" && place.flat ? "flat" : "label"} data-at={i} key={i} style={style(i)} title={label.length > 14 ? label : undefined}><Piece text={label} /></span>
  ))}</>;
}

/** In an overview only the selected row and column have their name. */
function OneLabel({ axis, index, place, from }: { axis: Axis; index: number; place: Layout; from: "rows" | "columns" }) {
  const text = axis.labels[index] ?? "";
  const [step, count] = [from === "rows" ? place.down : place.across, axis.labels.length];
  const style = from === "rows"
    ? { top: `${Math.max(0, Math.min(count * step - 14, (index + 0.5) * step - 7))}px`, height: "14px" }
    : index * step < (count * step) / 2 ? { left: `${index * step}px`, bottom: "4px" } : { right: `${(count - 1 - index) * step}px`, bottom: "4px" };
  return <span class={from === "columns" ? "flat" : "label"} data-at={index} data-on="" style={style}>{/\d/.test(text) ? "" : <span class="number-of">{index + 1}</span>}<Piece text={text} /></span>;
}

function moved(event: KeyboardEvent, from: Place, cells: Cells): Place | null {
  const jump = event.shiftKey ? 8 : 1;
  const moves: Record<string, [number, number]> = {
    ArrowUp: [-jump, 0], ArrowDown: [jump, 0], ArrowLeft: [0, -jump], ArrowRight: [0, jump],
    Home: [0, -cells.columns], End: [0, cells.columns], PageUp: [-cells.rows, 0], PageDown: [cells.rows, 0],
  };
  const move = moves[event.key];
  if (!move || event.altKey || event.ctrlKey || event.metaKey) return null;
  const clamped = (value: number, count: number) => Math.max(0, Math.min(count - 1, value));
  return { row: clamped(from.row + move[0], cells.rows), column: clamped(from.column + move[1], cells.columns) };
}

/** The sentence about one cell. */
function useSaying({ cells, rows, columns, say }: MatrixProps) {
  return (place: Place): string => {
    const data = cells.value;
    if (place.row >= data.rows || place.column >= data.columns) return "";
    const value = at(data, place.row, place.column);
    const hidden = data.hidden?.(place.row, place.column) ?? 0;
    const [row, column] = [visible(rows.value.labels[place.row] ?? ""), visible(columns.value.labels[place.column] ?? "")];
    if (hidden) return T.matrix.cell(row, column, hidden === FUTURE ? T.matrix.future : hidden === PADDING ? T.matrix.padding : T.matrix.hidden);
    return say ? say(place.row, place.column, value) : T.matrix.cell(row, column, full(value));
  };
}

/** The canvases, and what pointer and keys do on them. */
function Body({ props, place, hover }: { props: MatrixProps; place: Layout; hover: { value: Place | null } }) {
  const { cells, picked, onPick } = props;
  const data = cells.value;
  const cellAt = (event: PointerEvent | MouseEvent): Place => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const [x, y] = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
    return { row: Math.min(data.rows - 1, Math.floor(y * data.rows)), column: Math.min(data.columns - 1, Math.floor(x * data.columns)) };
  };
  const drawAll = useMemo(() => (c: CanvasRenderingContext2D, w: number, h: number, p: Parameters<typeof drawCells>[4]) => drawCells(c, cells.value, w, h, p, props.numbers !== false), [cells]);
  const drawFrame = useMemo(() => (c: CanvasRenderingContext2D, w: number, h: number, p: Parameters<typeof drawCells>[4]) => drawPicked(c, cells.value, w, h, p, picked.value), [cells, picked]);
  const size = { width: `${place.across * data.columns}px`, height: `${place.down * data.rows}px` };
  const onKeyDown = (event: KeyboardEvent) => {
    const next = moved(event, picked.peek(), cells.peek());
    if (!next) return;
    event.preventDefault();
    onPick(next.row, next.column);
  };
  return (
    <div
      class="body" style={size} tabIndex={0} role="application" aria-roledescription="matrix" aria-label={`${props.title}. ${T.matrix.keys}`}
      onKeyDown={onKeyDown} onPointerMove={(event) => { hover.value = cellAt(event); }} onPointerLeave={() => { hover.value = null; }}
      onClick={(event) => { const found = cellAt(event); onPick(found.row, found.column); }}
    >
      <Canvas draw={drawAll} over={drawFrame} />
    </div>
  );
}

/** All numbers as a table: of the selected row alone where there are very many. */
function Table({ props }: { props: MatrixProps }) {
  const [data, rows, columns] = [props.cells.value, props.rows.value, props.columns.value];
  const many = data.rows * data.columns > 4096;
  const shown = many ? [props.picked.value.row] : Array.from({ length: data.rows }, (_, row) => row);
  return (
    <div class="values scroll" tabIndex={0} role="region" aria-label={props.title}>
      {many && <p class="note">{T.matrix.tableRow}</p>}
      <table>
        <thead><tr><th>{rows.name} ↓ · {columns.name} →</th>{columns.labels.map((label, i) => <th key={i} scope="col"><Piece text={label} /></th>)}</tr></thead>
        <tbody>{shown.map((row) => (
          <tr key={row}>
            <th scope="row"><Piece text={rows.labels[row] ?? ""} /></th>
            {columns.labels.map((_, column) => <td key={column}>{data.hidden?.(row, column) ? "–" : brief(at(data, row, column))}</td>)}
          </tr>
        ))}</tbody>
      </table>
    </div>
  );
}

function Tools({ props, asTable }: { props: MatrixProps; asTable: { value: boolean } }) {
  const labels = () => [props.rows.peek().labels, props.columns.peek().labels] as const;
  const picture = () => pictureOf(props.title, props.cells.peek(), ...labels());
  return (
    <div class="tools">
      <button type="button" class="plain" onClick={() => { asTable.value = !asTable.value; }}>{asTable.value ? T.matrix.picture : T.matrix.table}</button>
      <button type="button" class="plain" onClick={() => saveSvg(props.title, picture())}>{T.sizes.svg}</button>
      <button type="button" class="plain" onClick={() => savePng(props.title, picture())}>{T.sizes.png}</button>
      <button type="button" class="plain" onClick={() => save(`${props.title}.csv`, csvOfCells(props.cells.peek(), ...labels()), "text/csv")}>{T.sizes.csv}</button>
    </div>
  );
}

function Grid({ props, place, hover }: { props: MatrixProps; place: Layout; hover: { value: Place | null } }) {
  const { cells, rows, columns, picked, onPick } = props;
  const data = cells.value;
  const manyRows = data.rows > LABELS_UP_TO;
  const manyColumns = data.columns > LABELS_UP_TO;
  const marks = useMarkedLabels(picked, `${data.rows} ${data.columns} ${place.across} ${rows.value.labels[0]}`);
  const choose = (from: "row" | "column") => (event: MouseEvent) => {
    const found = (event.target as HTMLElement).closest<HTMLElement>("[data-at]")?.dataset.at;
    if (found) onPick(from === "row" ? Number(found) : picked.peek().row, from === "column" ? Number(found) : picked.peek().column);
  };
  const [width, height] = [place.across * data.columns, place.down * data.rows];
  return (
    <div class="cells" style={{ paddingRight: place.flat || manyColumns ? "2px" : `${Math.max(2, place.top * 0.62 - place.across / 2)}px` }}>
      <div class="corner" style={{ width: `${place.left}px`, height: `${place.top}px` }} aria-hidden="true"><span>{columns.value.name} →</span><span>{rows.value.name} ↓</span></div>
      <div class="columns" ref={marks.columns} style={{ width: `${width}px`, height: `${place.top}px` }} onClick={choose("column")} aria-hidden="true">
        {manyColumns ? <OneLabel axis={columns.value} index={picked.value.column} place={place} from="columns" /> : <LabelsOf axis={columns.value} place={place} from="columns" />}
      </div>
      <div class="rows" ref={marks.rows} style={{ width: `${place.left}px`, height: `${height}px` }} onClick={choose("row")} aria-hidden="true">
        {manyRows ? <OneLabel axis={rows.value} index={picked.value.row} place={place} from="rows" /> : <LabelsOf axis={rows.value} place={place} from="rows" />}
      </div>
      <Body props={props} place={place} hover={hover} />
    </div>
  );
}

/** Draws `cells`, names rows and columns, and reports what is picked by pointer or keys. */
export function Matrix(props: MatrixProps) {
  const { ref, width } = useWidth();
  const hover = useMemo(() => signal<Place | null>(null), []);
  const asTable = useMemo(() => signal(false), []);
  const sentence = useSaying(props);
  const latest = useRef(sentence);
  latest.current = sentence;
  const said = useMemo(() => computed(() => latest.current(props.picked.value)), [props.picked, props.cells]);
  const shown = useMemo(() => computed(() => latest.current(hover.value ?? props.picked.value)), [props.picked, props.cells]);
  const aloud = useMemo(() => computed(() => spoken(said.value)), [said]);
  const data = props.cells.value;
  const place = layout(width.value, data, props.rows.value, props.columns.value, props.largest ?? 40);
  const overview = data.columns > LABELS_UP_TO;
  return (
    <figure class="matrix">
      <div ref={ref} />
      {asTable.value ? <Table props={props} /> : width.value > 0 && <Grid props={props} place={place} hover={hover} />}
      <p class="readout" aria-hidden="true">{shown}</p>
      <p class="sr" aria-live="polite">{aloud}</p>
      {!props.bare && <Legend cells={props.cells} />}
      {overview && <p class="note">{T.matrix.large(data.rows, data.columns)}</p>}
      {overview && <RowLens cells={props.cells} labels={props.columns} row={props.rows} picked={props.picked} onPick={props.onPick} />}
      {!props.bare && <Tools props={props} asTable={asTable} />}
    </figure>
  );
}
