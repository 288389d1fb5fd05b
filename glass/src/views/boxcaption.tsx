// What one box does with the piece that is followed, in a few sentences.

import { activityOf, changeOf, readingsOf, rowOf } from "../analysis/boxes";
import type { Box, Figure, Tower } from "../analysis/figure";
import type { Run } from "../engine/header";
import { spoken } from "../state/labels";
import { attentions, header, vocabularyText } from "../state/store";
import { T } from "../state/strings";
import { share as shareText } from "../state/strings/tour";
import { brief, percent } from "./format";
import { nameOf } from "./rail";
import { Piece, WithPieces } from "./tokens";
import { namesOf, rowIn } from "./whole";

export interface Candidate {
  name: string;
  share: number;
}

function candidateName(id: number): string {
  return header.value?.task.classes?.[id] ?? vocabularyText(id);
}

/** The best candidates at one row of the output, where the model says something. */
export function topCandidates(of: Run, tower: Tower, row: number, count: number): Candidate[] {
  const about = header.value;
  const step = Object.values(about?.program.outputs ?? {})[0];
  if (!about || !step || ["vector", "number", "span"].includes(about.task.head) || !of.pass.has(step)) return [];
  const rows = of.pass.values(step).shape[0] ?? 1;
  const logs = of.logProbs(rows === 1 ? 0 : Math.min(rows - 1, row + Math.max(0, rows - namesOf(tower, of).length)));
  const best: number[] = [];
  for (let i = 0; i < count && i < logs.length; i++) {
    let top = -1;
    for (let at = 0; at < logs.length; at++) if (!best.includes(at) && (top < 0 || logs[at]! > logs[top]!)) top = at;
    best.push(top);
  }
  return best.map((id) => ({ name: candidateName(id), share: Math.exp(logs[id]!) }));
}

function sentence(box: Box, tower: Tower, of: Run, row: number): string {
  const words = T.whole.says_;
  const names = namesOf(tower, of);
  const piece = spoken(names[row] ?? "");
  const width = Number(box.result.shape.at(-1));
  if (box.what === "inputs") {
    const id = of.ids[tower.sequence]?.[row];
    return id === undefined ? words.inputsOther(width) : words.inputs(piece, id, width);
  }
  if (box.what === "output") {
    const [best] = topCandidates(of, tower, row, 1);
    return best ? words.output(spoken(best.name), percent(best.share), of.pass.values(box.result.name).shape.at(-1) ?? 0) : header.value?.task.head === "number" ? words.number(of.answer) : words.vector(width);
  }
  if (box.what === "cross_attention") return words.cross(piece);
  if (attentions.value.some((one) => one.id === box.part)) return words.self(piece);
  const activity = activityOf(of, box, row, names.length);
  if (activity) return words.feed(activity.inner, activity.active, piece);
  if (box.what === "feed_forward") return words.feedPlain(piece);
  if (box.steps.some((step) => step.op === "mean_rows")) return words.mean;
  return /norm/.test(box.what) ? words.norm : words.other(box.steps.length);
}

/** What the heads of an attention read most. */
function Heads({ box, of, row }: { box: Box; of: Run; row: number }) {
  const attention = attentions.value.find((one) => one.id === box.part);
  if (!attention) return null;
  const names = of.pieces[attention.keys] ?? [];
  const readings = readingsOf(of, attention, row).slice(0, 4);
  return <ul class="readings">{readings.map(({ head, key, share }) => <li key={head}>{T.whole.reads(head + 1, shareText(share), "").replace(/“”$/, "")}“<Piece text={names[key] ?? String(key + 1)} />”</li>)}</ul>;
}

function Change({ box, tower, of, row }: { box: Box; tower: Tower; of: Run; row: number }) {
  const before = tower.boxes[tower.boxes.indexOf(box) - 1];
  const count = namesOf(tower, of).length;
  const [from, to] = [before && rowOf(of.pass.values(before.result.name), row, count), rowOf(of.pass.values(box.result.name), row, count)];
  const change = from && to ? changeOf(from, to) : null;
  return change ? <p class="note">{T.whole.change(brief(change.before), brief(change.after), String(Math.round(change.degrees)))}</p> : null;
}

export function BoxCaption({ box, figure, of }: { box: Box | null; figure: Figure; of: Run }) {
  const tower = figure.towers.find((one) => box && one.boxes.includes(box));
  if (!box || !tower) return <div class="boxcaption" aria-live="polite"><p>{T.whole.idle}</p></div>;
  const row = rowIn(tower, of);
  const title = [tower.name, box.layer === null ? "" : T.rail.block(box.layer + 1), nameOf(box)].filter(Boolean).join(", ");
  return (
    <div class="boxcaption" aria-live="polite">
      <h3>{title}</h3>
      <p><WithPieces text={sentence(box, tower, of, row)} /></p>
      <Heads box={box} of={of} row={row} />
      <Change box={box} tower={tower} of={of} row={row} />
    </div>
  );
}
