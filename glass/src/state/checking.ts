// Every number of a recorded sentence is checked against Python when it is first shown.

import { effect } from "@preact/signals";
import type { Checks, Run, Source, TraceRecord } from "../engine/header";
import { sameIds } from "../engine/source";
import { checks, run, source } from "./store";

/** Whether Python recorded exactly this: the same ids, and nothing changed. */
export function isRecorded({ trace, ids, patches }: Run): boolean {
  return trace !== undefined && !patches.length && sameIds(trace.ids, ids);
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
