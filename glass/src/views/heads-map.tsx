// All heads of all layers as small patterns, each with a bar for what it is worth.

import { computed, type ReadonlySignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { HeadPlace } from "../analysis/knockouts";
import type { Attention } from "../state/anatomy";
import { chosenHead, counted, keyAt, ranking, tags } from "../state/headfacts";
import { grid, tokensBefore } from "../state/image";
import { picked, select } from "../state/selection";
import { attentions, hasPatch, tensorShown } from "../state/store";
import { T } from "../state/strings";
import { withoutHead, worths } from "../state/worth";
import { Canvas, type Drawing } from "./canvas";
import { cellsOf, drawCells, type Cells } from "./cells";
import { loss as lossText } from "./format";
import { overlay } from "./overlay";
import { palette } from "./palette";
import { longTag, shortTag } from "./tagnames";

const LARGEST = 96; // rows or columns of a small picture; of more, the strongest of each block is shown

/** The same matrix with fewer cells: each the strongest of its block. */
export function smaller(cells: Cells): Cells {
  if (cells.rows <= LARGEST && cells.columns <= LARGEST) return cells;
  const [rows, columns] = [Math.min(LARGEST, cells.rows), Math.min(LARGEST, cells.columns)];
  const values = new Float32Array(rows * columns);
  for (let row = 0; row < rows; row++) {
    const from = cells.offset + Math.floor((row * cells.rows) / rows) * cells.columns;
    for (let column = 0; column < cells.columns; column++) {
      const at = row * columns + Math.floor((column * columns) / cells.columns);
      const value = cells.values[from + column]!;
      if (Math.abs(value) > Math.abs(values[at]!)) values[at] = value;
    }
  }
  return { ...cells, values, offset: 0, rows, columns };
}

export function nameOfHead(at: HeadPlace): string {
  return T.heads.name(at.stack, at.kind, at.layer + 1, at.head + 1);
}

export function chooseHead(at: HeadPlace): void {
  select({ stack: at.stack, kind: at.kind, layer: at.layer, head: at.head, tap: "" });
}

function drawingOf(one: Attention, head: number): Drawing {
  return (pen, width, height, colours) => {
    const shown = tensorShown(one.pattern.name);
    if (!shown) return;
    const cells = cellsOf(shown, shown.shape.length > 2 ? [head] : []);
    const before = shown.signed ? null : tokensBefore(cells.columns);
    const image = grid.value;
    if (before === null || !image) {
      drawCells(pen, smaller(cells), width, height, colours, false);
      return;
    }
    const row = Math.min(cells.rows - 1, picked.query.value);
    const values = cells.values as Float32Array;
    const from = cells.offset + row * cells.columns + before;
    overlay(pen, width, height, image, values.subarray(from, from + cells.columns - before));
  };
}

/** The bar of what a head is worth; the longest is that of the most valuable one. */
function WorthBar({ loss, top }: { loss: number | null; top: number }) {
  const colours = palette.value;
  const share = loss === null ? 0 : Math.min(1, Math.abs(loss) / (top || 1));
  const colour = (loss ?? 0) < 0 ? colours?.minus.css[255] : colours?.plus.css[255];
  return <span class="worthbar" aria-hidden="true"><i style={{ width: `${100 * share}%`, background: colour }} /></span>;
}

function HeadThumb({ one, at, top }: { one: Attention; at: HeadPlace; top: ReadonlySignal<number> }) {
  const draw = useMemo(() => drawingOf(one, at.head), [one, at.head]);
  const key = keyAt(at);
  const worth = worths.value.get(key);
  const loss = worth ? counted.value(worth) : null;
  const found = tags.value.get(key);
  const chosen = chosenHead.value;
  const on = chosen !== null && keyAt(chosen) === key;
  const patch = withoutHead(one, at.head);
  const words = [nameOfHead(at), found && longTag(found.looks), loss !== null && lossText(loss)].filter(Boolean).join(", ");
  return (
    <button type="button" role="radio" aria-checked={on} tabIndex={on ? 0 : -1} aria-label={words} title={words} class={patch && hasPatch(patch) ? "patched" : undefined} onClick={() => chooseHead(at)} data-key={key}>
      <Canvas draw={draw} />
      <WorthBar loss={loss} top={top.value} />
      <small><span>{found ? shortTag(found.looks) : "\u00a0"}</span><b>{loss === null ? "" : tenth(loss)}</b></small>
    </button>
  );
}

/** One digit: ".8", "1.2", "12"; "0" where it is nothing. */
function tenth(loss: number): string {
  const size = Math.abs(loss);
  if (size < 0.05) return "0";
  return (loss < 0 ? "−" : "") + size.toFixed(size < 9.95 ? 1 : 0).replace(/^0/, "");
}

interface Group {
  name: string;
  layers: Attention[]; // from the last to the first, as in the figure
}

function groupsOf(all: Attention[]): Group[] {
  const groups = new Map<string, Group>();
  for (const one of all) {
    const name = T.heads.group(one.stack, one.kind);
    const group = groups.get(name) ?? { name, layers: [] };
    groups.set(name, group);
    if (one.z) group.layers.unshift(one);
  }
  return [...groups.values()].filter((group) => group.layers.length);
}

function GroupOf({ group, top }: { group: Group; top: ReadonlySignal<number> }) {
  const most = Math.max(...group.layers.map((one) => one.heads));
  const places = group.layers.map((one) => Array.from({ length: one.heads }, (_, head): HeadPlace => ({ part: one.id, stack: one.stack, kind: one.kind, layer: one.layer, head, z: one.z!.name })));
  const onKeyDown = (event: KeyboardEvent): void => {
    const [down, across] = ({ ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] } as Record<string, [number, number]>)[event.key] ?? [0, 0];
    const now = chosenHead.peek();
    const row = places.findIndex((line) => now && line[0]!.part === now.part);
    if ((!down && !across) || row < 0 || !now) return;
    event.preventDefault();
    const line = places[Math.max(0, Math.min(places.length - 1, row + down))]!;
    const next = line[Math.max(0, Math.min(line.length - 1, now.head + across))]!;
    chooseHead(next);
    (event.currentTarget as HTMLElement).querySelector<HTMLElement>(`[data-key="${keyAt(next)}"]`)?.focus();
  };
  return (
    <div class={`headgroup ${most > 8 ? "many" : ""}`}>
      <h3>{group.name}</h3>
      <div role="radiogroup" aria-label={group.name} onKeyDown={onKeyDown}>
        {group.layers.map((one, row) => (
          <div class="headline" key={one.id}>
            <span class="blockno" title={T.head.block(one.layer + 1)}>{one.layer + 1}</span>
            <div class="thumbrow" style={{ gridTemplateColumns: `repeat(${most}, minmax(0, 76px))` }}>
              {places[row]!.map((at) => <HeadThumb one={one} at={at} top={top} key={at.head} />)}
            </div>
          </div>
        ))}
      </div>
    </div>
  );
}

export function HeadsMap() {
  const groups = useMemo(() => groupsOf(attentions.value), [attentions.value]);
  const top = useMemo(() => computed(() => ranking.value.reduce((most, one) => Math.max(most, Math.abs(one.loss)), 0)), []);
  const heads = Math.max(...groups.map((group) => Math.max(...group.layers.map((one) => one.heads))));
  return <section class={`panel headsmap ${heads > 8 ? "wide" : ""}`}>{groups.map((group) => <GroupOf group={group} top={top} key={group.name} />)}</section>;
}
