// The tour through the page: whether it is on, its stops for run A, and what was answered.

import { batch, computed, effect, signal } from "@preact/signals";
import { breather, Cancelled } from "../analysis/breathe";
import type { Checks, Run } from "../engine/header";
import { sceneOf } from "../tour/prepare";
import { stopsOf, type Stop } from "../tour/stops";
import { isRecorded } from "./checking";
import { sightOf } from "./inside";
import { select } from "./selection";
import { attentions, checks, header, mode, runA, vocabularyText } from "./store";

export const touring = signal(false);
export const stops = signal<Stop[] | null>(null); // null: not known yet
export const removed = signal({ done: 0, all: 0 }); // heads removed so far, while examples are looked for
export const stopAt = signal(0);
export const chosen = signal<number | null>(null); // the option that was picked at this stop; -1: shown without a guess

/** A question is open: the view shows its answer, so it waits. */
export const asking = computed(() => touring.value && chosen.value === null && stops.value?.[stopAt.value]?.claim.question !== undefined);

let known: Run | null = null;
let working: AbortController | null = null;

/** The checks of the recorded sentence, as soon as they are done: the tour ends with them, whatever was typed. */
function checked(): Promise<Checks> {
  return new Promise((done) => {
    const end = checks.subscribe((found) => {
      if (!found) return;
      done(found);
      queueMicrotask(() => end());
    });
  });
}

async function prepare(run: Run): Promise<void> {
  const about = header.peek();
  if (!about || known === run) return;
  working?.abort();
  working = new AbortController();
  stops.value = null;
  const { signal: cancelled } = working;
  const given = { header: about, run, sight: sightOf(run), attentions: attentions.peek(), checks: null, shown: vocabularyText };
  const found = await sceneOf({ ...given, breathe: breather(cancelled), progress: (done, all) => { removed.value = { done, all }; } });
  const scene = { ...found, checks: await checked(), recorded: isRecorded(run) };
  if (cancelled.aborted) throw new Cancelled();
  known = run;
  batch(() => {
    stops.value = stopsOf(scene);
    goTo(0);
  });
}

/** Shows a stop: its view with its example selected. */
export function goTo(at: number): void {
  const stop = stops.peek()?.[at];
  batch(() => {
    stopAt.value = at;
    chosen.value = null;
    mode.value = "A";
    if (stop) select(stop.claim.at);
  });
}

export function startTour(): void {
  touring.value = true;
  if (known === runA.peek()) goTo(0);
}

/** Another sentence has other stops. */
export function followTour(): void {
  effect(() => {
    const run = runA.value;
    if (!touring.value || !run) {
      working?.abort();
      return;
    }
    prepare(run).catch((error: unknown) => {
      if (!(error instanceof Cancelled)) throw error;
    });
  });
}
