// The same thing in Python: what is shown here as lines that a reader can run.

import type { Header, Run } from "../engine/header";
import { passLines, quoted, valuesLines } from "../state/whatif";

export interface Wanted {
  of: Run;
  minus: Run | null; // subtracted from it
  alone: boolean; // the model as it is, asked for its own answer
}

/** One number, as it is shown; null: Python cannot be given the same inputs. */
export function numberInPython(header: Header, { of, minus, alone }: Wanted, tap: string, index: readonly number[]): string | null {
  if (alone) return joined(ownLines(of, tap, index));
  const [lines, before] = [valuesLines(header, of), minus && valuesLines(header, minus)];
  if (!lines || (minus && !before)) return null;
  const at = `[${quoted(tap)}][${index.join(", ")}]`;
  return joined([
    "import glassformer as gf", ...passLines(),
    ...(before ? ["", `# A reads ${quoted(minus!.text)}`, ...before, `before = values${at}`] : []),
    "", `# B reads ${quoted(of.text)}${of.written ? ` and writes ${quoted(of.answer)}` : ""}`, ...lines,
    before ? `print(float(values${at} - before))  # B - A` : `print(float(values${at}))`,
  ]);
}

/** The model asked for its own answer. The program's shapes have no batch axis. */
function ownLines(of: Run, tap: string, index: readonly number[]): string[] {
  return [
    "import glassformer as gf",
    "from glassformer.explain.programs import program_of",
    "from glassformer.explain.programs.recorded import inputs_of, tapped_values",
    "",
    'model = gf.load("MODEL")  # the folder of this model',
    `seen = model.explain(${quoted(of.text)})`,
    "program = program_of(model.model)",
    "values = tapped_values(program, seen.values, inputs_of(program, seen.batch))",
    `print(float(values[${quoted(tap)}][${index.join(", ")}]))`,
  ];
}

function joined(lines: readonly string[]): string {
  return `${lines.join("\n")}\n`;
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
