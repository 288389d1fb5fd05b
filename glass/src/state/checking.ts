// Every number of a recorded sentence is checked against Python when it is first shown.

import { effect } from "@preact/signals";
import type { Checks, Run, Source, TraceRecord } from "../engine/header";
import { sameIds } from "../engine/source";
import { checkedText, checks, header, run, runB, source } from "./store";

/** Whether Python recorded exactly this: the same ids, and nothing changed. */
export function isRecorded({ trace, ids, patches }: Run): boolean {
  return trace !== undefined && !patches.length && sameIds(trace.ids, ids);
}

/** What is known of a run that Python did not record. */
export interface Unrecorded {
  which: "A" | "B";
  probes: number; // texts whose ids Python recorded, for the tokenizers that read its text; 0: its ids are those of a recorded text, or it has none
  text: string; // the recorded text on which the arithmetic was checked
}

/** Null: Python recorded all of it. */
export function unrecorded(of: Run | null): Unrecorded | null {
  if (!of || isRecorded(of)) return null;
  const readers = of.trace ? [] : Object.values(header.value?.tokenizers ?? {});
  const probes = readers.reduce((sum, { probes: texts }) => sum + texts.length, 0);
  return { which: of === runB.value ? "B" : "A", probes, text: checkedText.value };
}

/** Lets the browser draw first. */
function later(work: () => void): void {
  if (typeof requestAnimationFrame === "function") requestAnimationFrame(() => setTimeout(work, 0));
  else setTimeout(work, 0);
}

function failed(error: unknown): Checks {
  const detail = error instanceof Error ? error.message : String(error);
  return { ok: false, steps: [], worst: null, compared: 0, failures: [], rules: [{ name: "the check itself", ok: false, detail }] };
}

/** The recorded run that is checked: the shown one, or, while that is another and nothing was checked yet, the first. */
function toCheck(from: Source, shown: Run): Run | null {
  if (isRecorded(shown)) return shown;
  return checks.peek() ? null : from.recorded(0);
}

/** Keeps `checks` those of the recorded sentence that is shown, or was shown last. */
export function followChecks(): () => void {
  const known = new Map<TraceRecord, Checks>();
  let wanted: TraceRecord | undefined;
  return effect(() => {
    const [from, shown] = [source.value, run.value];
    const of = from && shown && toCheck(from, shown);
    if (!from || !of || of.trace === wanted) return;
    const trace = (wanted = of.trace!);
    checkedText.value = trace.text;
    checks.value = known.get(trace) ?? null;
    if (checks.peek()) return;
    later(() => {
      void from.checked(of).catch(failed).then((found) => {
        known.set(trace, found);
        if (trace === wanted) checks.value = found;
      });
    });
  });
}
