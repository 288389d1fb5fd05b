// The card of the tour: a question first where there is one, then the claim with its numbers.

import { useEffect, useRef } from "preact/hooks";
import { T } from "../state/strings";
import { asking, chosen, goTo, removed, startTour, stopAt, stops, touring } from "../state/touring";
import { narrow } from "../views/canvas";
import { Piece, WithPieces } from "../views/tokens";
import type { Question } from "./claim";
import type { Stop } from "./stops";

function Options({ question }: { question: Question }) {
  const picked = chosen.value;
  return (
    <>
      <p class="said"><WithPieces text={question.ask} /></p>
      <div class="options" role="group" aria-label={question.ask}>
        {question.options.map((option, i) => {
          const shown = picked === null ? undefined : option.right ? "right" : i === picked ? "wrong" : undefined;
          return <button type="button" key={i} class={shown} disabled={picked !== null} onClick={() => { chosen.value = i; }}><Piece text={option.text} /></button>;
        })}
        {picked === null && <button type="button" class="plain" onClick={() => { chosen.value = -1; }}>{T.tour.skip}</button>}
      </div>
    </>
  );
}

function Verdict({ question }: { question: Question }) {
  const picked = chosen.value;
  if (picked === null || picked < 0) return null;
  const right = question.options[picked]?.right ?? false;
  const answer = `“${question.options.find((option) => option.right)?.text ?? ""}”`;
  return <span class={right ? "verdict right" : "verdict"}><WithPieces text={right ? T.tour.right : T.tour.wrong(answer)} /> </span>;
}

function Claimed({ stop }: { stop: Stop }) {
  const { question, text, note } = stop.claim;
  if (question && chosen.value === null) return <Options question={question} />;
  return (
    <div class="claimed">
      <div>
        {question && <Options question={question} />}
        <p class="said">{question && <Verdict question={question} />}<WithPieces text={text} /></p>
      </div>
      {note && <p class="wrongway"><b>{T.tour.note}.</b> {note}</p>}
    </div>
  );
}

function Buttons({ count }: { count: number }) {
  const [at, last] = [stopAt.value, stopAt.value >= count - 1];
  return (
    <span class="turns">
      <button type="button" disabled={at === 0} onClick={() => goTo(at - 1)}>{T.tour.back}</button>
      <button type="button" class="go" onClick={() => { if (last) touring.value = false; else goTo(at + 1); }}>{last ? T.tour.end : T.tour.next}</button>
      {!last && <button type="button" class="plain" aria-label={T.tour.end} title={T.tour.end} onClick={() => { touring.value = false; }}>×</button>}
    </span>
  );
}

/** While a question is open its answer in the view is neither shown nor reached by keys. */
function useVeil(): void {
  useEffect(() => {
    for (const element of document.querySelectorAll<HTMLElement>("main > *, .side > *")) element.inert = asking.value;
  }, [asking.value, stopAt.value, stops.value]);
}

function Preparing() {
  const { done, all } = removed.value;
  return <>{T.tour.preparing(done, all)}</>;
}

export function Tour() {
  const title = useRef<HTMLHeadingElement>(null);
  const all = stops.value;
  const stop = all?.[stopAt.value];
  useEffect(() => {
    title.current?.focus({ preventScroll: true });
    if (stop && narrow.value) document.querySelector("main")?.scrollIntoView();
    else if (stop) window.scrollTo(0, 0);
  }, [stop]);
  useVeil();
  if (!touring.value) return null;
  const count = all?.length ?? 0;
  return (
    <section class="tour" aria-label={T.tour.start}>
      <div class="way" aria-hidden="true"><i style={{ width: `${count ? ((stopAt.value + 1) / count) * 100 : 0}%` }} /></div>
      <header>
        <span role="status">{all ? (stop ? T.tour.stop(stopAt.value + 1, count) : T.tour.none) : <Preparing />}</span>
        {stop && <h2 ref={title} tabIndex={-1}>{stop.rule.title}</h2>}
        {stop && <Buttons count={count} />}
        {!stop && <button type="button" class="plain" onClick={() => { touring.value = false; }}>{T.tour.end}</button>}
      </header>
      {stop && <div aria-live="polite"><Claimed stop={stop} /></div>}
      {stop && stopAt.value === count - 1 && <p class="note">{T.tour.done}</p>}
    </section>
  );
}

export function TourButton() {
  return touring.value ? null : <button type="button" class="tourstart" onClick={startTour}>{T.tour.start}</button>;
}
