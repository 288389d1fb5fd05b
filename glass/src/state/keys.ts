// One key, one thing, everywhere on the page except where text is typed.

import { addPatch, attention, attentions, changed, mode, removePatch, hasPatch, runB, source, type Mode } from "./store";
import { select, selection, VIEWS } from "./selection";
import { editing } from "./whatif";
import { withoutHead } from "./worth";
import { signal } from "@preact/signals";

/** Which window is open over the page. */
export const open = signal<"" | "keys" | "jump">("");

function moveLayer(by: number): void {
  const now = attention.value;
  const all = attentions.value;
  if (!now) return;
  const next = all[Math.max(0, Math.min(all.length - 1, all.indexOf(now) + by))]!;
  select({ stack: next.stack, kind: next.kind, layer: next.layer, head: Math.min(selection.value.head, next.heads - 1), tap: "" });
}

function moveHead(by: number): void {
  const now = attention.value;
  if (now) select({ head: (selection.value.head + by + now.heads) % now.heads });
}

/** Removes the selected head, or gives it back. */
export function knockOut(): void {
  const now = attention.value;
  const patch = now && withoutHead(now, Math.min(selection.value.head, now.heads - 1));
  if (!patch || !source.value?.live) return;
  void (hasPatch(patch) ? removePatch(patch) : addPatch(patch));
}

function nextMode(): void {
  const order: Mode[] = ["A", "B", "B-A"];
  if (changed.value && runB.value) mode.value = order[(order.indexOf(mode.value) + 1) % 3]!;
  else editing.value = true;
}

const ACTIONS: Record<string, () => void> = {
  j: () => moveLayer(1), k: () => moveLayer(-1), l: () => moveHead(1), h: () => moveHead(-1),
  x: knockOut, c: nextMode, "/": () => { open.value = "jump"; }, "?": () => { open.value = "keys"; },
};

/** Arrows move through the view's matrix when nothing else has the focus. */
function moveInMatrix(event: KeyboardEvent): void {
  const matrix = document.querySelector<HTMLElement>("main .matrix .body");
  if (!event.key.startsWith("Arrow") || !matrix || (event.target !== document.body && (event.target as Element).id !== "view")) return;
  event.preventDefault();
  matrix.focus();
  matrix.dispatchEvent(new KeyboardEvent("keydown", { key: event.key, shiftKey: event.shiftKey }));
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

export function followKeys(): void {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || open.value) return;
    const view = VIEWS[Number(event.key) - 1];
    const action = view ? () => select({ view }) : ACTIONS[event.key];
    if (!action) return moveInMatrix(event);
    event.preventDefault();
    action();
  });
}
