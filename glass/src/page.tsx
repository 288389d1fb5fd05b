// The page opens itself: its data are unpacked, then everything is shown and checked.

import { openHelped } from "./engine/helper";
import { reckon } from "./engine/reckon";
import { start } from "./start";
import { vocabulary } from "./state/store";

async function open(root: Element, code: string): Promise<void> {
  const source = await openHelped(document, code);
  const { program, decoding, tokenizers } = source.header;
  const sequence = (decoding && program.causal[0]) || Object.keys(tokenizers)[0];
  vocabulary.value = (sequence && source.reader(sequence)?.shown) || [];
  document.getElementById("summary")?.remove();
  await start(root, source, (run, step, index) => reckon(source, run, step, index));
}

/** `code` is this script's own text, which a worker runs too. */
export function openPage(code: string): void {
  const root = document.getElementById("page");
  if (!root) return;
  open(root, code).catch((error: unknown) => {
    root.textContent = `This page could not be opened: ${error instanceof Error ? error.message : String(error)}`;
    throw error;
  });
}
