// What the colours of a matrix mean: its scale, and the kinds of hidden cells it has.

import type { ReadonlySignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { frame as T } from "../state/strings/frame";
import { Canvas } from "./canvas";
import { drawCells, FUTURE, PADDING, type Cells } from "./cells";
import { brief } from "./format";
import type { Palette } from "./palette";

const STEPS = 64;

/** The scale from none to full, or from minus to plus. */
function rampOf(signed: boolean): Cells {
  const values = Array.from({ length: STEPS }, (_, i) => (signed ? (2 * i) / (STEPS - 1) - 1 : i / (STEPS - 1)));
  return { values, offset: 0, rows: 1, columns: STEPS, signed, top: 1 };
}

function Picture({ cells }: { cells: Cells }) {
  const draw = useMemo(() => (pen: CanvasRenderingContext2D, w: number, h: number, colours: Palette) => drawCells(pen, cells, w, h, colours, false), [cells]);
  return <Canvas draw={draw} />;
}

function Hatched({ kind, text }: { kind: number; text: string }) {
  const cells = useMemo<Cells>(() => ({ values: [0], offset: 0, rows: 1, columns: 1, signed: false, top: 1, hidden: () => kind }), [kind]);
  return <span><span class="hatched"><Picture cells={cells} /></span>{text}</span>;
}

/** Which kinds of hidden cells there are. */
function kindsOf(cells: Cells): Set<number> {
  const kinds = new Set<number>();
  if (!cells.hidden) return kinds;
  for (let row = 0; row < cells.rows; row++) {
    for (const column of [0, row + 1, cells.columns - 1]) if (column < cells.columns) kinds.add(cells.hidden(row, column));
  }
  return kinds;
}

export function Legend({ cells }: { cells: ReadonlySignal<Cells> }) {
  const data = cells.value;
  const kinds = kindsOf(data);
  const ramp = useMemo(() => rampOf(data.signed), [data.signed]);
  return (
    <p class="legend">
      <span>{data.signed ? brief(-data.top) : T.matrix.legendNone}<span class="ramp"><Picture cells={ramp} /></span>{brief(data.top)}</span>
      {kinds.has(FUTURE) && <Hatched kind={FUTURE} text={T.matrix.legendFuture} />}
      {kinds.has(PADDING) && <Hatched kind={PADDING} text={T.matrix.legendPadding} />}
    </p>
  );
}
