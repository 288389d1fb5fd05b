// What is typed into the field of the sentence: answered after a pause, kept where it is refused, with the reason.

import { signal } from "@preact/signals";
import { ask, runA, trouble } from "./store";
import { T } from "./strings";

export const typed = signal<string | null>(null); // what is in the field, while it differs from A's text
export const refused = signal(""); // why what is in the field was not answered

const PAUSE = 350; // milliseconds without a key before the model answers
const QUICK = 600; // a model that needs longer waits for Enter

let pending: ReturnType<typeof setTimeout> | undefined;
let lasted = 0; // milliseconds of the latest answer

async function answer(text: string): Promise<void> {
  clearTimeout(pending);
  const from = performance.now();
  trouble.value = refused.value = "";
  if (text !== runA.value?.text) await ask(text);
  lasted = performance.now() - from;
  if (!trouble.value || (typed.value ?? "").trim() !== text) return;
  refused.value = trouble.value; // it is said beside the field
  trouble.value = "";
}

export function type(text: string): void {
  typed.value = text;
  refused.value = "";
  clearTimeout(pending);
  if (lasted < QUICK && text.trim()) pending = setTimeout(() => void answer(text.trim()), PAUSE);
}

/** Asks for what is in the field. */
export async function submit(): Promise<void> {
  clearTimeout(pending);
  const text = (typed.value ?? runA.value?.text ?? "").trim();
  if (!text) {
    refused.value = T.nothingTyped;
    return;
  }
  await answer(text);
  forgetAnswered();
}

/** Only what was answered: not what was refused, or typed in the meantime. */
export function forgetAnswered(): void {
  if (typed.value?.trim() === runA.value?.text) typed.value = null;
}

/** The field shows A's sentence again. */
export function forgetTyped(): void {
  clearTimeout(pending);
  typed.value = null;
  refused.value = "";
}
