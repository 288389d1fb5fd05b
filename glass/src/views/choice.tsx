// View 6: why this word? All candidates of one place, what sampling would leave of them, and the search.

import { allowed, bounds, candidate, inA, positionOf, writes } from "../state/choosing";
import { candidateName, inputsOfPlaces, place, readout, saidAtPlaces, selectPlace } from "../state/inside";
import { header, mode, run, whatIf } from "../state/store";
import { T } from "../state/strings";
import { Candidates, Curve } from "./candidates";
import { percent } from "./format";
import { Sampling } from "./sampling";
import { Piece, WithPieces } from "./tokens";
import { Tree } from "./tree";

const BUTTONS = 48; // places; of more, those near the selected one are shown

/** The places, each with what is said there. */
function Places() {
  const said = readout.value!;
  if (said.places < 2) return null;
  const first = Math.max(0, Math.min(said.places - BUTTONS, place.value - BUTTONS / 2));
  const shown = Array.from({ length: Math.min(BUTTONS, said.places) }, (_, i) => first + i);
  const labelled = said.kind === "words" || said.kind === "tokens" || said.kind === "span";
  const move = (event: KeyboardEvent): void => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const next = place.peek() + (by ?? 0);
    if (!by || next < 0 || next >= said.places) return;
    event.preventDefault();
    selectPlace(next);
    const box = event.currentTarget as HTMLElement;
    setTimeout(() => box.querySelector<HTMLElement>("[aria-checked=true]")?.focus(), 0);
  };
  return (
    <div class="placelist" role="radiogroup" aria-label={T.choice.places} onKeyDown={move}>
      {first > 0 && <span class="note">…</span>}
      {shown.map((at) => (
        <button type="button" role="radio" key={at} aria-checked={at === place.value} tabIndex={at === place.value ? 0 : -1} class={said.answer.includes(at) ? "" : "beside"} onClick={() => selectPlace(at)}>
          {labelled ? <><Piece text={inputsOfPlaces.value[at] ?? ""} /><small><Piece text={saidAtPlaces.value[at] ?? ""} /></small></> : <Piece text={saidAtPlaces.value[at] ?? ""} />}
        </button>
      ))}
      {first + shown.length < said.places && <span class="note">…</span>}
    </div>
  );
}

function Title() {
  const said = readout.value!;
  const name = candidateName(candidate.value);
  const before = said.kind === "next" ? inputsOfPlaces.value[place.value] : undefined;
  return <h2><WithPieces text={before ? T.choice.titleAfter(name, before) : T.choice.title(name)} /></h2>;
}

function Lead() {
  const [found, limits] = [allowed.value, bounds.value];
  if (!found || found.order.length < 2) return null;
  const [first, second] = [found.order[0]!, found.order[1]!];
  const share = (id: number): string => percent(Math.exp(found.before[id]!));
  const id = candidate.value;
  const forced = mode.value !== "A" && whatIf.value.forced[positionOf(place.value) ?? -1] === id && id !== first;
  const text = forced ? T.choice.leadForced(candidateName(id), share(id), candidateName(first), share(first))
    : id === first ? T.choice.lead(candidateName(id), share(id), candidateName(second), share(second))
    : T.choice.leadSecond(candidateName(id), share(id), candidateName(first), share(first));
  return <p class="lead"><WithPieces text={text} /> {limits && T.choice.ceiling(percent(limits.ceiling), String(limits.smoothing))} {inA.value && T.choice.isB}</p>;
}

export function Choice() {
  if (!run.value) return null;
  if (header.value?.task.head === "number") return <><h2>{T.choice.titleNumber}</h2><p class="lead">{T.choice.number(run.value.answer)}</p></>;
  if (!readout.value) return <><h2>{T.choice.titleVector}</h2><p class="lead">{T.choice.vector}</p></>;
  return (
    <>
      <Title />
      <Lead />
      <Places />
      <div class="panel choosing"><Curve /><Candidates /></div>
      <Sampling />
      {writes.value && <Tree />}
    </>
  );
}
