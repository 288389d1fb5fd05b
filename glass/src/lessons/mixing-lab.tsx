// The lab of attention without parameters.

import { useComputed, useSignal, type Signal } from "@preact/signals";
import { row, numbered, vectorFor, wordsOf } from "./reckon";
import { Choice, NumberField, Panel, Slider, TextField } from "./controls";
import type { Lesson } from "./data";
import { mixed, type Mixed, type Settings } from "./mixing";
import { Numbers } from "./numbers";
import { Plane } from "./plane";

type Vectors = Record<string, number[]>;

const share = (value: number): string => value.toFixed(2).replace(/^0/, "");

/** Vectors of all words; new ones are random. */
function known(vectors: Vectors, words: readonly string[], width: number): Vectors {
  const missing = words.filter((word) => !Object.hasOwn(vectors, word));
  return missing.length ? { ...vectors, ...Object.fromEntries(missing.map((word) => [word, vectorFor(word, width)])) } : vectors;
}

function Fields({ words, vectors, axes, chosen }: { words: readonly string[]; vectors: Signal<Vectors>; axes: string[]; chosen: Signal<number> }) {
  const set = (word: string, axis: number) => (value: number) => {
    vectors.value = { ...vectors.value, [word]: vectors.value[word]!.map((old, i) => (i === axis ? value : old)) };
  };
  return (
    <div class="scroll"><table class="fields">
      <thead><tr><td />{axes.map((axis) => <th key={axis} scope="col">{axis}</th>)}</tr></thead>
      <tbody>{[...new Set(words)].map((word) => (
        <tr key={word} data-on={words[chosen.value] === word ? "" : undefined}>
          <th scope="row"><button type="button" class="plain" onClick={() => { chosen.value = words.indexOf(word); }}><bdi>{word}</bdi></button></th>
          {axes.map((axis, i) => <td key={axis}><NumberField label={`${word}, ${axis}`} value={vectors.value[word]![i]!} onChange={set(word, i)} /></td>)}
        </tr>
      ))}</tbody>
    </table></div>
  );
}

/** The chosen word as a bar of its parts. */
function Parts({ words, one, chosen }: { words: readonly string[]; one: Mixed; chosen: number }) {
  const weights = row(one.weights, chosen);
  return (
    <>
      <p class="equation" aria-live="polite"><b><bdi>{words[chosen]}</bdi></b> = {words.map((word, i) => <span key={i}>{i > 0 && " + "}<span class="share-text">{share(weights[i]!)}</span> <bdi>{word}</bdi></span>)}</p>
      <div class="parts" aria-hidden="true">{words.map((word, i) => <span key={i} class={i === chosen ? "own" : ""} style={{ flexGrow: weights[i]! }}>{weights[i]! > 0.12 ? word : ""}</span>)}</div>
    </>
  );
}

function saying(scale: number): string {
  if (scale === 0) return "Scores of 0: every word gets the same share, so every word becomes the plain average.";
  if (scale >= 3) return "Large scores: each word reads almost only the word that it is most similar to.";
  return scale === 1 ? "× 1: as in the lesson." : scale < 1 ? "Smaller scores: the shares become more even." : "Larger scores: the shares become sharper.";
}

export function MixingLab({ lesson }: { lesson: Lesson<Settings> }) {
  const { axes } = lesson.settings;
  const start = lesson.settings.sentences.map((words) => words.join(" "));
  const texts = useSignal(start);
  const current = useSignal(0);
  const vectors = useSignal<Vectors>(lesson.settings.vectors);
  const scale = useSignal(1);
  const chosen = useSignal(Math.min(1, lesson.settings.sentences[0]!.length - 1));
  const column = useSignal(0);
  const across = useSignal(0);
  const up = useSignal(Math.min(1, axes.length - 1));
  const sentences = useComputed(() => texts.value.map((text) => wordsOf(text)));
  const results = useComputed(() => sentences.value.map((words) => mixed(words.map((word) => vectors.value[word]!), scale.value)));
  const words = sentences.value[current.value]!;
  const one = results.value[current.value]!;
  const pick = Math.min(chosen.value, words.length - 1);
  const point = (values: ArrayLike<number>): [number, number] => [values[across.value]!, values[up.value]!];
  const write = (text: string): void => {
    if (!wordsOf(text).length) return;
    vectors.value = known(vectors.value, wordsOf(text), axes.length);
    texts.value = texts.value.map((old, i) => (i === current.value ? text : old));
  };
  const move = (place: number, x: number, y: number): void => {
    const values = [...vectors.value[words[place]!]!];
    [values[across.value], values[up.value]] = [x, y];
    vectors.value = { ...vectors.value, [words[place]!]: values };
  };
  const ghosts = sentences.value.flatMap((other, s) => other.flatMap((word, i) => (
    s !== current.value && word === words[pick] ? [{ name: `${word} in “${other.join(" ")}”`, at: point(row(results.value[s]!.mixed, i)) }] : []
  )));
  const dots = words.map((name, i) => ({ name, from: point(vectors.value[name]!), to: point(row(one.mixed, i)), chosen: i === pick }));
  const reset = (): void => { texts.value = start; vectors.value = lesson.settings.vectors; scale.value = 1; };
  const labels = numbered(words);
  const choose = (place: number): void => { chosen.value = place; };
  const at = { row: pick, column: Math.min(column.value, words.length - 1) };
  const pickCell = (r: number, c: number): void => { chosen.value = r; column.value = c; };
  return (
    <div class="cards">
      <Panel title="Your words" note="a new word gets a random vector" wide>
        <div class="line-of-controls">
          {start.length > 1 && <Choice label="Sentence" value={current} options={texts.value.map((text, i) => [i, text] as const)} />}
          <TextField label="Write another one" value={texts.value[current.value]!} onText={write} />
          <button type="button" onClick={reset}>Start again</button>
        </div>
        <Slider label="Scores ×" value={scale} min={0} max={4} step={0.05} shown={(value) => value.toFixed(2)} />
        <p class="note">{saying(scale.value)}</p>
      </Panel>
      <Panel title="Where each word goes" note="drag a ring">
        <Plane dots={dots} ghosts={ghosts} axes={[axes[across.value]!, axes[up.value]!]} onMove={move} onChoose={choose} />
        <p class="note"><span class="ring" /> the word’s own vector · <span class="disc" /> after attention{ghosts.length ? " · pale: the same word in the other sentence" : ""}</p>
        {axes.length > 2 && <div class="line-of-controls"><Choice label="across" value={across} options={axes.map((axis, i) => [i, axis] as const)} /><Choice label="up" value={up} options={axes.map((axis, i) => [i, axis] as const)} /></div>}
      </Panel>
      <Panel title={`What does “${words[pick]}” become?`}>
        <Parts words={words} one={one} chosen={pick} />
        <h4>Static vectors <small>change any number</small></h4>
        <Fields words={words} vectors={vectors} axes={axes} chosen={chosen} />
      </Panel>
      <Panel title="The three steps" wide>
        <div class="three">
          <div><h4>1. E Eᵀ <small>every word times every word</small></h4>
            <Numbers title="Similarities" values={one.products} rows={labels} columns={labels} names={["word", "times"]} signed picked={at} onPick={pickCell} /></div>
          <div><h4>2. Softmax <small>shares: every row sums to 1</small></h4>
            <Numbers title="Shares" values={one.weights} rows={labels} columns={labels} names={["takes", "of"]} picked={at} onPick={pickCell}
              say={(r, c, value) => `${labels[r]} takes ${share(value)} of ${labels[c]}`} /></div>
          <div><h4>3. Shares times E <small>new vectors</small></h4>
            <Numbers title="Mixtures" values={one.mixed} rows={labels} columns={axes} names={["word", "axis"]} signed picked={{ row: pick, column: Math.min(column.value, axes.length - 1) }} onPick={pickCell} /></div>
        </div>
      </Panel>
    </div>
  );
}
