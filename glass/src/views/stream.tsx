// View 5: where is each word decided? The best guess at every point of the stream, and what adds to the chosen logit.

import { signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { asked, isOutputStream, pointName, pointOf, shownStream } from "../state/adding";
import { canReadOut, candidateName, inputsOfPlaces, output, place, placeName, readout, recurrent, saidAtPlaces, selectPlace, streams } from "../state/inside";
import { decided, followLens, lensTable, type LensTable } from "../state/lensing";
import { picked, select } from "../state/selection";
import { mode, run, source, stepNamed } from "../state/store";
import { T } from "../state/strings";
import { computed } from "@preact/signals";
import { percent } from "./format";
import { Guesses } from "./guesses";
import { LengthsOf, SharesOf, type What } from "./lengths";
import { Path } from "./path";
import { WithPieces } from "./tokens";
import { Within } from "./within";

const what = signal<"guess" | What>("guess"); // what the cells show

const picture = computed(() => ({ point: pointOf(picked.tap.value, shownStream.value, stepNamed(picked.tap.value)?.part), place: place.value }));

/** Selects a point of the stream at one place, and a number of it for the reckoning. */
export function choosePoint(point: number, at: number): void {
  const stream = shownStream.peek();
  const chosen = stream?.points[point];
  if (point < 0 && isOutputStream.peek()) selectPlace(at);
  if (!stream || !chosen) return;
  const kind = chosen.what.includes("attention") ? { kind: chosen.what } : {};
  const column = point === picture.peek().point ? picked.column.peek() : 0;
  select({ stack: stream.stack, layer: chosen.layer ?? 0, ...kind, tap: chosen.step, row: at, column, query: at, step: isOutputStream.peek() ? at : picked.step.peek() });
}

/** Where the selected word is decided, in a sentence. */
function Sentence({ table }: { table: LensTable }) {
  void table.version.value;
  const at = place.value;
  const said = table.readout;
  if (table.guesses.some((row) => !row[at])) return <p class="lead">{T.stream.computing(table.done, table.cells)}</p>;
  const since = decided(table, at);
  const name = candidateName(said.chosen[at]!);
  const last = table.guesses.at(-1)![at]!;
  if (since === null) return <p class="lead"><WithPieces text={T.stream.never(name, last.rank)} /></p>;
  const share = percent(table.guesses[since]![at]!.prob);
  if (since === 0) return <p class="lead"><WithPieces text={T.stream.decidedFirst(name, share)} /></p>;
  return <p class="lead"><WithPieces text={T.stream.decided(name, pointName(table.points[since]!), share)} /></p>;
}

function GuessesOf({ table }: { table: LensTable }) {
  const [said, stream] = [table.readout, shownStream.value!];
  const points = useMemo(() => stream.points.map((point) => pointName(point)), [stream]);
  const guess = useMemo(() => (point: number, at: number) => { void table.version.value; return table.guesses[point]?.[at]; }, [table]);
  const since = useMemo(() => (at: number) => { void table.version.value; return decided(table, at); }, [table]);
  return (
    <Guesses
      guess={guess} decided={since} chosen={said.chosen} name={candidateName} points={points} places={saidAtPlaces.value} inputs={inputsOfPlaces.value} inputsName={said.kind === "next" ? T.stream.before : T.stream.piece}
      picked={picture} onPick={choosePoint} title={T.stream.title(placeName(place.value))}
    />
  );
}

/** Which stack, and what its cells show. */
function Controls() {
  const stack = shownStream.value?.stack;
  const guessed = isOutputStream.value && readout.value !== null && canReadOut.value;
  const shown = guessed ? what.value : what.value === "guess" ? "length" : what.value;
  const names = T.stream.shows;
  return (
    <div class="controls">
      {streams.value.length > 1 && (
        <div class="group" role="group" aria-label={T.stream.stacks}>
          {streams.value.map((one) => <button type="button" key={one.stack} aria-pressed={one.stack === stack} onClick={() => select({ stack: one.stack, tap: "" })}>{one.stack}</button>)}
        </div>
      )}
      <div class="group" role="group" aria-label={T.stream.show}>
        {(["guess", "length", "change"] as const).filter((one) => one !== "guess" || guessed).map((one) => (
          <button type="button" key={one} aria-pressed={shown === one} onClick={() => { what.value = one; }}>{names[one]}</button>
        ))}
      </div>
    </div>
  );
}

function Picture() {
  const [stream, table, of] = [shownStream.value, lensTable.value, run.value];
  if (!stream || !of) return null;
  const guessed = isOutputStream.value && table !== null;
  if (!guessed || what.value !== "guess") return <LengthsOf stream={stream} what={what.value === "change" ? "change" : "length"} picked={picture} onPick={choosePoint} />;
  if (table.readout.places === 1) return <SharesOf stream={stream} picked={picture} onPick={choosePoint} />;
  return <GuessesOf table={table} />;
}

function Title() {
  const [said, stream] = [readout.value, shownStream.value];
  if (recurrent.value) return <h2>{T.stream.titleStates(stream?.stack ?? "")}</h2>;
  if (!said || !isOutputStream.value) return <h2>{stream?.stack ? T.stream.titleLengths(stream.stack) : T.stream.titlePlain}</h2>;
  const name = candidateName(asked.value?.candidate ?? said.chosen[place.value]!);
  return <h2><WithPieces text={T.stream.title(name)} /></h2>;
}

/** What can be seen here, and what cannot and why. */
function Lead() {
  const table = lensTable.value;
  if (recurrent.value) return <p class="lead">{T.stream.leadStates}</p>;
  if (!isOutputStream.value) return <p class="lead">{readout.value ? T.stream.leadLengths : T.stream.noOutput}</p>;
  if (!readout.value) return <p class="lead">{T.stream.noOutput}</p>;
  if (!table) return <p class="lead">{T.stream.noWeights}</p>;
  return <Sentence table={table} />;
}

export function Stream() {
  useEffect(() => followLens(), []);
  if (!source.value || !run.value) return null;
  if (!shownStream.value) return <><h2>{T.stream.titlePlain}</h2><p class="lead">{T.stream.noStream}</p></>;
  const guessing = isOutputStream.value && lensTable.value !== null;
  return (
    <>
      <Title />
      <Lead />
      <Controls />
      {mode.value === "B-A" && <p class="note">{T.stream.isB}</p>}
      <section class="panel">
        <Picture />
        {guessing && what.value === "guess" && <details><summary>{T.stream.leadShort}</summary><p class="note">{T.stream.lead} {T.stream.method}</p></details>}
      </section>
      {output.value && isOutputStream.value && <><Path /><Within /></>}
    </>
  );
}
