// The page of a lesson: its lab computes, and every number of the lesson's own settings is compared with Python's.

import { render, type ComponentType } from "preact";
import { tiny } from "../views/format";
import { followTheme } from "../views/palette";
import * as cat from "./cat";
import { CatLab } from "./cat-lab";
import { verdictOf, type Results, type Verdict } from "./check";
import { readLesson, type Lesson } from "./data";
import * as mask from "./mask";
import { MaskLab } from "./mask-lab";
import * as mixing from "./mixing";
import { MixingLab } from "./mixing-lab";
import * as norm from "./norm";
import { NormLab } from "./norm-lab";
import * as positions from "./positions";
import { PositionsLab } from "./positions-lab";
import * as scaling from "./scaling";
import { ScalingLab } from "./scaling-lab";

interface Lab {
  view: ComponentType<{ lesson: Lesson }>;
  results(lesson: Lesson): Results;
}

const lab = <S,>(view: ComponentType<{ lesson: Lesson<S> }>, results: (lesson: Lesson<S>) => Results): Lab => ({ view, results }) as unknown as Lab;

const LABS: Record<string, Lab> = {
  mixing: lab(MixingLab, mixing.results),
  cat: lab(CatLab, cat.results),
  mask: lab(MaskLab, mask.results),
  scaling: lab(ScalingLab, scaling.results),
  norm: lab(NormLab, norm.results),
  positions: lab(PositionsLab, positions.results),
};

function Verified({ verdict }: { verdict: Verdict }) {
  if (!verdict.ok) return <p class="verified failed" role="status">✗ {verdict.failures.join(", ")} differ from Python: do not trust this lab</p>;
  const count = verdict.compared.toLocaleString("en");
  return <p class="verified ok" role="status"><b>✓</b> {count} numbers of this lesson, computed again on this page, equal Python’s; largest difference {tiny(verdict.worst)} of the largest value</p>;
}

async function open(root: Element): Promise<void> {
  const lesson = await readLesson(document);
  const found = lesson && LABS[lesson.kind];
  if (!found) throw new Error("it has no lab that this script knows");
  followTheme();
  const View = found.view;
  render(<><Verified verdict={verdictOf(found.results(lesson), lesson.right)} /><h2 class="sr">Try it</h2><View lesson={lesson} /></>, root);
}

const root = document.getElementById("page");
if (root) {
  open(root).catch((error: unknown) => {
    root.textContent = `The lab of this lesson could not be opened: ${error instanceof Error ? error.message : String(error)}`;
    throw error;
  });
}
