// Connects a source of numbers with the page.

import { render } from "preact";
import type { Source } from "./engine/header";
import { followState, readAddress } from "./state/address";
import { followChecks } from "./state/checking";
import { followKeys } from "./state/keys";
import { followFitting } from "./state/fitting";
import { readoutFor } from "./state/inside";
import { isPatch, labelsOf, spoken } from "./state/labels";
import { fromHash, select } from "./state/selection";
import { attentions, isOutputRow, reckoner, runA, source, type Reckoner } from "./state/store";
import { followTour } from "./state/touring";
import { Frame } from "./views/frame";
import { followTheme } from "./views/palette";

/** How good an example a cell is: a large share between two long pieces, not to or from a mark. */
function worthShowing(share: number, query = "", key = ""): number {
  const long = (piece: string) => (/^[‹<[]/.test(piece) ? 0 : Math.min(6, spoken(piece).length));
  return share < 0.3 || share > 0.9999 ? share / 100 : share * long(query) * (1 + long(key)) + share / 1000;
}

/** The attention that a reader meets first: the last one that reads another sequence, or the last of all. */
function selectFirst(): void {
  const all = attentions.value;
  const first = all.filter((one) => one.queries !== one.keys).at(-1) ?? all.at(-1);
  const run = runA.peek();
  if (!first || !run) return;
  const { shape, data } = run.pass.values(first.pattern.name);
  const [rows, columns] = [shape.at(-2)!, shape.at(-1)!];
  const [queries, keys] = [labelsOf(first.pattern, -2, rows, run), labelsOf(first.pattern, -1, columns, run)];
  const said = isOutputRow(first.pattern) ? readoutFor(run) : null;
  // Of a text that is continued its end, of one with gaps those, of an image the row that the class is read from.
  const asked = said ? new Set(said.answer) : isPatch(queries[0] ?? "") ? new Set([0]) : null;
  const place = (i: number) => ({ head: Math.floor(i / (rows * columns)), query: Math.floor(i / columns) % rows, key: i % columns });
  let [best, most] = [0, -1];
  data.forEach((share, i) => {
    if (asked && !asked.has(place(i).query)) return;
    const score = worthShowing(share, queries[place(i).query], keys[place(i).key]);
    if (score > most) [best, most] = [i, score];
  });
  const at = place(best);
  select({ stack: first.stack, kind: first.kind, layer: first.layer, ...at, step: isOutputRow(first.pattern) ? at.query : 0 });
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
  followFitting();
  followState();
  followChecks();
}
