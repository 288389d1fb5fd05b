// The best guess at every point of the stream: a canvas with a word in each cell, moved through by arrow keys.

import { computed, effect, signal, type ReadonlySignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Guess } from "../analysis/lens";
import { spoken, visible } from "../state/labels";
import { T } from "../state/strings";
import { Canvas, useWidth, type Drawing } from "./canvas";
import { percent } from "./format";
import { Piece } from "./tokens";

export interface GuessProps {
  guess(point: number, place: number): Guess | undefined; // reads signals
  decided(place: number): number | null;
  chosen: readonly number[];
  name(id: number): string;
  points: readonly string[]; // from the bottom up
  places: readonly string[]; // what is said at each
  inputs: readonly string[]; // what is read at each
  inputsName: string;
  picked: ReadonlySignal<{ point: number; place: number }>;
  onPick(point: number, place: number): void;
  title: string;
}

interface Layout {
  left: number;
  across: number;
  down: number;
  written: boolean; // whether cells have their guess as a text
}

const LABELS_UP_TO = 64;

function layout(available: number, props: GuessProps): Layout {
  const narrow = available < 520;
  const longest = props.points.reduce((length, label) => Math.max(length, label.length), 0);
  const left = narrow ? Math.min(available * 0.42, longest * 5.9 + 8) : Math.min(available * 0.3, longest * 6.9 + 14);
  const fit = (available - left - 2) / props.places.length;
  if (props.places.length > LABELS_UP_TO) return { left, across: Math.max(0.5, fit), down: 16, written: false };
  if (narrow && fit < 44) return { left, across: Math.max(15, fit), down: 22, written: false };
  return { left, across: Math.max(56, Math.min(104, fit)), down: props.points.length > 16 ? 30 : 36, written: true };
}

function fitted(pen: CanvasRenderingContext2D, text: string, width: number): string {
  if (pen.measureText(text).width <= width) return text;
  let length = text.length - 1;
  while (length > 1 && pen.measureText(`${text.slice(0, length)}…`).width > width) length--;
  return `${text.slice(0, length)}…`;
}

/** A piece, its leading space pale. */
function drawPiece(pen: CanvasRenderingContext2D, piece: string, x: number, y: number, width: number): void {
  const text = fitted(pen, visible(piece), width);
  const pale = /^␣*/.exec(text)![0];
  const [whole, space] = [pen.measureText(text).width, pen.measureText(pale).width];
  pen.textAlign = "left";
  pen.globalAlpha = 0.55;
  pen.fillText(pale, x - whole / 2, y);
  pen.globalAlpha = 1;
  pen.fillText(text.slice(pale.length), x - whole / 2 + space, y);
  pen.textAlign = "center";
}

function drawing(props: GuessProps, place: Layout): Drawing {
  return (pen, width, height, colours) => {
    const rows = props.points.length;
    const [across, down] = [width / props.places.length, height / rows];
    const gap = across > 9 ? 1 : 0;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    for (let at = 0; at < props.places.length; at++) {
      const since = props.decided(at);
      for (let point = 0; point < rows; point++) {
        const guess = props.guess(point, at);
        const [x, y] = [at * across, (rows - 1 - point) * down];
        const shade = guess ? Math.round(guess.prob * 255) : 0;
        pen.fillStyle = colours.share.css[shade]!;
        pen.fillRect(x + gap, y + gap, across - 2 * gap, down - 2 * gap);
        if (!guess) continue;
        const right = guess.best === props.chosen[at];
        if (right && across > 9) {
          pen.strokeStyle = colours.ink;
          pen.lineWidth = 1.25;
          pen.strokeRect(x + 1.6, y + 1.6, across - 3.2, down - 3.2);
        }
        pen.fillStyle = colours.share.text[shade]!;
        if (place.written) writeGuess(pen, props, guess, { x, y, across, down, right, here: since === point });
        else if (since === point && across > 9) pen.fillText("◂", x + across / 2, y + down / 2);
      }
    }
  };
}

interface Cell {
  x: number;
  y: number;
  across: number;
  down: number;
  right: boolean;
  here: boolean;
}

function writeGuess(pen: CanvasRenderingContext2D, props: GuessProps, guess: Guess, cell: Cell): void {
  const [middle, top] = [cell.x + cell.across / 2, cell.y + cell.down / 2];
  const text = visible(props.name(guess.best));
  for (const size of [12, 11, 10]) {
    pen.font = `${cell.right ? "600 " : ""}${size}px system-ui, sans-serif`;
    if (pen.measureText(text).width <= cell.across - 7) break;
  }
  drawPiece(pen, props.name(guess.best), middle, top - 6.5, cell.across - 7);
  pen.font = "11px system-ui, sans-serif";
  const share = Math.round(guess.prob * 100);
  const here = cell.here ? (cell.across >= 62 ? ` ◂ ${T.stream.here}` : " ◂") : "";
  pen.fillText(`${share < 1 ? "<1" : share}${here}`, middle, top + 7.5);
}

function frame(props: GuessProps): Drawing {
  return (pen, width, height, colours) => {
    const { point, place } = props.picked.value;
    const [across, down] = [width / props.places.length, height / props.points.length];
    pen.lineWidth = 1.25;
    pen.strokeStyle = colours.pick;
    pen.globalAlpha = 0.5;
    pen.strokeRect(place * across + 0.5, 0.75, Math.max(across - 1, 2), height - 1.5);
    pen.globalAlpha = 1;
    if (point < 0) return;
    pen.lineWidth = 2.5;
    pen.strokeRect(place * across + 1.25, (props.points.length - 1 - point) * down + 1.25, Math.max(across - 2.5, 2), down - 2.5);
  };
}

function moved(event: KeyboardEvent, from: { point: number; place: number }, props: GuessProps): { point: number; place: number } | null {
  const moves: Record<string, [number, number]> = {
    ArrowUp: [1, 0], ArrowDown: [-1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Home: [0, -1e9], End: [0, 1e9], PageUp: [1e9, 0], PageDown: [-1e9, 0],
  };
  const move = moves[event.key];
  if (!move || event.altKey || event.ctrlKey || event.metaKey) return null;
  const within = (value: number, count: number): number => Math.max(0, Math.min(count - 1, value));
  return { point: within(from.point + move[0], props.points.length), place: within(from.place + move[1], props.places.length) };
}

/** One cell in a sentence. */
function sentence(props: GuessProps, at: number, place: number): string {
  const point = at < 0 ? props.points.length - 1 : at; // none selected: the end of the stream
  const guess = props.guess(point, place);
  const [said, name] = [props.places[place] ?? "", props.points[point] ?? ""];
  if (!guess) return `${visible(said)}: ${T.stream.waiting}`;
  return T.stream.cell(visible(said), name, visible(props.name(guess.best)), percent(guess.prob), visible(props.name(props.chosen[place]!)), guess.rank);
}

function Body({ props, place, hover }: { props: GuessProps; place: Layout; hover: { value: { point: number; place: number } | null } }) {
  const draw = useMemo(() => drawing(props, place), [props.guess, props.places, props.points, place.written]);
  const drawFrame = useMemo(() => frame(props), [props.picked, props.places, props.points]);
  const cellAt = (event: MouseEvent): { point: number; place: number } => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const row = Math.floor(((event.clientY - box.top) / box.height) * props.points.length);
    const column = Math.floor(((event.clientX - box.left) / box.width) * props.places.length);
    return { point: Math.max(0, props.points.length - 1 - row), place: Math.max(0, Math.min(props.places.length - 1, column)) };
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const now = props.picked.peek();
    const next = moved(event, now.point < 0 ? { ...now, point: props.points.length - 1 } : now, props);
    if (!next) return;
    event.preventDefault();
    props.onPick(next.point, next.place);
  };
  return (
    <div
      class="body" style={{ width: `${place.across * props.places.length}px`, height: `${place.down * props.points.length}px` }} tabIndex={0} role="application"
      aria-roledescription="matrix" aria-label={`${props.title} ${T.matrix.keys}`} onKeyDown={onKeyDown}
      onPointerMove={(event) => { hover.value = cellAt(event); }} onPointerLeave={() => { hover.value = null; }}
      onClick={(event) => { const found = cellAt(event); props.onPick(found.point, found.place); }}
    >
      <Canvas draw={draw} over={drawFrame} />
    </div>
  );
}

/** The names of the columns: what is said above, what was read below. */
function Columns({ props, place, below }: { props: GuessProps; place: Layout; below: boolean }) {
  const labels = below ? props.inputs : props.places;
  const chosen = props.picked.value.place;
  const width = `${place.across * labels.length}px`;
  if (place.across < 15) return <div class={below ? "below one" : "columns one"} style={{ width }}><span class="flat">{chosen + 1} <Piece text={labels[chosen] ?? ""} /></span></div>;
  const turned = !place.written;
  const tall = turned ? Math.min(84, Math.max(...labels.map((label) => label.length)) * 6.4 + 12) : 20;
  return (
    <div class={below ? "below" : "columns"} style={{ width, height: `${tall}px` }} aria-hidden="true">
      {labels.map((label, at) => (
        <span
          key={at} class={turned ? "upright" : "flat"} data-on={at === chosen ? "" : undefined} style={{ left: `${at * place.across}px`, width: `${place.across}px` }}
          title={label.length > 9 ? label : undefined} onClick={() => props.onPick(props.picked.peek().point, at)}
        ><Piece text={label} /></span>
      ))}
    </div>
  );
}

function Table({ props }: { props: GuessProps }) {
  const rows = [...props.points.keys()].reverse();
  return (
    <div class="values scroll" tabIndex={0} role="region" aria-label={props.title}>
      <table>
        <thead><tr><th>{T.stream.says}</th>{props.places.map((label, at) => <th key={at} scope="col"><Piece text={label} /></th>)}</tr></thead>
        <tbody>{rows.map((point) => (
          <tr key={point}>
            <th scope="row">{props.points[point]}</th>
            {props.places.map((_, at) => { const guess = props.guess(point, at); return <td key={at}>{guess ? <><Piece text={props.name(guess.best)} /> {percent(guess.prob)}</> : "–"}</td>; })}
          </tr>
        ))}</tbody>
      </table>
    </div>
  );
}

/** Brings the selected column between the names of the rows and the right edge. */
function useScrolled(props: GuessProps, place: Layout, there: boolean) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => effect(() => {
    const [cells, left] = [box.current, props.picked.value.place * place.across];
    if (!cells) return;
    const room = cells.clientWidth - place.left;
    if (left < cells.scrollLeft) cells.scrollLeft = left;
    else if (left + place.across > cells.scrollLeft + room) cells.scrollLeft = left + place.across - room;
  }), [props.picked, place.left, place.across, there]);
  return box;
}

export function Guesses(props: GuessProps) {
  const { ref, width } = useWidth();
  const hover = useMemo(() => signal<{ point: number; place: number } | null>(null), []);
  const asTable = useMemo(() => signal(false), []);
  const latest = useRef(props);
  latest.current = props;
  const said = useMemo(() => computed(() => sentence(latest.current, props.picked.value.point, props.picked.value.place)), [props.picked, props.guess]);
  const shown = useMemo(() => computed(() => (hover.value ? sentence(latest.current, hover.value.point, hover.value.place) : said.value)), [said]);
  const aloud = useMemo(() => computed(() => spoken(said.value)), [said]);
  const place = layout(Math.max(width.value, 240), props);
  const names = [...props.points].reverse();
  const drawn = !asTable.value && width.value > 0;
  const box = useScrolled(props, place, drawn);
  const wider = drawn && place.left + place.across * props.places.length > width.value + 2;
  return (
    <figure class="matrix guesses">
      <div ref={ref} />
      {wider && <p class="note">{T.stream.scrolls(props.places.length)}</p>}
      {asTable.value ? <Table props={props} /> : drawn && (
        <div class={wider ? "cells wider" : "cells"} ref={box}>
          <div class="corner" style={{ width: `${place.left}px` }} aria-hidden="true"><span>{T.stream.says} →</span></div>
          <Columns props={props} place={place} below={false} />
          <div class="rows" style={{ width: `${place.left}px` }} aria-hidden="true">
            {names.map((name, row) => <span key={row} class="label" data-on={props.points.length - 1 - row === props.picked.value.point ? "" : undefined} style={{ top: `${row * place.down}px`, height: `${place.down}px` }}>{name}</span>)}
          </div>
          <Body props={props} place={place} hover={hover} />
          <div class="foot" style={{ width: `${place.left}px` }} aria-hidden="true">{props.inputsName} →</div>
          <Columns props={props} place={place} below />
        </div>
      )}
      <p class="readout" aria-hidden="true">{shown}</p>
      <p class="sr" aria-live="polite">{aloud}</p>
      <div class="tools"><button type="button" class="plain" aria-pressed={asTable.value} onClick={() => { asTable.value = !asTable.value; }}>{asTable.value ? T.matrix.picture : T.matrix.table}</button><span class="note">{T.stream.hereNote}</span></div>
    </figure>
  );
}
