// The causal-leak test, run live: replace a piece of the output and see what moves.

import { computed, signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { spoken, visible } from "../state/labels";
import { causalSequence, leak, runnerUp, testLeak, type Leak } from "../state/leak";
import { runA, source, vocabularyText } from "../state/store";
import { T } from "../state/strings";
import { choicesOf } from "../state/worth";
import type { Cells } from "./cells";
import { Matrix, type Axis, type Place } from "./matrix";
import { tiny } from "./format";

const position = signal(-1); // -1: the last piece that is read again
const picked = signal<Place>({ row: 0, column: 0 });

/** Small changes stay visible: the colour is the cube root of the change. */
function cellsOfLeak(found: Leak): Cells {
  const values = found.moved.map((change) => (change > 0 ? Math.max(0.12, Math.cbrt(Math.min(1, change))) : 0));
  return { values, offset: 0, rows: found.layers.length, columns: found.positions, signed: false, top: 1 };
}

function Result({ found }: { found: Leak }) {
  const cells = useMemo(() => computed(() => cellsOfLeak(found)), [found]);
  const rows = useMemo(() => computed<Axis>(() => ({ name: T.proof.leakRows, labels: found.layers.map((layer) => layer.name) })), [found]);
  const columns = useMemo(() => computed<Axis>(() => ({ name: T.proof.leakColumns, labels: found.run.pieces[causalSequence()] ?? [] })), [found]);
  const say = (row: number, column: number) => {
    const change = found.moved[row * found.positions + column]!;
    return T.proof.leakSay(found.layers[row]?.name ?? "", spoken(columns.value.labels[column] ?? ""), change === 0 ? T.proof.leakSame : T.proof.leakMoved(tiny(change)));
  };
  return (
    <>
      <p class={found.broken ? "warn" : "good"} role="status">{found.broken ? T.proof.leakBad(found.broken) : T.proof.leakOk(found.earlier)}</p>
      <Matrix cells={cells} rows={rows} columns={columns} picked={picked} onPick={(row, column) => { picked.value = { row, column }; }} title={T.proof.leak} say={say} numbers={false} largest={34} />
    </>
  );
}

function Controls() {
  const a = runA.value!;
  const written = a.written!;
  const last = Math.max(0, written.ids.length - 2); // the very last one is not read again
  const chosen = position.value >= 0 && position.value <= last ? position.value : last;
  const row = choicesOf(a)[chosen]?.row ?? chosen;
  const other = runnerUp(a, row, written.ids[chosen]!);
  return (
    <div class="controls">
      <label>{T.proof.leakPiece}{" "}
        <select value={chosen} onChange={(event) => { position.value = Number(event.currentTarget.value); }}>
          {written.pieces.slice(0, last + 1).map((piece, i) => <option key={i} value={i}>{i + 1} {visible(piece)}</option>)}
        </select>
      </label>
      <span>{T.proof.leakWith(visible(vocabularyText(other)))}</span>
      <button type="button" onClick={() => void testLeak(chosen, other)}>{T.proof.leakRun}</button>
    </div>
  );
}

export function LeakTest() {
  const [a, sequence, live] = [runA.value, causalSequence(), source.value?.live];
  const words = T.proof;
  const usable = live && sequence && a?.written && a.written.ids.length > 1;
  const why = sequence ? (live ? "" : words.leakRecorded) : words.leakNone;
  return (
    <section class="panel">
      <h3>{words.leak}</h3>
      {usable ? <><p class="note">{words.leakLead}</p><Controls /></> : <p class="note">{why}</p>}
      {usable && leak.value?.run === a && <Result found={leak.value} />}
    </section>
  );
}
