// Vectors in two of their dimensions: where each word was and where attention moves it. Words can be dragged.

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";

export interface Dot {
  name: string;
  from: readonly [number, number]; // its own vector
  to: readonly [number, number]; // its mixture
  chosen: boolean;
}

export interface Ghost {
  name: string;
  at: readonly [number, number];
}

interface PlaneProps {
  dots: readonly Dot[];
  ghosts: readonly Ghost[];
  axes: readonly [string, string];
  onMove(word: number, x: number, y: number): void;
  onChoose(word: number): void;
}

const [WIDE, TALL, EDGE] = [440, 340, 34];

type Range = readonly [number, number, number, number]; // x from, x to, y from, y to

function rangeOf(dots: readonly Dot[], ghosts: readonly Ghost[]): Range {
  const points = [...dots.flatMap((dot) => [dot.from, dot.to]), ...ghosts.map((one) => one.at), [0, 0] as const];
  const ends = (axis: 0 | 1): [number, number] => {
    const values = points.map((point) => point[axis]);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const room = Math.max(0.5, (high - low) * 0.16);
    return [low - room, high + room];
  };
  return [...ends(0), ...ends(1)];
}

/** Where the name of a pale dot stands: left of it, or below it if the chosen word is on its left. */
function besides(x: number, y: number, chosen: number): { x: number; y: number; "text-anchor": "start" | "end" } {
  if (x <= chosen) return { x: x - 10, y: y + 4, "text-anchor": "end" };
  return { x, y: y + 20, "text-anchor": x > WIDE * 0.6 ? "end" : "start" };
}

export function Plane({ dots, ghosts, axes, onMove, onChoose }: PlaneProps) {
  const held = useSignal(-1);
  const kept = useRef<Range | null>(null); // while a word is dragged
  const svg = useRef<SVGSVGElement>(null);
  const range = held.value >= 0 && kept.current ? kept.current : rangeOf(dots, ghosts);
  kept.current = range;
  const x = (value: number) => EDGE + ((value - range[0]) / (range[1] - range[0])) * (WIDE - EDGE - 8);
  const y = (value: number) => TALL - EDGE - ((value - range[2]) / (range[3] - range[2])) * (TALL - EDGE - 8);
  const drag = (event: PointerEvent): void => {
    if (held.value < 0) return;
    const box = svg.current!.getBoundingClientRect();
    const [px, py] = [((event.clientX - box.left) / box.width) * WIDE, ((event.clientY - box.top) / box.height) * TALL];
    const within = (share: number, from: number, to: number) => Math.round((from + Math.max(0, Math.min(1, share)) * (to - from)) * 100) / 100;
    onMove(held.value, within((px - EDGE) / (WIDE - EDGE - 8), range[0], range[1]), within((TALL - EDGE - py) / (TALL - EDGE - 8), range[2], range[3]));
  };
  const hold = (word: number) => (event: PointerEvent) => {
    (event.currentTarget as Element).setPointerCapture(event.pointerId);
    held.value = word;
    onChoose(word);
  };
  return (
    <svg class="plane" ref={svg} viewBox={`0 0 ${WIDE} ${TALL}`} role="img" onPointerMove={drag} onPointerUp={() => { held.value = -1; }} onPointerCancel={() => { held.value = -1; }}
      aria-label={`Words in the dimensions ${axes[0]} and ${axes[1]}. ${dots.map((dot) => `${dot.name} from ${dot.from.map((v) => v.toFixed(2)).join(", ")} to ${dot.to.map((v) => v.toFixed(2)).join(", ")}`).join("; ")}`}>
      <line class="axis" x1={EDGE} y1={y(0)} x2={WIDE - 8} y2={y(0)} /><line class="axis" x1={x(0)} y1="8" x2={x(0)} y2={TALL - EDGE} />
      <text class="axis-name" x={WIDE - 8} y={TALL - 10} text-anchor="end">{axes[0]} →</text>
      <text class="axis-name" x="12" y="12" transform="rotate(-90 12 12)" text-anchor="end">{axes[1]} →</text>
      {ghosts.map((one) => <g key={one.name} class="ghost"><circle cx={x(one.at[0])} cy={y(one.at[1])} r="5" /><text {...besides(x(one.at[0]), y(one.at[1]), x(dots.find((dot) => dot.chosen)?.from[0] ?? 0))}>{one.name}</text></g>)}
      {dots.map((dot, i) => <line key={i} class={dot.chosen ? "path chosen" : "path"} x1={x(dot.from[0])} y1={y(dot.from[1])} x2={x(dot.to[0])} y2={y(dot.to[1])} />)}
      {dots.map((dot, i) => <circle key={i} class={dot.chosen ? "after chosen" : "after"} cx={x(dot.to[0])} cy={y(dot.to[1])} r={dot.chosen ? 6 : 5} />)}
      {dots.map((dot, i) => (
        <g key={i} class={dot.chosen ? "word chosen" : "word"} onPointerDown={hold(i)}>
          <circle class="grip" cx={x(dot.from[0])} cy={y(dot.from[1])} r="18" /><circle class="before" cx={x(dot.from[0])} cy={y(dot.from[1])} r="6.5" />
          <text x={x(dot.from[0])} y={y(dot.from[1]) - 12} text-anchor="middle">{dot.name}</text>
        </g>
      ))}
    </svg>
  );
}
