// A word put together merge by merge: each row of the grid is one move, each piece as wide as its letters.

import { computed, signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { Speller, Spelling, SpellingStep } from "../analysis/spelling";
import { visible } from "../state/labels";
import { T } from "../state/strings";
import { brief } from "./format";
import { Piece } from "./tokens";

const NONE = window.matchMedia("(prefers-reduced-motion: reduce)");

/** How many of the first symbols each symbol of a row covers. */
export function spans(first: readonly string[], row: readonly string[]): number[] {
  let at = 0;
  return row.map((symbol) => {
    let [length, count] = [first[at++]?.length ?? 1, 1];
    while (length < symbol.length && at < first.length) {
      length += first[at++]!.length;
      count++;
    }
    return count;
  });
}

function Row({ symbols, fresh, first, show, note, title }: { symbols: readonly string[]; fresh: number; first: readonly string[]; show: (symbol: string) => string; note: string; title?: string }) {
  const wide = spans(first, symbols);
  let column = 1;
  return (
    <li>
      <span class="symbols" style={{ gridTemplateColumns: `repeat(${first.length}, minmax(22px, 34px))` }}>
        {symbols.map((symbol, at) => {
          const from = column;
          column += wide[at]!;
          return <span key={from} class={at === fresh ? "symbol fresh" : "symbol"} style={{ gridColumn: `${from} / span ${wide[at]}` }}><Piece text={show(symbol)} /></span>;
        })}
      </span>
      <small title={title}>{note}</small>
    </li>
  );
}

function noteOf(step: SpellingStep): string {
  const words = T.pieces.spell;
  if (step.rank !== undefined) {
    return words.merge(step.rank);
  }
  if (step.tried) return words.tried(step.tried.length);
  return step.score === undefined ? "" : words.score(brief(step.score));
}

function pairOf(step: SpellingStep, show: (symbol: string) => string): string {
  const [left = "", right = ""] = step.before.slice(step.place, step.place + 2).map((symbol) => visible(show(symbol)));
  return T.pieces.spell.merged(left, right, step.rank ?? 0);
}

/** Letters first, then the moves made so far. */
function Moves({ spelling, shown, show }: { spelling: Spelling; shown: number; show: (symbol: string) => string }) {
  const words = T.pieces.spell;
  const steps = spelling.steps.slice(0, shown);
  const first = spelling.steps[0]!.before;
  if (spelling.kind !== "bpe") {
    return <ol class="moves">{steps.map((step, i) => <li key={i}><span class="symbols line">{step.after.map((symbol, at) => <span key={at} class={at === step.place ? "symbol fresh" : "symbol"}><Piece text={show(symbol)} /></span>)}</span><small>{noteOf(step)}</small></li>)}</ol>;
  }
  return (
    <ol class="moves">
      <Row symbols={first} fresh={-1} first={first} show={show} note={words.start} />
      {steps.map((step, i) => <Row key={i} symbols={step.after} fresh={step.place} first={first} show={show} note={noteOf(step)} title={pairOf(step, show)} />)}
    </ol>
  );
}

/** How many moves are shown; all of them until somebody steps through. */
function useSteps(spelling: Spelling) {
  const state = useMemo(() => {
    const [shown, playing] = [signal(spelling.steps.length), signal(false)];
    return { shown, playing, last: computed(() => shown.value >= spelling.steps.length) };
  }, [spelling]);
  useEffect(() => () => { state.playing.value = false; }, [state]);
  return state;
}

function Controls({ spelling, state }: { spelling: Spelling; state: ReturnType<typeof useSteps> }) {
  const words = T.pieces.spell;
  const { shown, playing } = state;
  const count = spelling.steps.length;
  const tick = (): void => {
    if (!playing.peek()) return;
    shown.value++;
    if (shown.value >= count) playing.value = false;
    else setTimeout(tick, 700);
  };
  const play = (): void => {
    playing.value = !playing.peek();
    if (!playing.peek()) return;
    shown.value = 0;
    setTimeout(tick, 700);
  };
  return (
    <div class="controls">
      <button type="button" disabled={shown.value === 0} onClick={() => { shown.value--; }}>{words.back}</button>
      <button type="button" onClick={() => { shown.value = state.last.value ? 0 : shown.value + 1; }}>{words.step}</button>
      {!NONE.matches && <button type="button" onClick={play}>{playing.value ? words.stop : words.play}</button>}
      <button type="button" disabled={state.last.value} onClick={() => { shown.value = count; }}>{words.all}</button>
      <span class="note" aria-live="polite">{words.at(shown.value, count)}</span>
    </div>
  );
}

export function SpellingPanel({ spelling, speller, shown, word }: { spelling: Spelling; speller: Speller; shown: readonly string[]; word: string }) {
  const words = T.pieces.spell;
  const state = useSteps(spelling);
  const show = (symbol: string): string => shown[speller.ids.get(symbol) ?? -1] ?? symbol;
  const lead = spelling.kind === "mark" ? words.mark : spelling.steps.length ? words[spelling.kind] : spelling.kind === "lookup" ? words.lookup : words.alone;
  return (
    <section class="panel spelling">
      <h3>{words.title(word)}</h3>
      <p class="note">{lead}</p>
      {spelling.steps.length > 0 && <><Controls spelling={spelling} state={state} /><div class="scroll"><Moves spelling={spelling} shown={state.shown.value} show={show} /></div></>}
    </section>
  );
}
