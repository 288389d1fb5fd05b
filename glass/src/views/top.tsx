// The sentence, its answer, and which of the two runs is shown.

import { computed } from "@preact/signals";
import { open } from "../state/keys";
import { ask, busy, changed, mode, runA, runB, showing, source, type Mode } from "../state/store";
import { T } from "../state/strings";
import { forgetAnswered, refused, submit, type, typed } from "../state/typing";
import { TourButton } from "../tour/tour";
import { editing } from "../state/whatif";

function Sentence() {
  const [from, run] = [source.value, runA.value];
  if (!from?.live || readsImage.value) return <Recorded />;
  return (
    <form class="ask" onSubmit={(event) => { event.preventDefault(); void submit(); }} role="search">
      <input
        type="text" aria-label={T.sentence} spellcheck={false} autocomplete="off" list="recorded" placeholder={run?.text} value={typed.value ?? run?.text ?? ""}
        aria-invalid={refused.value ? "true" : undefined} aria-describedby={refused.value ? "refused" : undefined} onInput={(event) => type(event.currentTarget.value)} onBlur={forgetAnswered}
      />
      <datalist id="recorded">{from.header.traces.map((trace) => <option key={trace.text} value={trace.text} />)}</datalist>
      <button type="submit" disabled={busy.value === "A"}>{busy.value === "A" ? T.running : T.run}</button>
      {refused.value && <p class="refused" id="refused" role="alert">{refused.value} {run && T.stillShown(run.text)}</p>}
    </form>
  );
}

/** An image is not typed. */
const readsImage = computed(() => Object.values(source.value?.header.program.sequences ?? {}).includes("image"));

/** The name of an image without its folders. */
function shownText(text: string): string {
  return readsImage.value ? (text.split(/[\\/]/).at(-1) ?? text) : text;
}

/** Without weights only the recorded inputs can be shown. */
function Recorded() {
  const traces = source.value?.header.traces ?? [];
  if (traces.length < 2) return <p class="ask answers" title={readsImage.value ? T.image : T.recordedOnly}>{shownText(runA.value?.text ?? "")}</p>;
  return (
    <form class="ask">
      <select aria-label={T.examples} title={T.recordedOnly} value={runA.value?.text} onChange={(event) => void ask(event.currentTarget.value)}>
        {traces.map((trace) => <option key={trace.text} value={trace.text}>{shownText(trace.text)}</option>)}
      </select>
    </form>
  );
}

function Answer() {
  const a = runA.value;
  if (!a?.answer) return null;
  return (
    <p class="answers" aria-live="polite">
      <span class="sr">{T.answer}: </span>
      <span class="arrow" aria-hidden="true">→</span>{a.answer}
    </p>
  );
}

const MODES: [Mode, string][] = [["A", T.compare.aTitle], ["B", T.compare.bTitle], ["B-A", T.compare.minusTitle]];

function Which() {
  if (!source.value?.live) return null;
  return (
    <div class="which">
      {changed.value && runB.value && (
        <div class="group" role="group" aria-label={T.compare.label}>
          {MODES.map(([one, title]) => <button type="button" key={one} title={title} aria-pressed={showing.value === one} onClick={() => { mode.value = one; }}>{T.compare[one]}</button>)}
        </div>
      )}
      <button type="button" aria-pressed={editing.value} onClick={() => { editing.value = !editing.value; }}>{T.compare.what}</button>
      <button type="button" aria-label={T.keys.title} title={T.keys.title} onClick={() => { open.value = "keys"; }}>?</button>
    </div>
  );
}

export function Top() {
  const long = (runA.value?.text.length ?? 0) > 36;
  return <header class={long ? "top long" : "top"}><h1>{T.name}</h1><Sentence /><Answer /><TourButton /><Which /></header>;
}
