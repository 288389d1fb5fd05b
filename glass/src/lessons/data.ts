// What Python wrote into the page of a lesson: where the controls begin, numbers that the page cannot compute, and results.

import { chunksOf } from "../engine/chunks";
import type { ArrayRef, Tensor } from "../engine/header";

interface Header {
  format: 1;
  kind: string;
  settings: Record<string, unknown>;
  arrays: Record<string, ArrayRef>;
  right: Record<string, ArrayRef>;
}

export interface Lesson<Settings = Record<string, unknown>> {
  kind: string;
  settings: Settings;
  arrays: Record<string, Tensor>;
  right: Record<string, Tensor>; // Python's results with these settings
}

/** A lesson's own data and results, unpacked. */
export async function readLesson(page: Document): Promise<Lesson | null> {
  const element = page.getElementById("lesson");
  if (!element) return null;
  const header = JSON.parse(element.textContent ?? "") as Header;
  if (header.format !== 1) throw new Error(`its format is ${String(header.format)}, this script reads 1`);
  const chunks = chunksOf(page);
  await chunks.loadAll();
  const tensors = (refs: Record<string, ArrayRef>) => Object.fromEntries(Object.entries(refs).map(([name, ref]) => [name, chunks.array(ref)]));
  return { kind: header.kind, settings: header.settings, arrays: tensors(header.arrays), right: tensors(header.right) };
}
