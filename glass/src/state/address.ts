// The address after '#' and the state, kept equal: selection, sentence, and what makes B differ from A.

import { effect, signal } from "@preact/signals";
import type { Patch } from "../engine/header";
import { fromHash, select, selection, toHash, type Extra } from "./selection";
import { ask, busy, compare, mode, runA, source, UNCHANGED, whatIf, type Mode, type WhatIf } from "./store";
import { forgetTyped } from "./typing";

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

/** What the back button returns to: the view, the sentence, and the changes; not which number is selected. */
export function entryOf(hash: string): string {
  const { chosen, extra } = fromHash(hash);
  return JSON.stringify([chosen.view, ...["text", "other", "patches", "forced", "pruned", "keep"].map((key) => extra[key] ?? "")]);
}

/** How many addresses are being read: meanwhile the state is between two of them. */
export const readingAddress = signal(0);

/** Shows what the address asks for, whatever was shown before. */
export async function readAddress(): Promise<void> {
  readingAddress.value++;
  try {
    await show(location.hash);
  } finally {
    readingAddress.value--;
  }
}

async function show(hash: string): Promise<void> {
  const { chosen, extra } = fromHash(hash);
  select(chosen);
  forgetTyped();
  const from = source.value;
  const text = extra.text || (from?.header.traces[0]?.text ?? "");
  if (text && (text !== runA.value?.text || busy.value === "A") && (from?.live || from?.header.traces.some((trace) => trace.text === text))) {
    await compare(UNCHANGED); // B of the sentence before is not wanted
    await ask(text);
  }
  if (hash !== location.hash || !source.value?.live) return; // another address is being read by now
  const wantedMode: Mode = extra.mode === "B" || extra.mode === "B-A" ? extra.mode : "A";
  await compare(changeFrom(extra), wantedMode);
}

function write(address: string, newEntry: boolean): void {
  try {
    if (newEntry) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
  } catch {
    // A page inside another page may have no address of its own: everything else works.
  }
}

/** From now on the address follows the state. Another view, sentence or change is a new entry, so the back button returns to it. */
export function followState(): () => void {
  let pending: ReturnType<typeof setTimeout> | undefined;
  let shown = entryOf(location.hash || toHash(selection.peek(), extraOf()));
  const follow = (): void => {
    const address = toHash(selection.peek(), extraOf());
    if (readingAddress.peek() || address === location.hash) return;
    write(address, entryOf(address) !== shown);
    shown = entryOf(address);
  };
  const end = effect(() => {
    void toHash(selection.value, extraOf());
    clearTimeout(pending);
    pending = setTimeout(follow, 150);
  });
  const read = (): void => {
    shown = entryOf(location.hash || toHash({ ...selection.peek(), view: "whole" }, {}));
    void readAddress().then(follow);
  };
  window.addEventListener("popstate", read);
  return () => {
    end();
    clearTimeout(pending);
    window.removeEventListener("popstate", read);
  };
}
