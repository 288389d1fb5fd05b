// The selected cell of an attention that has other rows and columns than the one before: after another sentence, in another stack.

import { effect } from "@preact/signals";
import type { Run } from "../engine/header";
import { readingAddress } from "./address";
import type { Attention } from "./anatomy";
import { select, selection, type Selection } from "./selection";
import { attention, run } from "./store";

/** The cell that is nearest to the selected one; in place of one that the mask hides, the one that its row reads most. */
export function fitted(one: Attention, of: Run, chosen: Selection): Partial<Selection> {
  const { data, shape } = of.pass.values(one.pattern.name);
  const [rows, columns] = [shape.at(-2)!, shape.at(-1)!];
  const query = Math.min(chosen.query, rows - 1);
  let key = Math.min(chosen.key, columns - 1);
  const start = ((shape.length > 2 ? Math.min(chosen.head, shape[0]! - 1) * rows : 0) + query) * columns;
  const before = one.lines.at(-2)?.name;
  const scores = before && of.pass.has(before) ? of.pass.values(before).data : null;
  if (scores?.[start + key] === -Infinity) {
    const row = data.subarray(start, start + columns);
    key = row.reduce((best, share, at) => (share > row[best]! ? at : best), 0);
  }
  const number = one.lines.some((step) => step.name === chosen.tap) ? { row: query, column: key } : {};
  return { query, key, ...number };
}

/** Whenever another attention or run is shown, the selection is a cell of it. What is selected later by hand stays. */
export function followFitting(): () => void {
  return effect(() => {
    const [one, of] = [attention.value, run.value];
    if (!readingAddress.value && one && of?.pass.has(one.pattern.name)) select(fitted(one, of, selection.peek()));
  });
}
