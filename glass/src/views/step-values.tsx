// The numbers of the selected step, whatever it is, as one matrix.

import { computed } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { Step } from "../engine/header";
import { labelsOf } from "../state/labels";
import { picked, select } from "../state/selection";
import { focus, run, selectNumber, tensorShown } from "../state/store";
import { T } from "../state/strings";
import { cellsOf, EMPTY } from "./cells";
import { Matrix, type Axis } from "./matrix";

/** The index of the leading axes: the selected head, or the first. */
function leadOf(step: Step, shape: readonly number[]): number[] {
  return shape.slice(0, -2).map((size, axis) => (step.axes[axis] === "head" ? Math.min(picked.head.value, size - 1) : 0));
}

function HeadChoice({ step, heads }: { step: Step; heads: number }) {
  if (step.axes[0] !== "head" || heads < 2) return null;
  return (
    <label class="controls">{T.proof.headOf}{" "}
      <select value={Math.min(picked.head.value, heads - 1)} onChange={(event) => select({ head: Number(event.currentTarget.value) })}>
        {Array.from({ length: heads }, (_, head) => <option key={head} value={head}>{head + 1}</option>)}
      </select>
    </label>
  );
}

function Values({ step }: { step: Step }) {
  const parts = useMemo(() => {
    const shown = computed(() => tensorShown(step.name));
    const lead = computed(() => (shown.value ? leadOf(step, shown.value.shape) : []));
    const cells = computed(() => {
      const found = shown.value ? cellsOf(shown.value, lead.value) : EMPTY;
      return found.signed ? { ...found, hidden: (row: number, column: number) => (found.values[found.offset + row * found.columns + column] === -Infinity ? 1 : 0) } : found;
    });
    const axis = (at: -1 | -2) => computed<Axis>(() => {
      const size = shown.value?.shape.at(at) ?? 1;
      return { name: (step.axes.at(at) ?? "").replaceAll("_", " "), labels: step.axes.length + at < 0 ? [""] : labelsOf(step, at, size) };
    });
    const at = computed(() => {
      const [row = 0, column = 0] = focus.value?.step === step ? [0, ...focus.value.index].slice(-2) : [];
      return { row, column };
    });
    return { cells, lead, rows: axis(-2), columns: axis(-1), at };
  }, [step]);
  const heads = run.value?.pass.values(step.name).shape[0] ?? 1;
  const onPick = (row: number, column: number) => selectNumber(step.name, step.axes.length > 1 ? [...parts.lead.value, row, column] : [column]);
  return (
    <section class="panel">
      <h3>{T.proof.values(step.name)}</h3>
      <HeadChoice step={step} heads={heads} />
      <Matrix cells={parts.cells} rows={parts.rows} columns={parts.columns} picked={parts.at} onPick={onPick} title={step.name} largest={34} />
    </section>
  );
}

export function StepValues() {
  const step = focus.value?.step;
  return step ? <Values step={step} key={step.name} /> : null;
}
