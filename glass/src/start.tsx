// Connects a source of numbers with the page.

import { render } from "preact";
import type { Source } from "./engine/header";
import { followState, readAddress } from "./state/address";
import { followKeys } from "./state/keys";
import { fromHash, select } from "./state/selection";
import { attentions, checks, isOutputRow, reckoner, runA, source, type Reckoner } from "./state/store";
import { followTour } from "./state/touring";
import { Frame } from "./views/frame";
import { followTheme } from "./views/palette";

/** The attention that a reader meets first: the last one that reads another sequence, or the last of all. */
function selectFirst(): void {
  const all = attentions.value;
  const first = all.filter((one) => one.queries !== one.keys).at(-1) ?? all.at(-1);
  const run = runA.peek();
  if (!first || !run) return;
  const { shape, data } = run.pass.values(first.pattern.name);
  const [rows, columns] = [shape.at(-2)!, shape.at(-1)!];
  const best = data.reduce((top, value, i) => (value > data[top]! && (i % (rows * columns)) % columns < columns - 1 ? i : top), 0);
  const [head, row, column] = [Math.floor(best / (rows * columns)), Math.floor(best / columns) % rows, best % columns];
  select({ stack: first.stack, kind: first.kind, layer: first.layer, head, query: row, key: column, step: isOutputRow(first.pattern) ? row : 0 });
}

/** Lets the browser draw first. */
function later(work: () => void): void {
  requestAnimationFrame(() => setTimeout(work, 0));
}

/** Shows the page in `root`, then checks every number. */
export async function start(root: Element, from: Source, reckon: Reckoner): Promise<void> {
  followTheme();
  source.value = from;
  reckoner.value = reckon;
  runA.value = from.recorded(0);
  selectFirst();
  select(fromHash(location.hash).chosen);
  root.replaceChildren();
  render(<Frame />, root);
  followKeys();
  followTour();
  await readAddress();
  followState();
  later(() => { checks.value = from.verify(from.recorded(0)); });
}
