// The address after '#' and the state, kept equal: selection, sentence, and what makes B differ from A.

import { batch, effect } from "@preact/signals";
import type { Patch } from "../engine/header";
import { fromHash, select, selection, toHash, type Extra } from "./selection";
import { ask, compare, mode, runA, source, UNCHANGED, whatIf, type Mode, type WhatIf } from "./store";

const HOWS = ["zero", "mean", "set", "hide"];

/** step:how:head:row:column:value, with nothing where a number is absent. */
export function patchText(patch: Patch): string {
  const numbers = [patch.head, patch.row, patch.column, patch.value].map((number) => number ?? "");
  return [patch.step, patch.how, ...numbers].join(":").replace(/:+$/, "");
}

export function patchFrom(text: string): Patch | null {
  const [step = "", how = "", ...numbers] = text.split(":");
  if (!step || !HOWS.includes(how)) return null;
  const patch: Patch = { step, how: how as Patch["how"] };
  for (const [i, key] of (["head", "row", "column", "value"] as const).entries()) {
    const number = Number.parseFloat(numbers[i] ?? "");
    if (Number.isFinite(number)) patch[key] = number;
  }
  return patch;
}

function extraOf(): Extra {
  const change = whatIf.value;
  const first = source.value?.header.traces[0]?.text;
  const text = runA.value?.text ?? "";
  return {
    text: text === first ? "" : text,
    other: change.text ?? "",
    patches: change.patches.map(patchText).join(","),
    forced: Object.entries(change.forced).map(([at, token]) => `${at}:${token}`).join(","),
    pruned: change.pruned.map((ids) => ids.join(".")).join(","),
    keep: change.keep ? "1" : "",
    mode: mode.value === "A" ? "" : mode.value,
  };
}

function changeFrom(extra: Extra): WhatIf {
  const patches = (extra.patches ?? "").split(",").map(patchFrom).filter((patch) => patch !== null);
  const known = new Set(source.value?.header.program.steps.map((step) => step.name));
  const forced: Record<number, number> = {};
  for (const pair of (extra.forced ?? "").split(",")) {
    const [at, token] = pair.split(":").map(Number);
    if (at !== undefined && token !== undefined && Number.isInteger(at) && Number.isInteger(token)) forced[at] = token;
  }
  const pruned = (extra.pruned ?? "").split(",").filter((ids) => /^\d+(\.\d+)*$/.test(ids)).map((ids) => ids.split(".").map(Number));
  return { ...UNCHANGED, pruned, text: extra.other || null, patches: patches.filter((patch) => known.has(patch.step)), forced, keep: extra.keep === "1" };
}

/** Shows what the address asks for. */
export async function readAddress(): Promise<void> {
  const { chosen, extra } = fromHash(location.hash);
  batch(() => select(chosen));
  if (extra.text && extra.text !== runA.value?.text && source.value?.live) await ask(extra.text);
  const wanted = changeFrom(extra);
  const wantedMode: Mode = extra.mode === "B" || extra.mode === "B-A" ? extra.mode : "A";
  if (source.value?.live) await compare(wanted, wantedMode);
}

function write(address: string, newEntry: boolean): void {
  try {
    if (newEntry) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
  } catch {
    // A page inside another page may have no address of its own: everything else works.
  }
}

/** From now on the address follows the state. A change of view is a new entry, so the back button returns to it. */
export function followState(): void {
  let pending = 0;
  let view = selection.peek().view;
  effect(() => {
    const address = toHash(selection.value, extraOf());
    clearTimeout(pending);
    pending = window.setTimeout(() => {
      if (address === location.hash) return;
      write(address, selection.peek().view !== view);
      view = selection.peek().view;
    }, 150);
  });
  window.addEventListener("popstate", () => {
    view = fromHash(location.hash).chosen.view ?? view;
    void readAddress();
  });
}
