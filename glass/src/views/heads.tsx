// View 4: which heads matter? All of them at once, what each looks at, and what is lost without it.

import { effect, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { fillTags, forPiece, verdict } from "../state/headfacts";
import { chosenAttention, chosenHead } from "../state/headfacts";
import { place, placeName, readout, recurrent } from "../state/inside";
import { spoken } from "../state/labels";
import { attentions, run, source } from "../state/store";
import { T } from "../state/strings";
import { heads, measure, ofNumber, ofVector, removal, stopMeasuring, stopped, worths } from "../state/worth";
import { loss as nats, percent } from "./format";
import { HeadsChart, HeadsRanking } from "./heads-chart";
import { HeadsMap, nameOfHead } from "./heads-map";
import { HeadPattern, Rollout } from "./heads-pattern";
import { WithPieces } from "./tokens";

const SMALL = 0.1; // nats: a tenth of the probability
const rolled = signal(false); // whether rollout is shown instead of one head

/** Tags first, then the worth of one head after the other; again for every other run or way of removal. */
function follow(): () => void {
  let working: AbortController | null = null;
  const end = effect(() => {
    const [of, how, live] = [run.value, removal.value, source.value?.live];
    working?.abort();
    if (!of || !how) return;
    working = new AbortController();
    const { signal: cancelled } = working;
    void fillTags(of, cancelled).then(() => { if (!cancelled.aborted && live && !stopped.peek()) void measure(heads.peek()); });
  });
  return () => {
    end();
    working?.abort();
    stopMeasuring();
  };
}

function Title() {
  const said = readout.value;
  if (ofNumber.value) return <h2>{T.heads.titleNumber(run.value?.answer ?? "")}</h2>;
  if (!said) return <h2>{T.heads.titleVector}</h2>;
  const one = forPiece.value || said.answer.length === 1;
  const text = one ? T.heads.titlePiece(placeName(forPiece.value ? place.value : said.answer[0]!)) : T.heads.title(run.value?.answer ?? "");
  return <h2><WithPieces text={text} /></h2>;
}

/** e^loss as a factor: "2.4 times". */
function times(loss: number): string {
  const factor = Math.exp(loss);
  return `${factor >= 100 ? Math.round(factor).toLocaleString("en") : factor.toFixed(factor < 10 ? 1 : 0)} times`;
}

/** The point of this view in sentences, with its numbers. */
function Verdict() {
  const found = verdict.value;
  if (!source.value?.live) return <p class="lead">{T.heads.notLive}</p>;
  if (!found?.most) return <p class="lead">{T.heads.lead}</p>;
  const words = T.heads.verdict;
  const { most, sharpIdle, harmful } = found;
  const name = nameOfHead(most.place);
  const small = most.total < SMALL;
  const first = ofNumber.value ? words.mostNumber(name, nats(most.total)) : small ? words.allSmall(name, nats(most.total)) : ofVector.value ? words.mostVector(name, nats(most.total)) : words.most(name, nats(most.total), times(most.total));
  return (
    <p class="lead verdict">
      {first} {!small && found.idle > 0 && words.idle(found.idle, found.count, nats(found.little))}
      {" "}{sharpIdle && <b>{words.sharp(nameOfHead(sharpIdle.worth.place), percent(sharpIdle.tags.top), nats(sharpIdle.worth.total))}</b>}
      {!sharpIdle && words.noSharp}
      {" "}{harmful && !ofVector.value && words.harmful(nameOfHead(harmful.place), nats(-harmful.total))}
    </p>
  );
}

function Progress() {
  const [done, all] = [heads.value.filter((one) => worths.value.has(`${one.z}#${one.head}`)).length, heads.value.length];
  if (!source.value?.live || done >= all) return null;
  const toggle = (): void => {
    stopped.value = !stopped.value;
    if (stopped.value) stopMeasuring();
    else void measure(heads.peek());
  };
  return (
    <span class="progress" role="status">
      <progress max={all} value={done} aria-label={T.heads.progress(done, all)} /> <span class="note">{T.heads.progress(done, all)}</span>
      <button type="button" class="plain" onClick={toggle}>{stopped.value ? T.heads.resume : T.heads.stop}</button>
    </span>
  );
}

function Controls() {
  const said = readout.value;
  const what = (piece: boolean, text: string) => <button type="button" aria-pressed={forPiece.value === piece} onClick={() => { forPiece.value = piece; }}><WithPieces text={text} /></button>;
  const how = (one: "mean" | "zero") => <button type="button" aria-pressed={removal.value === one} onClick={() => { removal.value = one; }}>{T.heads[one]}</button>;
  if (!source.value?.live) return null;
  return (
    <div class="controls">
      {said && said.places > 1 && <div class="group" role="group" aria-label={T.heads.what}>{what(false, T.heads.forAnswer)}{what(true, T.heads.forPiece(spoken(placeName(place.value))))}</div>}
      <div class="group" role="group" aria-label={T.heads.how}>{how("mean")}{how("zero")}</div>
      <Progress />
    </div>
  );
}

function Below() {
  const [one, at] = [chosenAttention.value, chosenHead.value];
  if (!one || !at) return null;
  const button = (on: boolean, text: string) => <button type="button" aria-pressed={rolled.value === on} onClick={() => { rolled.value = on; }}>{text}</button>;
  return (
    <section class="panel">
      <div class="group controls" role="group" aria-label={T.heads.show}>{button(false, T.heads.thisHead)}{button(true, T.heads.rollout)}</div>
      {rolled.value ? <Rollout stack={one.stack} /> : <HeadPattern one={one} at={at} />}
    </section>
  );
}

export function Heads() {
  useEffect(follow, []);
  if (!run.value) return null;
  if (!attentions.value.length) return <><h2>{T.heads.titleVector}</h2><p class="lead">{T.heads.none}</p></>;
  return (
    <>
      <Title />
      <Verdict />
      <Controls />
      {recurrent.value && <p class="note">{T.heads.recurrent}</p>}
      <HeadsMap />
      {source.value?.live && <div class="row panel facts-of-heads"><HeadsChart /><HeadsRanking /></div>}
      <Below />
    </>
  );
}
