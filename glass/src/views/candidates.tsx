// All candidates of one place: their probabilities on a logarithmic axis, and the most likely ones as a list.

import { useMemo } from "preact/hooks";
import { allowed, bounds, candidate, inA, logits, order, positionOf, sampler } from "../state/choosing";
import { candidateName, place, readout, selectPlace } from "../state/inside";
import { force, source, whatIf } from "../state/store";
import { T } from "../state/strings";
import { Canvas, type Drawing } from "./canvas";
import { brief, chance, percent } from "./format";
import { palette } from "./palette";
import { Piece, WithPieces } from "./tokens";

const LOWEST = 1e-8; // of the axis
const SHOWN = 10;

/** 0 to 1 on the logarithmic axis. */
function height(probability: number): number {
  return Math.max(0, 1 + Math.log10(Math.max(probability, LOWEST)) / -Math.log10(LOWEST));
}

const LEFT = 72;

/** A curve from the most to the least likely one; the filled part is what a sampler allows. */
const curve: Drawing = (pen, width, tall, colours) => {
  const found = allowed.value;
  if (!found) return;
  const [down, count] = [tall - 18, found.order.length];
  const [across, last] = [width - LEFT - 8, Math.log(Math.max(2, count))];
  const x = (rank: number): number => LEFT + (Math.log(rank) / last) * across;
  const y = (share: number): number => 6 + (1 - height(share)) * (down - 6);
  pen.font = "11px system-ui, sans-serif";
  pen.textBaseline = "middle";
  pen.textAlign = "right";
  for (const share of [1, 1e-2, 1e-4, 1e-6, 1e-8]) {
    pen.fillStyle = colours.line;
    pen.fillRect(LEFT, y(share), across, 1);
    pen.fillStyle = colours.soft;
    pen.fillText(`${Number((share * 100).toPrecision(1))}%`, LEFT - 5, y(share));
  }
  const probability = (rank: number): number => Math.exp(found.before[found.order[rank - 1]!]!);
  const fill = (from: number, to: number, colour: string): void => {
    pen.fillStyle = colour;
    pen.beginPath();
    pen.moveTo(x(from), down);
    const step = Math.max(1, Math.floor(count / 4000));
    for (let rank = from; rank <= to; rank += rank < 200 ? 1 : step) pen.lineTo(x(rank), y(probability(rank)));
    pen.lineTo(x(to), y(probability(to)));
    pen.lineTo(x(to), down);
    pen.fill();
  };
  fill(1, count, colours.line);
  if (found.count > 1) fill(1, found.count, colours.share.css[150]!);
  else pen.fillRect(x(1), y(probability(1)), 2, down - y(probability(1)));
  ranks(pen, x, down, count, colours.soft);
  drawBounds(pen, { x: LEFT, across, y }, colours.ink);
  mark(pen, { x: x(order.value.indexOf(candidate.value) + 1), y: y(Math.exp(found.before[candidate.value]!)) }, colours.pick);
};

function ranks(pen: CanvasRenderingContext2D, x: (rank: number) => number, down: number, count: number, colour: string): void {
  pen.fillStyle = colour;
  pen.textAlign = "center";
  for (let rank = 1; rank <= count; rank *= 10) pen.fillText(rank.toLocaleString("en"), x(rank), down + 10);
  pen.textAlign = "right";
  if (x(count) - x(10 ** Math.floor(Math.log10(count))) > 60) pen.fillText(count.toLocaleString("en"), x(count), down + 10);
}

/** Dashed: what training with label smoothing asks of the right piece, and of each other one. */
function drawBounds(pen: CanvasRenderingContext2D, place: { x: number; across: number; y(share: number): number }, ink: string): void {
  const found = bounds.value;
  if (!found) return;
  pen.strokeStyle = pen.fillStyle = ink;
  pen.lineWidth = 1;
  pen.setLineDash([4, 3]);
  pen.textAlign = "right";
  const lines = [[found.ceiling, T.choice.ceilingLine(percent(found.ceiling)), 9], [found.floor, T.choice.floorLine(chance(found.floor)), -8]] as const;
  for (const [share, text, by] of lines) {
    const y = Math.round(place.y(share)) + 0.5;
    pen.beginPath();
    pen.moveTo(place.x, y);
    pen.lineTo(place.x + place.across, y);
    pen.stroke();
    pen.fillText(text, place.x + place.across, y + by);
  }
  pen.setLineDash([]);
}

function mark(pen: CanvasRenderingContext2D, at: { x: number; y: number }, colour: string): void {
  pen.fillStyle = colour;
  pen.beginPath();
  pen.arc(at.x, at.y, 4.5, 0, 7);
  pen.fill();
}

export function Curve() {
  const found = allowed.value;
  if (!found || found.order.length < 30) return null;
  const top = percent(Math.exp(found.before[found.order[0]!]!));
  return (
    <figure class="curve">
      <h3>{T.choice.all(found.order.length)}</h3>
      <div><Canvas draw={curve} label={T.choice.allLabel(found.order.length, top)} /></div>
      <figcaption class="note">{T.choice.logNote}</figcaption>
    </figure>
  );
}

/** A bar from the right end of the axis: longer is more likely, each fifth is a factor. */
function LogBar({ share, on }: { share: number; on: boolean }) {
  const colours = palette.value;
  return <i style={{ width: `${100 * height(share)}%`, background: on ? colours?.share.css[200] : colours?.line }} />;
}

/** For the selected candidate: B must write it here. */
function Force() {
  const id = candidate.value;
  const position = positionOf(place.value);
  if (position === null || !source.value?.live) return null;
  const on = whatIf.value.forced[position] === id;
  if (id === readout.value?.chosen[place.value] && !on) return <p class="note">{T.choice.forceHint}</p>;
  return <p><button type="button" aria-pressed={on} onClick={() => void force(position, on ? null : id)}><WithPieces text={(on ? T.choice.forced : T.choice.forceLabel)(candidateName(id))} /></button></p>;
}

function Row({ id, sampled }: { id: number; sampled: boolean }) {
  const found = allowed.value!;
  const on = id === candidate.value;
  const share = Math.exp(found.before[id]!);
  return (
    <tr data-on={on ? "" : undefined}>
      <td class="num note">{order.value.indexOf(id) + 1}</td>
      <th scope="row"><button type="button" class="plain" aria-pressed={on} onClick={() => selectPlace(place.peek(), id)}><Piece text={candidateName(id)} /></button></th>
      <td class="num">{brief(logits.value![id]!)}</td>
      <td class="num">{chance(share)}</td>
      <td class="bar" aria-hidden="true"><LogBar share={share} on={found.after[id]! > 0} /></td>
      {inA.value && <td class="num">{chance(Math.exp(inA.value[id]!))}</td>}
      {sampled && <td class="num">{found.after[id] ? chance(found.after[id]!) : "–"}</td>}
    </tr>
  );
}

export function Candidates() {
  const [found, said] = [allowed.value, readout.value];
  const plain = useMemo(() => sampler, []);
  if (!found || !said) return null;
  const { temperature, topK, topP } = plain.value;
  const sampled = temperature !== 1 || topK > 0 || topP < 1;
  const few = said.candidates < 30;
  const ids = [...found.order.slice(0, few ? 30 : SHOWN)];
  if (!ids.includes(candidate.value)) ids.push(candidate.value);
  const words = T.choice.columns;
  return (
    <section class="candidates">
      <h3>{few && said.kind !== "span" ? T.choice.tableClasses : T.choice.table}</h3>
      <table>
        <thead><tr><td /><th>{words.candidate}</th><th class="num">{words.logit}</th><th class="num">{words.probability}</th><th title={words.barNote}>{words.bar}</th>{inA.value && <th class="num">{words.inA}</th>}{sampled && <th class="num">{words.after}</th>}</tr></thead>
        <tbody>{ids.map((id) => <Row id={id} sampled={sampled} key={id} />)}</tbody>
      </table>
      <Force />
    </section>
  );
}
