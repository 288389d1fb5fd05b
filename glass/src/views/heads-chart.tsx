// Sharpness against worth: what a pattern promises, and what it is good for.

import { chosenHead, keyAt, ranking, verdict, type Ranked } from "../state/headfacts";
import { T } from "../state/strings";
import { ofNumber, ofVector } from "../state/worth";
import { placeLabels, type Label } from "../analysis/placelabels";
import { useWidth } from "./canvas";
import { brief, loss, nats, percent } from "./format";
import { chooseHead, nameOfHead } from "./heads-map";
import { longTag } from "./tagnames";

const HEIGHT = 220;
const PAD = { left: 46, right: 12, top: 12, bottom: 26 };

interface Scale {
  width: number;
  low: number;
  high: number;
}

function at(one: Ranked, scale: Scale): [number, number] {
  const x = PAD.left + (one.tags?.sharpness ?? 0) * (scale.width - PAD.left - PAD.right);
  return [x, PAD.top + ((scale.high - one.loss) / (scale.high - scale.low)) * (HEIGHT - PAD.top - PAD.bottom)];
}

/** The names that fit where they cover neither a point nor each other: at the right or left of their point, above or below it. */
function labelled(wanted: Ranked[], all: Ranked[], scale: Scale): Map<string, Label> {
  const points = all.map((one) => { const [x, y] = at(one, scale); return { key: keyAt(one.place), x, y }; });
  const names = wanted.map((one) => { const [x, y] = at(one, scale); return { key: keyAt(one.place), x, y, text: nameOfHead(one.place) }; });
  return placeLabels(names, points, { left: PAD.left, right: scale.width, top: 0, bottom: HEIGHT - PAD.bottom + 8 });
}

/** Shapes say which kind of attention: a disc looks back or around, a square reads the other stack. */
function Mark({ one, scale, on, label }: { one: Ranked; scale: Scale; on: boolean; label: Label | undefined }) {
  const [x, y] = at(one, scale);
  const cross = one.place.kind.includes("cross");
  const words = T.heads.point(nameOfHead(one.place), percent(one.tags?.sharpness ?? 0), loss(one.loss));
  return (
    <g class={on ? "dot on" : "dot"} onClick={() => chooseHead(one.place)}>
      <title>{words}</title>
      {cross ? <rect x={x - 4.5} y={y - 4.5} width={9} height={9} /> : <circle cx={x} cy={y} r={5} class={one.place.stack === "encoder" ? "hollow" : undefined} />}
      {label && Math.abs(label.y - 4 - y) > 20 && <line class="leader" x1={x} y1={y} x2={label.x} y2={label.y < y ? label.y + 3 : label.y - 10} />}
      {label && <text x={label.x} y={label.y} text-anchor={label.anchor}>{nameOfHead(one.place)}</text>}
    </g>
  );
}

function ticks(low: number, high: number): number[] {
  const step = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50].find((size) => (high - low) / size <= 5) ?? 100;
  const all: number[] = [];
  for (let at = Math.ceil(low / step); at <= Math.floor(high / step); at++) all.push(at * step);
  return all;
}

function Axes({ scale }: { scale: Scale }) {
  const y = (value: number): number => PAD.top + ((scale.high - value) / (scale.high - scale.low)) * (HEIGHT - PAD.top - PAD.bottom);
  const wide = scale.width - PAD.left - PAD.right;
  const little = verdict.value?.little ?? 0;
  return (
    <g class="axes">
      {verdict.value && <rect class="corner" x={PAD.left + 0.6 * wide} width={0.4 * wide} y={Math.max(PAD.top, y(little))} height={Math.max(6, Math.min(HEIGHT - PAD.bottom, y(-little)) - Math.max(PAD.top, y(little)))} />}
      {ticks(scale.low, scale.high).map((value) => (
        <g key={value}><line x1={PAD.left} x2={scale.width - PAD.right} y1={y(value)} y2={y(value)} class={value === 0 ? "zero" : undefined} /><text x={PAD.left - 6} y={y(value) + 4} text-anchor="end">{brief(value).replace(/\.?0+$/, "") || "0"}</text></g>
      ))}
      {[0, 0.5, 1].map((value) => <text key={value} x={PAD.left + value * wide} y={HEIGHT - 8} text-anchor={value === 0 ? "start" : value === 1 ? "end" : "middle"}>{value === 0.5 ? T.heads.sharp : value}</text>)}
    </g>
  );
}

/** What the shapes mean, where there are several. */
function MarksLegend({ all }: { all: Ranked[] }) {
  const words = T.heads.marks;
  const has = (test: (one: Ranked) => boolean): boolean => all.some(test);
  const cross = has((one) => one.place.kind.includes("cross"));
  if (!cross) return null;
  return <>○ {words.encoder} · ● {words.decoder} · ■ {words.cross} · </>;
}

export function HeadsChart() {
  const { ref, width } = useWidth();
  const all = ranking.value.filter((one) => one.tags);
  const losses = all.map((one) => one.loss);
  const [low, high] = [Math.min(0, ...losses), Math.max(0.02, ...losses)];
  const margin = (high - low) * 0.08;
  const scale: Scale = { width: Math.max(220, Math.min(520, width.value)), low: low - margin, high: high + margin };
  const chosen = chosenHead.value;
  const idle = verdict.value?.sharpIdle?.worth.place;
  const named = labelled(all.filter((one, i) => i < 3 || one.place === idle || (chosen && keyAt(one.place) === keyAt(chosen))), all, scale);
  return (
    <figure class="headschart">
      <h3>{T.heads.chart}</h3>
      <div ref={ref} />
      <svg width={scale.width} height={HEIGHT} role="img" aria-label={T.heads.chartLabel(all.length)}>
        <Axes scale={scale} />
        {all.map((one) => <Mark key={keyAt(one.place)} one={one} scale={scale} on={chosen !== null && keyAt(chosen) === keyAt(one.place)} label={named.get(keyAt(one.place))} />)}
      </svg>
      <figcaption class="note">{ofNumber.value ? T.heads.worthNumber : ofVector.value ? T.heads.worthVector : T.heads.worth} · <MarksLegend all={all} /> <span class="cornerkey" aria-hidden="true" /> {T.heads.corner}</figcaption>
    </figure>
  );
}

const SHOWN = 6;

/** The list of what each head is worth, the most valuable first. */
export function HeadsRanking() {
  const all = ranking.value;
  if (!all.length) return null;
  const top = all.reduce((most, one) => Math.max(most, Math.abs(one.loss)), 0) || 1;
  const words = T.heads.columns;
  const rows = (list: Ranked[]) => list.map((one) => <Row one={one} top={top} key={keyAt(one.place)} />);
  return (
    <section class="headsranking">
      <h3>{T.heads.ranking}<small>{ofNumber.value ? T.heads.rankingNumber : ofVector.value ? T.heads.rankingVector : T.heads.rankingNote}</small></h3>
      <table>
        <thead><tr><th>{words.head}</th><th class="num">{words.worth}</th><td /><th class="num">{words.sharp}</th></tr></thead>
        <tbody>{rows(all.slice(0, SHOWN))}</tbody>
      </table>
      {all.length > SHOWN && <details><summary>{T.heads.more(all.length)}</summary><table><tbody>{rows(all.slice(SHOWN))}</tbody></table></details>}
    </section>
  );
}

function Row({ one, top }: { one: Ranked; top: number }) {
  const chosen = chosenHead.value;
  const on = chosen !== null && keyAt(chosen) === keyAt(one.place);
  return (
    <tr data-on={on ? "" : undefined}>
      <th scope="row"><button type="button" class="plain" aria-pressed={on} onClick={() => chooseHead(one.place)}>{nameOfHead(one.place)}{one.tags && <small>{longTag(one.tags.looks)}</small>}</button></th>
      <td class="num">{nats(one.loss)}</td>
      <td class="bar" aria-hidden="true"><i class={one.loss < 0 ? "minus" : "plus"} style={{ width: `${(100 * Math.abs(one.loss)) / top}%` }} /></td>
      <td class="num">{one.tags ? one.tags.sharpness.toFixed(2) : ""}</td>
    </tr>
  );
}
