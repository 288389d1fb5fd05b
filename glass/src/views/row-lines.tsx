// One row of attention in lines, from q · k to the share: each line is made of the one above it.

import type { Step } from "../engine/header";
import type { Attention } from "../state/anatomy";
import { picked } from "../state/selection";
import { selectNumber, showing, stepNamed, tensorShown } from "../state/store";
import { T } from "../state/strings";
import { largest } from "./cells";
import { narrow } from "./canvas";
import { brief } from "./format";
import type { Axis } from "./matrix";
import { Piece, WithPieces } from "./tokens";

const LISTED = 6; // keys in the list of narrow screens
const spacious = window.matchMedia("(min-width: 1500px)");
const most = (): number => (spacious.matches ? 14 : 10); // columns; a longer row shows its strongest keys

interface Line {
  step: Step;
  name: string;
  values: Float32Array;
  index: number[]; // of the row
}

/** What a line does to the one above it. */
function nameOfLine(step: Step, values: Float32Array): string {
  const words = T.head.lines;
  if (step.op === "scores") return words.scores;
  if (step.op === "softmax") return words.softmax;
  if (step.op === "additive_scores") return words.additive;
  const masks = step.inputs.some((input) => stepNamed(input)?.op === "nothing_hidden");
  if (step.op === "add" && !masks) return words.bias;
  if (step.op === "add") return words.maskNone;
  if (step.op === "mask") return values.includes(-Infinity) ? words.mask : words.maskNone;
  if (step.op !== "scale") return words.other(step.op);
  const factor = Number(step.settings.factor);
  const width = Math.round(1 / factor ** 2);
  if (factor === 1) return words.same;
  return Math.abs(factor * Math.sqrt(width) - 1) < 1e-6 ? words.root(width) : words.times(brief(factor));
}

function linesOf(one: Attention, head: number, row: number): Line[] {
  return one.lines.filter((step) => step.op !== "same").flatMap((step) => {
    const shown = tensorShown(step.name);
    if (!shown) return [];
    const columns = shown.shape.at(-1)!;
    const index = [...(shown.shape.length > 2 ? [Math.min(head, shown.shape[0]! - 1)] : []), Math.min(row, shown.shape.at(-2)! - 1)];
    const start = index.reduce((place, at, axis) => place * shown.shape[axis]! + at, 0) * columns;
    const values = shown.data.subarray(start, start + columns);
    return [{ step, name: nameOfLine(step, values), values, index }];
  });
}

/** Which columns are shown: all, or the strongest of the last line, and always the selected one. */
function columnsOf(last: Line | undefined, key: number): number[] {
  const all = Array.from({ length: last?.values.length ?? 0 }, (_, i) => i);
  if (!last || all.length <= most()) return all;
  const best = [...all].sort((a, b) => Math.abs(last.values[b]!) - Math.abs(last.values[a]!)).slice(0, most());
  return [...new Set([...best, key])].filter((i) => i < all.length).sort((a, b) => a - b);
}

function Bar({ value, top, share }: { value: number; top: number; share: boolean }) {
  const size = Number.isFinite(value) ? Math.max(1, (Math.abs(value) / top) * (share ? 34 : 19)) : 0;
  if (!Number.isFinite(value)) return <span class="updown nothing" />;
  return (
    <span class={`updown ${share ? "shares" : ""}`}>
      <i class={value < 0 ? "minus" : share ? "share" : "plus"} style={{ height: `${size}px`, ...(value < 0 ? { top: "50%" } : { bottom: share ? "0" : "50%" }) }} />
    </span>
  );
}

/** Short enough for a narrow column. */
function inCell(value: number, share: boolean): string {
  if (value === -Infinity) return "−∞";
  if (value === 0) return "0";
  if (share) return value < 0.0005 ? "0" : value > 0.9995 ? "1" : value.toFixed(3).replace(/^0/, "");
  return value.toFixed(Math.abs(value) >= 10 ? 0 : 1).replace(/^-0\.0$/, "0").replace("-", "−");
}

function LineRow({ line, columns, chosen }: { line: Line; columns: number[]; chosen: number }) {
  const share = line.step.op === "softmax" && showing.value !== "B-A";
  const top = share ? 1 : largest(line.values) || 1;
  const pick = (column: number) => selectNumber(line.step.name, [...line.index, column]);
  const current = picked.tap.value === line.step.name || (!picked.tap.value && line.step.op === "softmax");
  return (
    <tr>
      <th scope="row"><button type="button" class="plain" aria-pressed={current} onClick={() => pick(chosen)}>{line.name}</button></th>
      {columns.map((i) => (
        <td key={i} data-on={i === chosen ? "" : undefined} onClick={() => pick(i)}>
          <Bar value={line.values[i]!} top={top} share={share} />
          <span class="value">{inCell(line.values[i]!, share)}</span>
        </td>
      ))}
    </tr>
  );
}

/** On narrow screens: the strongest keys under each other, the lines side by side. */
function SortedList({ lines, labels, chosen }: { lines: Line[]; labels: readonly string[]; chosen: number }) {
  const last = lines.at(-1);
  if (!last) return null;
  const all = Array.from({ length: last.values.length }, (_, i) => i).sort((a, b) => Math.abs(last.values[b]!) - Math.abs(last.values[a]!));
  const shown = [...new Set([...all.slice(0, LISTED), chosen])].filter((i) => i < last.values.length);
  const share = (line: Line) => line.step.op === "softmax" && showing.value !== "B-A";
  return (
    <table class="sorted">
      <thead><tr><td />{lines.map((line) => <th key={line.step.name} scope="col">{line.name}</th>)}</tr></thead>
      <tbody>{shown.map((i) => (
        <tr key={i} data-on={i === chosen ? "" : undefined}>
          <th scope="row"><button type="button" class="plain" onClick={() => selectNumber(last.step.name, [...last.index, i])}><Piece text={labels[i] ?? String(i + 1)} /></button></th>
          {lines.map((line) => <td class="num" key={line.step.name} onClick={() => selectNumber(line.step.name, [...line.index, i])}>{inCell(line.values[i]!, share(line))}</td>)}
        </tr>
      ))}</tbody>
    </table>
  );
}

export function RowLines({ one, rows, columns }: { one: Attention; rows: { value: Axis }; columns: { value: Axis } }) {
  const [query, chosen] = [picked.query.value, picked.key.value];
  const lines = linesOf(one, picked.head.value, query);
  const shown = columnsOf(lines.at(-1), chosen);
  const labels = columns.value.labels;
  const name = rows.value.labels[Math.min(query, rows.value.labels.length - 1)] ?? "";
  return (
    <section class="panel">
      <h3><WithPieces text={T.head.row(name)} /><small>{narrow.value ? T.head.strongestFirst : shown.length < labels.length ? T.head.strongestOnly(shown.length) : T.head.rowNote}</small></h3>
      {narrow.value ? <SortedList lines={lines} labels={labels} chosen={chosen} /> : <div class="scroll" tabIndex={0} role="region" aria-label={T.head.row(name)}>
        <table class="lines">
          <thead><tr><td />{shown.map((i) => <th key={i} scope="col" data-on={i === chosen ? "" : undefined}><button type="button" class="plain" onClick={() => selectNumber(one.pattern.name, [...(lines.at(-1)?.index ?? []), i])}><Piece text={labels[i] ?? String(i + 1)} /></button></th>)}</tr></thead>
          <tbody>{lines.map((line) => <LineRow line={line} columns={shown} chosen={chosen} key={line.step.name} />)}</tbody>
        </table>
      </div>}
    </section>
  );
}
