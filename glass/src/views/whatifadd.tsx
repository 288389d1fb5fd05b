// The forms in which a change is made: a sentence, a head, a neuron, a piece that is forced, a piece that is hidden.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { spoken, visible } from "../state/labels";
import { selection } from "../state/selection";
import { addPatch, attentions, compare, force, places, program, runA, vocabulary, whatIf } from "../state/store";
import { T } from "../state/strings";
import { editing, hidePatches, maskedSteps } from "../state/whatif";
import { removal } from "../state/worth";
import { placeInWords } from "./rail";

function Form({ name, go, children, onGo }: { name: string; go: string; children: ComponentChildren; onGo(): void }) {
  return (
    <form onSubmit={(event) => { event.preventDefault(); onGo(); }}>
      <fieldset><legend>{name}</legend>{children}<button type="submit">{go}</button></fieldset>
    </form>
  );
}

function Text() {
  const text = useSignal<string | null>(null);
  const now = text.value ?? whatIf.value.text ?? runA.value?.text ?? "";
  const go = (): void => {
    const wanted = now.trim();
    void compare({ ...whatIf.peek(), text: wanted && wanted !== runA.peek()?.text ? wanted : null });
  };
  return <Form name={T.whatif.add.text} go={T.whatif.add.textGo} onGo={go}><input type="text" aria-label={T.whatif.add.text} value={now} onInput={(event) => { text.value = event.currentTarget.value; }} /></Form>;
}

function Head() {
  const all = attentions.value.filter((one) => one.z && one.pattern.axes[0] === "head");
  const { stack, kind, layer, head } = selection.value;
  const here = all.findIndex((one) => one.stack === stack && one.kind === kind && one.layer === layer);
  const [chosen, number] = [useSignal<number | null>(null), useSignal<number | null>(null)];
  if (!all.length) return null;
  const at = chosen.value ?? Math.max(0, here);
  const attention = all[at]!;
  const picked = Math.min(number.value ?? head, attention.heads - 1);
  const nameOf = (id: string): string => { const place = places.value.find((one) => one.id === id); return place ? placeInWords(place) : id; };
  return (
    <Form name={T.whatif.add.head} go={T.whatif.add.headGo} onGo={() => void addPatch({ step: attention.z!.name, how: removal.peek(), head: picked })}>
      <select aria-label={T.whatif.add.head} value={at} onChange={(event) => { chosen.value = Number(event.currentTarget.value); }}>{all.map((one, i) => <option key={one.id} value={i}>{nameOf(one.id)}</option>)}</select>
      <select aria-label={T.whatif.add.headNumber(picked + 1)} value={picked} onChange={(event) => { number.value = Number(event.currentTarget.value); }}>{Array.from({ length: attention.heads }, (_, i) => <option key={i} value={i}>{T.whatif.add.headNumber(i + 1)}</option>)}</select>
      <select aria-label={T.heads.how} value={removal.value} onChange={(event) => { removal.value = event.currentTarget.value as "mean" | "zero"; }}><option value="mean">{T.whatif.add.mean}</option><option value="zero">{T.whatif.add.zero}</option></select>
    </Form>
  );
}

/** The inner layers of feed-forward boxes, as their last tap has them. */
function inner() {
  return (program.value?.steps ?? []).filter((step) => step.axes.at(-1) === "inner" && /\.post$/.test(step.name));
}

function Neuron() {
  const all = inner();
  const [chosen, number] = [useSignal(0), useSignal(1)];
  const step = all[Math.min(chosen.value, all.length - 1)];
  if (!step) return null;
  const count = Number(step.shape.at(-1));
  const nameOf = (id: string): string => { const place = places.value.find((one) => one.id === id); return place ? placeInWords(place) : id; };
  const go = (): void => void addPatch({ step: step.name, how: "zero", column: Math.max(0, Math.min(count, number.peek()) - 1) });
  return (
    <Form name={T.whatif.add.neuron} go={T.whatif.add.neuronGo} onGo={go}>
      <select aria-label={T.whatif.add.neuron} value={chosen.value} onChange={(event) => { chosen.value = Number(event.currentTarget.value); }}>{all.map((one, i) => <option key={one.name} value={i}>{nameOf(one.part)}</option>)}</select>
      <input type="number" min={1} max={count} aria-label={T.whatif.add.neuron} value={number.value} onInput={(event) => { number.value = Number(event.currentTarget.value) || 1; }} /> {T.whatif.add.of(count)}
    </Form>
  );
}

/** The token that a text means: as it is shown, with or without its space. */
export function tokenOf(text: string, all: readonly string[]): number {
  const wanted = text.replaceAll("␣", "▁");
  const exact = all.indexOf(wanted);
  return exact >= 0 ? exact : Math.max(all.indexOf(`▁${wanted.trim()}`), all.indexOf(wanted.trim()));
}

function Force() {
  const written = runA.value?.written;
  const [at, text, wrong] = [useSignal<number | null>(null), useSignal(""), useSignal(false)];
  if (!written) return null;
  const position = Math.min(at.value ?? selection.value.step, written.ids.length - 1);
  const matching = text.value ? vocabulary.value.filter((piece) => visible(piece).replace("␣", "").startsWith(text.value.replace("␣", ""))).slice(0, 30) : [];
  const go = (): void => {
    const token = tokenOf(text.peek(), vocabulary.peek());
    wrong.value = token < 0;
    if (token >= 0) void force(position, token);
  };
  return (
    <Form name={T.whatif.add.force} go={T.whatif.add.forceGo} onGo={go}>
      <select aria-label={T.whatif.add.force} value={position} onChange={(event) => { at.value = Number(event.currentTarget.value); }}>{written.pieces.map((piece, i) => <option key={i} value={i}>{T.whatif.add.position(i + 1, visible(piece))}</option>)}</select>
      <input type="text" list="forceable" placeholder={T.whatif.add.forceHint} aria-label={T.whatif.add.forceHint} value={text.value} onInput={(event) => { text.value = event.currentTarget.value; wrong.value = false; }} />
      <datalist id="forceable">{matching.map((piece) => <option key={piece} value={visible(piece)} />)}</datalist>
      {wrong.value && <span class="warn">{T.whatif.add.unknown}</span>}
    </Form>
  );
}

function Hide() {
  const known = program.value!;
  const sequences = Object.keys(known.sequences).filter((name) => maskedSteps(known, name).length > 0);
  const chosen = useSignal<string | null>(null);
  const first = sequences[0];
  if (!first) return null;
  const options = sequences.flatMap((name) => (runA.value?.pieces[name] ?? []).map((piece, column) => ({ key: `${name}:${column}`, name, column, piece })));
  if (!options.length) return null;
  const value = chosen.value ?? `${first}:${Math.min(selection.value.key, (runA.value?.pieces[first]?.length ?? 1) - 1)}`;
  const go = (): void => {
    const one = options.find((option) => option.key === value);
    if (one) void addPatch(...hidePatches(known, one.name, one.column));
  };
  return (
    <Form name={T.whatif.add.hide} go={T.whatif.add.hideGo} onGo={go}>
      <select aria-label={T.whatif.add.hide} value={value} onChange={(event) => { chosen.value = event.currentTarget.value; }}>
        {sequences.map((name) => <optgroup key={name} label={name}>{options.filter((one) => one.name === name).map((one) => <option key={one.key} value={one.key}>{one.column + 1}: {spoken(one.piece)}</option>)}</optgroup>)}
      </select>
    </Form>
  );
}

export function AddChange() {
  return (
    <div class="addchange">
      <Text /><Head /><Neuron /><Force /><Hide />
      <button type="button" class="plain" onClick={() => { editing.value = false; }}>{T.whatif.shut}</button>
    </div>
  );
}

