// Rotary positions: pairs of dimensions of q and k as hands of clocks, before and after they are turned.

import type { Step } from "../engine/header";
import type { Attention } from "../state/anatomy";
import { picked } from "../state/selection";
import { run } from "../state/store";
import { T } from "../state/strings";

const SHOWN = 12; // pairs
const SIZE = 46;

function rowOf(name: string, head: number, heads: number, row: number): Float32Array | null {
  if (!run.value?.pass.has(name)) return null;
  const { data, shape } = run.value.pass.values(name);
  const [groups, rows, width] = shape as [number, number, number];
  const start = (Math.floor((head * groups) / heads) * rows + Math.min(row, rows - 1)) * width;
  return data.subarray(start, start + width);
}

function Clock({ before, after, pair }: { before: [number, number]; after: [number, number]; pair: number }) {
  const reach = Math.max(Math.hypot(...before), Math.hypot(...after)) || 1;
  const end = ([x, y]: [number, number]) => ({ x2: SIZE / 2 + (x / reach) * (SIZE / 2 - 3), y2: SIZE / 2 - (y / reach) * (SIZE / 2 - 3) });
  return (
    <figure class="clock">
      <svg width={SIZE} height={SIZE} aria-hidden="true">
        <circle cx={SIZE / 2} cy={SIZE / 2} r={SIZE / 2 - 1.5} />
        <line class="before" x1={SIZE / 2} y1={SIZE / 2} {...end(before)} />
        <line class="after" x1={SIZE / 2} y1={SIZE / 2} {...end(after)} />
      </svg>
      <figcaption>{T.head.pair(pair * 2 + 1)}</figcaption>
    </figure>
  );
}

function Clocks({ step, one, row, colour }: { step: Step; one: Attention; row: number; colour: string }) {
  const head = Math.min(picked.head.value, one.heads - 1);
  const [before, after] = [rowOf(step.inputs[0]!, head, one.heads, row), rowOf(step.name, head, one.heads, row)];
  if (!before || !after) return null;
  const pairs = Array.from({ length: Math.min(SHOWN, Math.floor(after.length / 2)) }, (_, i) => i);
  return (
    <div class={`clocks ${colour}`}>
      {pairs.map((i) => <Clock key={i} pair={i} before={[before[2 * i]!, before[2 * i + 1]!]} after={[after[2 * i]!, after[2 * i + 1]!]} />)}
    </div>
  );
}

export function Rotation({ one }: { one: Attention }) {
  const [query, key] = [picked.query.value, picked.key.value];
  return (
    <>
      <h3>{T.head.rotation}</h3>
      <h4 class="q">q<small>{T.head.rotationNote(query)}</small></h4>
      {one.q && <Clocks step={one.q} one={one} row={query} colour="q" />}
      <h4 class="k">k<small>{T.head.rotationNote(key)}</small></h4>
      {one.k && <Clocks step={one.k} one={one} row={key} colour="k" />}
    </>
  );
}
