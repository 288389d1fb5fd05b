// One piece's row before the first block: the row of the table, its place, and their sum, number by number.

import { computed, type ReadonlySignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { inputLines, type InputLine } from "../analysis/inputs";
import type { Run, Tensor } from "../engine/header";
import { weightOf } from "../state/file";
import { selection } from "../state/selection";
import { program, run, selectNumber, tensorShown } from "../state/store";
import { T } from "../state/strings";
import { useWidth } from "./canvas";
import { cellsOf, largest, type Cells } from "./cells";
import { brief, full } from "./format";
import { Strip } from "./strip";

interface Shown {
  key: string;
  label: string;
  row: Tensor & { signed: boolean }; // (1, D)
  step: string; // whose number is selected by a click
  at: number; // the row in that step
  own: boolean; // not added to the others, so on a scale of its own
}

function rowOf(tensor: Tensor, row: number): Tensor & { signed: boolean } {
  const width = tensor.shape.at(-1) ?? 1;
  return { data: tensor.data.subarray(row * width, (row + 1) * width), shape: [1, width], signed: true };
}

function factorText(scale: number, width: number): string {
  return Math.abs(scale - Math.sqrt(width)) < 1e-6 * scale ? T.pieces.row.root(width) : T.pieces.row.scaled(brief(scale));
}

function labelOf({ step, kind }: InputLine, place: number, of: Run): string {
  const words = T.pieces.row;
  const id = of.ids[step.inputs[0] ?? ""]?.[place] ?? 0;
  const labels: Record<string, string> = {
    looked_up: words.table(id), scaled: factorText(Number(step.settings.scale), Number(step.shape.at(-1))), position: words.position(place + 1),
    learned: words.learned(place + 1), segment: words.segment, sum: words.sum, normed: words.normed, patch: words.patch,
  };
  return labels[kind] ?? words.other(step.op);
}

/** The lines of one piece. Where the row of the table is scaled, the row itself comes first. */
function linesOf(sequence: string, place: number, of: Run): Shown[] {
  const lines: Shown[] = [];
  const known = program.value!;
  for (const line of inputLines(known, sequence, (step) => of.pass.values(step.name).shape[0] ?? 0)) {
    const tensor = tensorShown(line.step.name);
    const at = place - line.shift;
    if (!tensor || at < 0 || at >= (tensor.shape[0] ?? 0)) continue;
    const id = of.ids[line.step.inputs[0] ?? ""]?.[place];
    const table = line.kind === "scaled" && tensor.which !== "B-A" ? weightOf(line.step.weights[0] ?? "") : null;
    if (table && id !== undefined) lines.push({ key: "table", label: T.pieces.row.table(id), row: rowOf(table, id), step: line.step.name, at, own: true });
    lines.push({ key: line.step.name, label: labelOf(line, place, of), row: rowOf(tensor, at), step: line.step.name, at, own: line.kind === "normed" });
  }
  return lines;
}

function Line({ shown, top, wide, column }: { shown: Shown; top: number; wide: number; column: ReadonlySignal<number> }) {
  const cells = useMemo(() => computed<Cells>(() => cellsOf(shown.row, [], top)), [shown, top]);
  const picked = useMemo(() => computed(() => ({ row: 0, column: column.value })), [column]);
  const pick = (_: number, at: number): void => selectNumber(shown.step, [shown.at, at]);
  const value = column.value >= 0 ? shown.row.data[column.value] : undefined;
  return (
    <div class="inputline">
      <span>{shown.label}</span>
      <Strip cells={cells} title={shown.label} picked={picked} onPick={pick} wide={wide} tall={24} />
      <output title={value === undefined ? undefined : full(value)}>{value === undefined ? "" : brief(value)}</output>
    </div>
  );
}

/** Which of the numbers is selected; -1: none of these. */
function useColumn(steps: readonly string[]): ReadonlySignal<number> {
  const key = steps.join(" ");
  return useMemo(() => computed(() => (steps.includes(selection.value.tap) ? selection.value.column : -1)), [key]);
}

export function InputRows({ sequence, place, piece }: { sequence: string; place: number; piece: string }) {
  const of = run.value;
  const lines = of && program.value ? linesOf(sequence, place, of) : [];
  return lines.length ? <Lines lines={lines} piece={piece} /> : null;
}

function Lines({ lines, piece }: { lines: Shown[]; piece: string }) {
  const { ref, width } = useWidth();
  const column = useColumn(lines.map((line) => line.step));
  const count = lines[0]!.row.shape[1]!;
  const shared = Math.max(1e-6, ...lines.filter((line) => !line.own).map((line) => largest(line.row.data)));
  const wide = Math.min(10, Math.max(0.5, (width.value - (width.value < 480 ? 16 : 250)) / count));
  return (
    <section class="panel inputrows" ref={ref}>
      <h3>{T.pieces.row.title(piece, count)}</h3>
      <p class="note">{T.pieces.row.lead}</p>
      {width.value > 0 && lines.map((line) => <Line key={line.key} shown={line} top={line.own ? largest(line.row.data) : shared} wide={wide} column={column} />)}
    </section>
  );
}
