// The lab of positions: the candidates beside each other, the waves, how similar positions are, and the rotation.

import { useComputed, useSignal } from "@preact/signals";
import { cellsOf } from "../views/cells";
import { brief, tiny } from "../views/format";
import { Strip } from "../views/strip";
import { Panel, Slider } from "./controls";
import type { Lesson } from "./data";
import { Clocks } from "./clocks";
import { Lines } from "./lines";
import { CANDIDATES, factsOf, likeness, tableOf, turned, unseen, waves, type Candidate, type Settings } from "./positions";
import { row, sinusoidal, transposed } from "./reckon";

const SEEN = 64; // positions that a model was trained with
const SHOWN = 128; // positions of the drawings
const NEAR = 60; // positions on both sides
const BASES = Array.from({ length: 17 }, (_, i) => Math.round(10 ** (1 + i / 4)));

const count = (value: number): string => Math.round(value).toLocaleString("en");

interface Row {
  name: string;
  candidate: Candidate;
}

function digits(values: number[], name: string): string {
  if (name === "binary digits") return [...values].reverse().join("");
  const shown = values.slice(0, 4).map((value) => (Number.isInteger(value) ? String(value) : value.toFixed(3).replace("-", "−")));
  return `${shown.join("  ")}${values.length > 4 ? "  …" : ""}`;
}

const HEADS = ["largest value", "longest ÷ shortest step", "closest two", "a step in a longer text", `values unseen before ${SEEN}`];

const Fact = ({ ok, text, head }: { ok: boolean; text: string; head: number }) => <td class={ok ? "fact ok" : "fact not"} data-label={HEADS[head]}><span><b>{ok ? "✓" : "✗"}</b> {text}</span></td>;

function CandidateRow({ one, at, words }: { one: Row; at: number; words: number }) {
  const facts = useComputed(() => factsOf(tableOf(one.candidate, words))).value;
  const [outside, of] = unseen(one.candidate, at, SEEN, words);
  const byLength = one.name.includes("length");
  return (
    <tr>
      <th scope="row">{one.name}</th>
      <td class="mono" data-label={`position ${at}`}>{digits(one.candidate(at, words), one.name)}</td>
      <Fact head={0} ok={facts.largest <= 1 + 1e-9} text={brief(facts.largest)} />
      <Fact head={1} ok={facts.unevenness < 1.5} text={brief(facts.unevenness)} />
      <Fact head={2} ok={facts.closest > 0.05} text={brief(facts.closest)} />
      <Fact head={3} ok={!byLength} text={byLength ? `1/${words - 1}: changes` : "the same"} />
      <Fact head={4} ok={outside === 0} text={outside ? `${outside} of ${of} new` : "none new"} />
    </tr>
  );
}

function Candidates({ at, words, width, base }: { at: number; words: number; width: number; base: number }) {
  const rows: Row[] = [...Object.entries(CANDIDATES), ["many waves", waves(width, base)] as const].map(([name, candidate]) => ({ name, candidate }));
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="The candidates"><table class="candidates">
      <thead><tr><th scope="col">candidate</th><th scope="col">position {at}</th>{HEADS.map((head) => <th key={head} scope="col">{head}</th>)}</tr></thead>
      <tbody>{rows.map((one) => <CandidateRow key={`${one.name} ${words} ${width} ${base}`} one={one} at={at} words={words} />)}</tbody>
    </table></div>
  );
}

function WavePicture({ width, base, at, onPick }: { width: number; base: number; at: number; onPick(position: number): void }) {
  const table = useComputed(() => transposed(sinusoidal(SHOWN, width, base))).value;
  const cells = useSignal(cellsOf({ ...table, signed: true }, [], 1));
  const place = useSignal({ row: -1, column: at });
  cells.value = cellsOf({ ...table, signed: true }, [], 1);
  place.value = { row: -1, column: at < SHOWN ? at : -1 };
  const tall = Math.max(2, Math.min(14, 220 / width));
  const wide = SHOWN * 8;
  return (
    <div class="wave-picture">
      <Strip cells={cells} title="The table of positions: a column for each position, a row for each dimension" picked={place} onPick={(_, column) => onPick(column)} tall={tall} wide={wide / SHOWN} />
      {at < SHOWN && <i class="at-position" style={{ left: `${(100 * (at + 0.5)) / SHOWN}%` }} />}
    </div>
  );
}

function Likeness({ width, base, at }: { width: number; base: number; at: number }) {
  const table = sinusoidal(at + NEAR + 1, width, base);
  const first = Math.max(0, at - NEAR);
  const points = likeness(table, at).map((value, s) => [s - at, value] as const).slice(first);
  const far = likeness(table, at)[at + 10]!;
  const low = Math.min(0, ...points.map((point) => point[1]));
  return (
    <>
      <Lines title="Likeness by distance" series={[{ name: "likeness", kind: 0, points }]} from={[-NEAR, low < 0 ? -1 : 0]} to={[NEAR, 1]} marks={[-60, -30, 0, 30, 60].map((k) => [k, String(k)] as const)} across={`words after position ${at}`} at={0} />
      <p class="note">10 words later: {far.toFixed(3)}. Move the position: the curve stays, because P(t) · P(t + k) is a sum of cosines of k alone.</p>
    </>
  );
}

export function PositionsLab({ lesson }: { lesson: Lesson<Settings> }) {
  const { settings } = lesson;
  const at = useSignal(Math.min(100, settings.length - 1));
  const words = useSignal(128);
  const width = useSignal(settings.width);
  const baseStep = useSignal(BASES.indexOf(settings.base));
  const shift = useSignal(5);
  const base = BASES[baseStep.value]!;
  const [t, d] = [Math.min(at.value, words.value - 1), width.value];
  const table = sinusoidal(t + shift.value + 1, d, base);
  const [here, there] = [row(table, t), row(table, t + shift.value)];
  const moved = turned(here, shift.value, d, base);
  const pairs = Math.floor(d / 2) * 2;
  const gap = Math.max(0, ...moved.slice(0, pairs).map((value, i) => Math.abs(value - there[i]!)));
  return (
    <div class="cards">
      <Panel title="Where, how wide, how slow?" wide>
        <div class="two-sliders">
          <Slider label="Position" value={at} min={0} max={settings.length - 1} />
          <Slider label="Words of the text" value={words} min={8} max={settings.length} step={8} />
          <Slider label="Width of the waves" value={width} min={2} max={Math.max(128, settings.width)} />
          <Slider label="Base" value={baseStep} min={0} max={BASES.length - 1} shown={(step) => `${count(BASES[step]!)} · the slowest wave repeats after ${count(2 * Math.PI * BASES[step]! ** (1 - 2 / Math.max(2, d + (d % 2))))}`} />
        </div>
        {at.value > t && <p class="note">This text ends at position {t}.</p>}
      </Panel>
      <Panel title="The candidates, at this position" note="✗: the property that it lacks" wide>
        <Candidates at={t} words={words.value} width={d} base={base} />
        <p class="note">Bounded: no value above 1. Smooth: all steps about as long. Unique: no two positions close together. The last column: how many of its numbers lie outside what positions 0 to {SEEN - 1} had; a model that was trained on those has never seen such values.</p>
      </Panel>
      <Panel title="The waves" note="a column is a position, a row is a dimension" wide>
        <WavePicture width={d} base={base} at={t} onPick={(position) => { at.value = position; }} />
        <p class="note">Fast dimensions above, slow ones below. Blue is +1, orange is −1. Positions 0 to {SHOWN - 1}.</p>
      </Panel>
      <Panel title="How similar are positions?" note="P(t) · P(t + k), 1 for the same">
        <Likeness width={d} base={base} at={t} />
      </Panel>
      <Panel title="The rotation M" note="every pair is a clock">
        <Slider label="c, words later:" value={shift} min={0} max={60} />
        <Clocks here={here} there={there} width={d} />
        <p class="sum">M<sub>{shift.value}</sub> P({t}) = P({t + shift.value}), largest difference <b>{tiny(gap)}</b></p>
        <p class="note">Each hand turns by c times its own angle, wherever it stands. So one matrix says “{shift.value} words later” at every position.</p>
      </Panel>
    </div>
  );
}
