// What a learner turns: sliders, boxes, choices, numbers and texts. Each writes into a signal.

import { useSignal, type Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

interface SliderProps {
  label: string;
  value: Signal<number>;
  min: number;
  max: number;
  step?: number;
  shown?: (value: number) => string;
}

export function Slider({ label, value, min, max, step = 1, shown = String }: SliderProps) {
  const id = useId();
  const text = shown(value.value);
  return (
    <p class="slider">
      <label for={id}>{label} <output>{text}</output></label>
      <input id={id} type="range" min={min} max={max} step={step} value={value.value} aria-valuetext={text}
        onInput={(event) => { value.value = Number(event.currentTarget.value); }} />
    </p>
  );
}

export function Check({ label, value }: { label: string; value: Signal<boolean> }) {
  return (
    <label class="check">
      <input type="checkbox" checked={value.value} onChange={(event) => { value.value = event.currentTarget.checked; }} /> {label}
    </label>
  );
}

interface ChoiceProps<T> {
  label: string;
  options: readonly (readonly [T, string])[];
  value: Signal<T>;
}

/** One of a few. */
export function Choice<T extends string | number>({ label, options, value }: ChoiceProps<T>) {
  return (
    <div class="choice" role="group" aria-label={label}>
      <span class="note" aria-hidden="true">{label}</span>
      <span class="group">{options.map(([key, text]) => (
        <button type="button" key={key} aria-pressed={value.value === key} onClick={() => { value.value = key; }}><bdi>{text}</bdi></button>
      ))}</span>
    </div>
  );
}

interface NumberProps {
  label: string;
  value: number;
  onChange(value: number): void;
  step?: number;
  mark?: string; // a class
}

const MOST = 1000; // magnitude of a number that is typed

export function NumberField({ label, value, onChange, step = 0.1, mark }: NumberProps) {
  const draft = useSignal<string | null>(null); // what stands there while it is typed: "1." is not yet 1.5
  const read = (event: { currentTarget: HTMLInputElement }): void => {
    draft.value = event.currentTarget.value;
    const typed = event.currentTarget.valueAsNumber;
    if (Number.isFinite(typed)) onChange(Math.max(-MOST, Math.min(MOST, typed)));
  };
  const shown = draft.value ?? String(Math.round(value * 100) / 100);
  return <input class={`number-field ${mark ?? ""}`} type="number" step={step} aria-label={label} value={shown} onInput={read} onBlur={() => { draft.value = null; }} />;
}

export function TextField({ label, value, onText }: { label: string; value: string; onText(text: string): void }) {
  const id = useId();
  return (
    <p class="text-field">
      <label for={id}>{label}</label>
      <input id={id} type="text" value={value} maxLength={400} onInput={(event) => onText(event.currentTarget.value)} autocomplete="off" spellcheck={false} />
    </p>
  );
}

/** A part of the lab with its heading. */
export function Panel({ title, note, children, wide }: { title: string; note?: string; children: ComponentChildren; wide?: boolean }) {
  return (
    <section class={wide ? "card wide" : "card"}>
      <h3>{title}{note && <small>{note}</small>}</h3>
      {children}
    </section>
  );
}
