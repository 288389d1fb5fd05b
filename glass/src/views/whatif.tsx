// What if: the changes that make B, the answers of A and B beside each other, and where new changes are made.

import { signal } from "@preact/signals";
import { compared, type Word } from "../analysis/compared";
import { placeInWords } from "./rail";
import { spoken } from "../state/labels";
import { selection } from "../state/selection";
import { busy, changed, compare, header, mode, places, program, runA, runB, source, UNCHANGED, vocabularyText, whatIf } from "../state/store";
import { T } from "../state/strings";
import { asPython, changesOf, editing, whyNoDifference, without, type Change } from "../state/whatif";
import { copy } from "./python";
import { AddChange } from "./whatifadd";
import { WithPieces } from "./tokens";

function placeName(part: string): string {
  const place = places.value.find((one) => one.id === part);
  return place ? placeInWords(place) : part;
}

/** A change in words. */
export function inWords(change: Change): string {
  const words = T.whatif.changes;
  switch (change.kind) {
    case "text": return words.text(change.text);
    case "head": return (change.how === "mean" ? words.meanHead : words.zeroHead)(change.head + 1, placeName(change.part));
    case "neuron": return (change.how === "zero" ? words.zeroNeuron : words.otherNeuron)(change.column + 1, placeName(change.part));
    case "force": return words.force(change.position + 1, spoken(vocabularyText(change.token)));
    case "prune": return words.prune(spoken(change.ids.map(vocabularyText).join("")));
    case "other": return words.other(change.step, change.patches.length);
    case "hide": {
      const piece = spoken(runA.value?.pieces[change.sequence]?.[change.column] ?? `#${change.column + 1}`);
      const parts = change.patches.map((patch) => program.value?.steps.find((step) => step.name === patch.step)?.part ?? patch.step);
      return change.everywhere ? words.hideAll(piece) : words.hideSome(piece, parts.map(placeName).join("; "));
    }
  }
}

function Changes({ list }: { list: Change[] }) {
  return (
    <ul class="changes">
      {list.map((change) => {
        const text = inWords(change);
        return <li key={text}><span><WithPieces text={text} /></span><button type="button" aria-label={T.whatif.remove(text)} title={T.whatif.remove(text)} onClick={() => void compare(without(whatIf.peek(), change))}>×</button></li>;
      })}
    </ul>
  );
}

function Marked({ words }: { words: Word[] }) {
  return <>{words.map((word, i) => (word.changed ? <><ins key={i}>{word.text.trimEnd()}</ins>{/\s$/.test(word.text) ? " " : ""}</> : word.text))}</>;
}

function Answers() {
  const [a, b] = [runA.value, runB.value];
  if (!a || !b) return busy.value === "B" ? <p class="note">{T.whatif.busy}</p> : null;
  const [left, right] = compared(a.answer, b.answer);
  return (
    <dl class="ab" aria-live="polite">
      <dt>{T.whatif.a}</dt><dd><Marked words={left} /></dd>
      <dt>{T.whatif.b}</dt><dd>{a.answer === b.answer ? <><Marked words={right} /> <small class="note">({T.whatif.same})</small></> : <Marked words={right} />}</dd>
    </dl>
  );
}

/** Why the difference cannot be shown, where it was asked for. */
function WhyNot() {
  const [a, b] = [runA.value, runB.value];
  const why = a && b && mode.value === "B-A" ? whyNoDifference(a, b) : null;
  return why ? <p class="note warn">{T.whatif.why[why]}</p> : null;
}

const copied = signal(false);

function Tools() {
  const [now, b, about] = [whatIf.value, runB.value, header.value];
  const writes = runA.value?.written !== undefined;
  const code = about && b && asPython(about, b, now);
  const python = async (): Promise<void> => {
    if (!code) return;
    await copy(code);
    copied.value = true;
    setTimeout(() => { copied.value = false; }, 2000);
  };
  return (
    <div class="controls">
      {writes && now.text === null && <label class="check" title={T.whatif.keepHint}><input type="checkbox" checked={now.keep} onChange={(event) => void compare({ ...now, keep: event.currentTarget.checked })} />{T.whatif.keep}</label>}
      <button type="button" disabled={!code} onClick={() => void python()}>{copied.value ? T.whatif.copied : T.whatif.python}</button>
      <button type="button" onClick={() => void compare({ ...UNCHANGED, keep: now.keep })}>{T.whatif.clear}</button>
    </div>
  );
}

/** Below the names of the views, while something is changed or is going to be. */
export function WhatIfBar() {
  const known = program.value;
  if (!source.value?.live || !known || (!changed.value && !editing.value)) return null;
  const list = changesOf(whatIf.value, known);
  selection.value.view; // the forms know where the reader is
  return (
    <section class="whatif" aria-label={T.whatif.title}>
      {list.length ? <div class="whatifnow"><b>{T.whatif.B}</b><Changes list={list} /><Tools /></div> : <p class="note">{T.whatif.lead} {T.whatif.none}</p>}
      <Answers />
      <WhyNot />
      {editing.value && <AddChange />}
    </section>
  );
}
