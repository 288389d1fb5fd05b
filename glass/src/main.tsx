// The page opens itself: its data are unpacked, then everything is shown and checked.

import { reckon } from "./engine/reckon";
import { openPage } from "./engine/source";
import { start } from "./start";
import { vocabulary } from "./state/store";

async function open(root: Element): Promise<void> {
  const source = await openPage(document);
  const { program, decoding, tokenizers } = source.header;
  const sequence = (decoding && program.causal[0]) || Object.keys(tokenizers)[0];
  vocabulary.value = (sequence && source.reader(sequence)?.shown) || [];
  document.getElementById("summary")?.remove();
  await start(root, source, (run, step, index) => reckon(source, run, step, index));
}

const root = document.getElementById("page");
if (root) {
  open(root).catch((error: unknown) => {
    root.textContent = `This page could not be opened: ${error instanceof Error ? error.message : String(error)}`;
    throw error;
  });
}
