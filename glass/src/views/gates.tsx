// Models without attention: what each layer computes at one position, as vectors over all positions.

import { computed } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { Step } from "../engine/header";
import { labelsOf, visible } from "../state/labels";
import { picked, select } from "../state/selection";
import { places, run, selectNumber, tensorShown } from "../state/store";
import { T } from "../state/strings";
import { cellsOf } from "./cells";
import { placeInWords } from "./rail";
import { Strip } from "./strip";
import { WithPieces } from "./tokens";

function StepStrip({ step }: { step: Step }) {
  const cells = useMemo(() => computed(() => cellsOf(tensorShown(step.name)!, [])), [step]);
  const at = useMemo(() => computed(() => ({ row: picked.query.value, column: picked.tap.value === step.name ? picked.column.value : -1 })), [step]);
  const name = step.name.split(".").at(-1)!.replaceAll("_", " ");
  return (
    <div class="vectors">
      <h4>{name}<small>{cells.value.rows} × {cells.value.columns}</small></h4>
      <Strip cells={cells} title={name} picked={at} onPick={(row, column) => { selectNumber(step.name, [row, column]); select({ query: row }); }} tall={14} wide={6} />
    </div>
  );
}

export function Gates() {
  const layers = places.value.filter((place) => place.layer !== null);
  const place = layers.find((one) => one.stack === picked.stack.value && one.layer === picked.layer.value) ?? layers[0];
  const steps = place?.steps.filter((step) => step.tapped && step.shape.length === 2 && run.value?.pass.has(step.name)) ?? [];
  const first = steps[0];
  const pieces = first ? labelsOf(first, -2, run.value!.pass.values(first.name).shape[0]!) : [];
  return (
    <>
      <h2><WithPieces text={T.head.gates(visible(pieces[picked.query.value] ?? ""))} /></h2>
      <p class="lead">{T.head.none}</p>
      <div class="controls">
        {layers.map((one) => <button type="button" key={one.id} aria-pressed={one === place} onClick={() => select({ stack: one.stack, layer: one.layer ?? 0 })}>{placeInWords(one)}</button>)}
      </div>
      {steps.map((step) => <StepStrip step={step} key={step.name} />)}
    </>
  );
}
