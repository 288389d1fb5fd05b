// The error of every step on a logarithmic axis, in the order of the forward pass.

import { signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { Checks, StepCheck } from "../engine/header";
import { select } from "../state/selection";
import { unrecorded } from "../state/checking";
import { focus, run, selectNumber, stepNamed } from "../state/store";
import { T } from "../state/strings";
import { Canvas } from "./canvas";
import { csvOf, save } from "./export";
import { tiny } from "./format";
import type { Palette } from "./palette";

const [LOWEST, HIGHEST] = [-9, -4]; // powers of ten
const LIMIT = 1e-5;
const LEFT = 38; // for the axis
const at = signal(-1); // the step under the pointer or chosen by keys; -1: none yet

function height(error: number, tall: number): number {
  const power = error > 0 ? Math.log10(error) : LOWEST;
  const share = (Math.max(LOWEST, Math.min(HIGHEST, power)) - LOWEST) / (HIGHEST - LOWEST);
  return tall - 18 - share * (tall - 28);
}

function drawAxis(pen: CanvasRenderingContext2D, width: number, tall: number, colours: Palette): void {
  pen.font = "11px system-ui, sans-serif";
  pen.textBaseline = "middle";
  pen.textAlign = "end";
  for (let power = LOWEST; power <= HIGHEST; power++) {
    const y = height(10 ** power, tall);
    pen.fillStyle = colours.line;
    pen.fillRect(LEFT, y, width - LEFT, 1);
    pen.fillStyle = colours.soft;
    pen.fillText(power === LOWEST ? "0" : `1e${power}`, LEFT - 6, y);
  }
  pen.strokeStyle = colours.minus.css[255]!;
  pen.setLineDash([5, 4]);
  pen.beginPath();
  pen.moveTo(LEFT, height(LIMIT, tall));
  pen.lineTo(width, height(LIMIT, tall));
  pen.stroke();
  pen.setLineDash([]);
  pen.textAlign = "start";
  pen.fillText(T.proof.errorsAxis, LEFT, tall - 6);
}

function drawSteps(pen: CanvasRenderingContext2D, steps: readonly StepCheck[], width: number, tall: number, colours: Palette): void {
  const apart = (width - LEFT - 8) / Math.max(1, steps.length);
  const chosen = focus.value?.step.name;
  for (const [i, step] of steps.entries()) {
    const [x, y] = [LEFT + 4 + (i + 0.5) * apart, height(step.error, tall)];
    const picked = step.step === chosen || i === at.value;
    pen.fillStyle = picked ? colours.pick : step.ok ? colours.plus.css[255]! : colours.minus.css[255]!;
    pen.beginPath();
    if (step.ok) pen.arc(x, y, picked ? 4 : Math.max(1.6, Math.min(2.5, apart / 2)), 0, 7);
    else pen.rect(x - 3.5, y - 3.5, 7, 7);
    pen.fill();
  }
}

/** A step in words. */
function saying(step: StepCheck | undefined): string {
  if (!step) return "";
  return T.proof.errorSay(step.step, step.error ? tiny(step.error) : T.proof.exact, step.compared) + (step.why ? `. ${step.why}` : "");
}

function errorsAsCsv(steps: readonly StepCheck[]): string {
  return csvOf([["step", "error", "compared", "ok", "why"], ...steps.map((one) => [one.step, one.error, one.compared, String(one.ok), one.why ?? ""])]);
}

function choose(step: StepCheck | undefined): void {
  const known = step && stepNamed(step.step);
  if (known) { selectNumber(known.name, known.shape.map(() => 0)); select({ view: "proof" }); }
}

export function ErrorChart({ found }: { found: Checks }) {
  const steps = useMemo(() => found.steps.filter((step) => !step.only), [found]);
  const other = unrecorded(run.value);
  const draw = useMemo(() => (pen: CanvasRenderingContext2D, width: number, tall: number, colours: Palette) => {
    drawAxis(pen, width, tall, colours);
    drawSteps(pen, steps, width, tall, colours);
  }, [steps]);
  const nearest = (event: MouseEvent): number => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const share = (event.clientX - box.left - LEFT - 4) / (box.width - LEFT - 8);
    return Math.max(0, Math.min(steps.length - 1, Math.floor(share * steps.length)));
  };
  const key = (event: KeyboardEvent) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (event.key === "Enter") choose(steps[at.value]);
    if (!by) return;
    event.preventDefault();
    at.value = Math.max(0, Math.min(steps.length - 1, at.value + by));
  };
  return (
    <section class="panel chartpanel">
      <h3>{T.proof.errors}<small>{other && T.proof.errorsOf(other.text)}{T.proof.errorsNote}</small></h3>
      <div class="errorchart" tabIndex={0} role="application" aria-roledescription="chart" aria-label={`${T.proof.errors}. ${T.matrix.keys}`} onKeyDown={key}
        onPointerMove={(event) => { at.value = nearest(event); }} onClick={(event) => choose(steps[nearest(event)])}>
        <Canvas draw={draw} />
      </div>
      <p class="readout" aria-live="polite">{steps[at.value] ? saying(steps[at.value]) : found.worst && T.proof.worst(found.worst.step, found.worst.error ? tiny(found.worst.error) : T.proof.exact)}</p>
      <div class="tools"><button type="button" class="plain" onClick={() => save("errors.csv", errorsAsCsv(steps), "text/csv")}>{T.sizes.csv}</button></div>
    </section>
  );
}
