// Every step of the forward pass: to search, to select, to download.

import { computed, signal } from "@preact/signals";
import type { Step } from "../engine/header";
import { unrecorded } from "../state/checking";
import { labelsOf, visible } from "../state/labels";
import { select } from "../state/selection";
import { checks, focus, header, program, run, selectNumber, source } from "../state/store";
import { T } from "../state/strings";
import { narrow } from "./canvas";
import { csvOf, npyOf, save } from "./export";
import { tiny } from "./format";
import { Dotted } from "./tokens";

const PAGE = narrow.value ? 3 : 12;
const looked = signal("");
const limit = signal(PAGE);

const found = computed<Step[]>(() => {
  const words = looked.value.toLowerCase().split(/\s+/).filter(Boolean);
  const text = (step: Step) => `${step.name} ${step.op} ${step.part} ${step.code}`.toLowerCase();
  return (program.value?.steps ?? []).filter((step) => words.every((word) => text(step).includes(word)));
});

const errors = computed(() => new Map(checks.value?.steps.map((step) => [step.step, step])));

/** One line for each row of the last axis, with the index of the other axes in front. */
function stepAsCsv(step: Step): string {
  const { data, shape } = run.value!.pass.values(step.name);
  const columns = shape.at(-1)!;
  const names = shape.map((size, axis) => labelsOf(step, axis, size));
  const lines: (string | number)[][] = [[...step.axes.slice(0, -1), ...names.at(-1)!.map(visible)]];
  for (let start = 0; start < data.length; start += columns) {
    let rest = start / columns;
    const index: string[] = [];
    for (let axis = shape.length - 2; axis >= 0; axis--) {
      index.unshift(visible(names[axis]![rest % shape[axis]!]!));
      rest = Math.floor(rest / shape[axis]!);
    }
    lines.push([...index, ...data.subarray(start, start + columns)]);
  }
  return csvOf(lines);
}

function saveNpy(step: Step): void {
  const { data, shape } = run.value!.pass.values(step.name);
  save(`${step.name}.npy`, npyOf(data, shape), "application/octet-stream");
}

function Row({ step }: { step: Step }) {
  const check = errors.value.get(step.name);
  const here = run.value?.pass.has(step.name) ?? false;
  const hollow = here && run.value && source.value?.origin(step.name, run.value) === "recorded";
  const open = () => { selectNumber(step.name, step.shape.map(() => 0)); select({ view: "proof" }); };
  return (
    <tr data-on={focus.value?.step.name === step.name ? "" : undefined}>
      <th scope="row"><button type="button" class="plain mono" onClick={open} title={step.tapped ? T.proof.tapped : undefined}><Dotted name={step.name} /></button></th>
      <td title={header.value?.ops[step.op]?.sentence}>{step.op.replaceAll("_", " ")}</td>
      <td class={`num ${check && !check.ok ? "warn" : ""}`} title={check?.why}>{hollow ? T.proof.recorded : check ? (check.error ? tiny(check.error) : "0") : "–"}</td>
      <td class="mono">{step.shape.join("×")}</td>
      <td class="saves">{here && <>
        <button type="button" class="plain" aria-label={`${T.sizes.csv}: ${step.name}`} onClick={() => save(`${step.name}.csv`, stepAsCsv(step), "text/csv")}>{T.sizes.csv}</button>
        <button type="button" class="plain" aria-label={`${T.sizes.npy}: ${step.name}`} onClick={() => saveNpy(step)}>{T.sizes.npy}</button>
      </>}</td>
    </tr>
  );
}

export function StepList() {
  const words = T.proof;
  const shown = found.value.slice(0, limit.value);
  const other = unrecorded(run.value);
  return (
    <section class="panel">
      <h3>{words.steps}<small>{words.found(found.value.length, program.value?.steps.length ?? 0)}</small></h3>
      <input class="searchbox" type="search" aria-label={words.search} placeholder={words.searchExample} value={looked.value} onInput={(event) => { looked.value = event.currentTarget.value; limit.value = PAGE; }} />
      <div class="scroll" tabIndex={0} role="region" aria-label={words.steps}>
        <table class="steplist">
          <thead><tr><th>{words.step}</th><th>{words.op}</th><th class="num">{words.error}{other && <small> {words.errorOf}</small>}</th><th>{words.shape}</th><th>{words.save}</th></tr></thead>
          <tbody>{shown.map((step) => <Row step={step} key={step.name} />)}</tbody>
        </table>
      </div>
      {shown.length < found.value.length && <button type="button" onClick={() => { limit.value += 100; }}>{words.more}</button>}
    </section>
  );
}
