// The same thing in Python: what is shown here as lines that a reader can run.

import type { Run } from "../engine/header";
import { quoted } from "../state/whatif";

/** One recorded number. The program's shapes have no batch axis. */
export function numberInPython(run: Run, tap: string, index: readonly number[]): string {
  return [
    "import glassformer as gf",
    "from glassformer.explain.programs import program_of",
    "from glassformer.explain.programs.recorded import inputs_of, tapped_values",
    "",
    'model = gf.load("MODEL")  # the folder of this model',
    `seen = model.explain(${quoted(run.text)})`,
    "program = program_of(model.model)",
    "values = tapped_values(program, seen.values, inputs_of(program, seen.batch))",
    `print(float(values[${quoted(tap)}][${index.join(", ")}]))`,
    "",
  ].join("\n");
}

/** To the clipboard; where a page may not, from a field that is selected. */
export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = document.body.appendChild(document.createElement("textarea"));
    field.value = text;
    field.select();
    document.execCommand("copy");
    field.remove();
  }
}
