// The lab of scaling: how the width of the vectors saturates the softmax, and what dividing by its root changes.

import { useComputed, useSignal } from "@preact/signals";
import { dim } from "../engine/tensor";
import { cellsOf } from "../views/cells";
import { brief } from "../views/format";
import { Strip } from "../views/strip";
import { Panel, Slider } from "./controls";
import type { Lesson } from "./data";
import { Lines, type Series } from "./lines";
import { jacobian, measured, sharesOf, type Measured, type Settings } from "./scaling";

const FULL = 0.08; // of a Jacobian, whose largest possible number is 0.25

/** Powers of the root of 2, up to the widest vectors. */
function widthsUp(to: number): number[] {
  const found: number[] = [];
  for (let step = 0; 2 ** (step / 2) <= to * 1.001; step++) {
    const width = Math.round(2 ** (step / 2));
    if (width <= to && width !== found.at(-1)) found.push(width);
  }
  return found.at(-1) === to ? found : [...found, to];
}

function divisor(width: number, power: number): string {
  if (power === 0) return "1 (not divided)";
  if (power === 0.5) return `√${width} = ${brief(Math.sqrt(width))}`;
  return power === 1 ? `${width}` : `${width}^${power.toFixed(2)} = ${brief(width ** power)}`;
}

function Bars({ shares }: { shares: Float32Array }) {
  const best = shares.indexOf(Math.max(...shares));
  return (
    <div class="columns-chart" role="img" aria-label={`The shares of ${shares.length} keys; the largest is ${shares[best]!.toFixed(3)}, of key ${best + 1}`}>
      {Array.from(shares, (share, i) => <i key={i} class={i === best ? "best" : ""} style={{ height: `${Math.max(0.6, 100 * share)}%` }} />)}
    </div>
  );
}

function Slope({ shares }: { shares: Float32Array }) {
  const cells = useSignal(cellsOf({ ...jacobian(shares), signed: true }, [], FULL));
  cells.value = cellsOf({ ...jacobian(shares), signed: true }, [], FULL);
  return <Strip cells={cells} title="How each share moves with each score" tall={8} wide={8} />;
}

function Facts({ found }: { found: Measured }) {
  const facts: [string, string, string][] = [
    ["variance of the scores", brief(found.variance), found.variance > 4 ? "too spread" : found.variance < 0.25 ? "too even" : "about 1"],
    ["highest of the shares, mean", found.highest.toFixed(3), found.highest > 0.8 ? "saturated" : found.highest < 0.06 ? "nearly the same for all" : "some keys count more"],
    ["size of the gradient, mean", found.gradient.toFixed(3), found.gradient < 0.12 ? "hardly anything is learned" : "the signal passes"],
  ];
  return <dl class="facts-row">{facts.map(([name, value, word]) => <div key={name}><dt>{name}</dt><dd>{value}</dd><dd class="note">{word}</dd></div>)}</dl>;
}

export function ScalingLab({ lesson }: { lesson: Lesson<Settings> }) {
  const [queries, keys] = [lesson.arrays.queries!, lesson.arrays.keys!];
  const widths = widthsUp(dim(queries, 1));
  const step = useSignal(widths.findIndex((width) => width >= lesson.settings.width));
  const power = useSignal(0);
  const query = useSignal(1);
  const width = widths[step.value]!;
  const found = useComputed(() => measured(queries, keys, widths[step.value]!, power.value));
  const curves = useComputed(() => [power.value, 0.5].map((one) => widths.map((each) => ({ each, ...measured(queries, keys, each, one) }))));
  const shares = sharesOf(found.value, query.value - 1);
  const names = [power.value === 0 ? "not divided" : `÷ d^${power.value.toFixed(2)}`, "÷ √d"];
  const lines = (what: "highest" | "gradient"): Series[] => curves.value.map((points, i) => ({ name: names[i]!, kind: 1 - i, points: points.map((one) => [one.each, one[what]] as const) })).slice(power.value === 0.5 ? 1 : 0);
  const marks = widths.filter((one) => Math.log2(one) % 2 === 0).map((one) => [one, String(one)] as const);
  const top = Math.max(0.5, ...curves.value.flat().map((one) => one.gradient));
  return (
    <div class="cards">
      <Panel title="Turn the width, then divide" wide>
        <div class="two-sliders">
          <Slider label="d, the width of queries and keys:" value={step} min={0} max={widths.length - 1} shown={(place) => String(widths[place])} />
          <Slider label="Scores ÷ d to the power of" value={power} min={0} max={1} step={0.05} shown={(value) => `${value.toFixed(2)}: ÷ ${divisor(width, value)}`} />
        </div>
        <div class="line-of-controls">
          <button type="button" aria-pressed={power.value === 0} onClick={() => { power.value = 0; }}>not divided</button>
          <button type="button" aria-pressed={power.value === 0.5} onClick={() => { power.value = 0.5; }}>÷ √d</button>
          <button type="button" aria-pressed={power.value === 1} onClick={() => { power.value = 1; }}>÷ d</button>
        </div>
        <Facts found={found.value} />
      </Panel>
      <Panel title={`The shares of ${shares.length} keys`} note="random vectors; no key is special">
        <Bars shares={shares} />
        <Slider label="Query" value={query} min={1} max={dim(queries, 0)} />
      </Panel>
      <Panel title="What can be learned" note="each share by each score">
        <Slope shares={shares} />
        <p class="note">diag(p) − p pᵀ, the slope of the softmax. W_Q and W_K learn only through these numbers; where the picture is empty, they get nothing.</p>
      </Panel>
      <Panel title="The highest share, at every width">
        <Lines title="The highest share at every width" series={lines("highest")} from={[1, 0]} to={[widths.at(-1)!, 1]} marks={marks} across="d" at={width} log />
      </Panel>
      <Panel title="The gradient, at every width">
        <Lines title="The gradient at every width" series={lines("gradient")} from={[1, 0]} to={[widths.at(-1)!, top]} marks={marks} across="d" at={width} log />
      </Panel>
    </div>
  );
}
