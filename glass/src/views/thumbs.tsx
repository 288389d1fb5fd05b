// Small pictures to choose from, such as the heads of a layer.

import type { ReadonlySignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { Canvas } from "./canvas";
import { drawCells, type Cells } from "./cells";

interface ThumbProps {
  cells: ReadonlySignal<Cells>;
}

/** One matrix, small, without names or numbers. */
export function Thumb({ cells }: ThumbProps) {
  const draw = useMemo(() => (...[pen, w, h, colours]: Parameters<Parameters<typeof Canvas>[0]["draw"]>) => drawCells(pen, cells.value, w, h, colours, false), [cells]);
  return <Canvas draw={draw} />;
}

interface ThumbsProps {
  items: { name: string; note?: string | ReadonlySignal<string> | undefined; cells: ReadonlySignal<Cells>; patched?: boolean }[];
  chosen: number;
  label: string;
  onChoose(index: number): void;
}

/** One tab stop; the arrow keys choose. */
export function Thumbs({ items, chosen, label, onChoose }: ThumbsProps) {
  const onKeyDown = (event: KeyboardEvent) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const next = (chosen + by + items.length) % items.length;
    onChoose(next);
    (event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("button")[next]?.focus();
  };
  return (
    <div class="thumbs" role="radiogroup" aria-label={label} onKeyDown={onKeyDown}>
      {items.map((item, i) => (
        <button type="button" role="radio" key={i} aria-checked={i === chosen} tabIndex={i === chosen ? 0 : -1} class={item.patched ? "patched" : undefined} onClick={() => onChoose(i)}>
          <Thumb cells={item.cells} />
          {item.name}
          {item.note !== undefined && <small>{item.note}</small>}
        </button>
      ))}
    </div>
  );
}
