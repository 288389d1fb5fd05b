// Temperature, top-k and top-p over the whole vocabulary, and what remains.

import { allowed, PLAIN, sampler, writes } from "../state/choosing";
import { header } from "../state/store";
import { T } from "../state/strings";
import { percent } from "./format";

interface SliderProps {
  name: string;
  shown: string;
  value: number;
  min: number;
  max: number;
  step: number;
  onChange(value: number): void;
}

function Slider({ name, shown, value, min, max, step, onChange }: SliderProps) {
  return (
    <label class="slider">
      <span>{name}</span>
      <input type="range" min={min} max={max} step={step} value={value} aria-valuetext={shown} onInput={(event) => onChange(Number(event.currentTarget.value))} />
      <output>{shown}</output>
    </label>
  );
}

const DECADE = 20; // steps of top-k for a factor of ten

export function Sampling() {
  const found = allowed.value;
  if (!found || !writes.value) return null;
  const size = found.order.length;
  const { temperature, topK, topP } = sampler.value;
  const change = (one: Partial<typeof PLAIN>): void => { sampler.value = { ...sampler.peek(), ...one }; };
  const most = Math.ceil(Math.log10(size) * DECADE);
  const words = T.choice;
  const plain = temperature === 1 && topK === 0 && topP === 1;
  const kAt = topK === 0 ? most : Math.round(Math.log10(topK) * DECADE);
  return (
    <section class="panel sampling">
      <h3>{words.sampling}<small>{words.decoding(header.value?.decoding?.beam ?? 1)}</small></h3>
      <div class="sliders">
        <Slider name={words.temperature} shown={temperature.toFixed(2)} value={temperature} min={0.1} max={2} step={0.05} onChange={(value) => change({ temperature: value })} />
        <Slider name={words.topK} shown={topK ? topK.toLocaleString("en") : words.all0} value={kAt} min={0} max={most} step={1} onChange={(value) => change({ topK: value >= most ? 0 : Math.min(size, Math.round(10 ** (value / DECADE))) })} />
        <Slider name={words.topP} shown={topP.toFixed(2)} value={topP} min={0.05} max={1} step={0.01} onChange={(value) => change({ topP: value })} />
      </div>
      <p aria-live="polite">{found.count === size ? words.remainsAll(size) : words.remains(found.count, size, percent(found.kept))} {!plain && <button type="button" class="plain" onClick={() => { sampler.value = PLAIN; }}>{words.reset}</button>}</p>
    </section>
  );
}
