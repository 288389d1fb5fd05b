// The image that a model reads, and its grid of patches.

import { computed } from "@preact/signals";
import type { Tensor } from "../engine/header";
import { program, run } from "./store";

export interface Grid {
  image: Tensor; // (C, h, w)
  down: number;
  across: number;
  height: number; // pixels that the patches cover
  width: number;
}

/** null: this model reads no image. */
export const grid = computed<Grid | null>(() => {
  const cut = program.value?.steps.find((step) => step.op === "patches");
  const of = run.value;
  if (!cut || !of || !of.pass.has(cut.inputs[0]!)) return null;
  const image = of.pass.values(cut.inputs[0]!);
  const [ph, pw] = [Number(cut.settings["height"]), Number(cut.settings["width"])];
  const [down, across] = [Math.floor(image.shape[1]! / ph), Math.floor(image.shape[2]! / pw)];
  return { image, down, across, height: down * ph, width: across * pw };
});

/** Whether the columns of a pattern are patches: then this many tokens come before them; else null. */
export function tokensBefore(keys: number): number | null {
  const found = grid.value;
  if (!found) return null;
  const before = keys - found.down * found.across;
  return before === 0 || before === 1 ? before : null;
}
