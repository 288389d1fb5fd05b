// Lines over a horizontal axis, with the place that was chosen on it.

export interface Series {
  name: string;
  points: readonly (readonly [number, number])[];
  kind: number; // 0 to 5: its colour and dashes
}

interface LinesProps {
  title: string;
  series: readonly Series[];
  from: readonly [number, number]; // the ends of the axes
  to: readonly [number, number];
  marks: readonly (readonly [number, string])[]; // on the horizontal axis
  across: string; // what it is
  at?: number;
  log?: boolean;
  tall?: number;
}

const [LEFT, RIGHT, TOP, BOTTOM, WIDE] = [44, 14, 10, 34, 520];

export function Lines({ title, series, from, to, marks, across, at, log = false, tall = 220 }: LinesProps) {
  const part = (value: number) => (log ? Math.log(value / from[0]) / Math.log(to[0] / from[0]) : (value - from[0]) / (to[0] - from[0]));
  const x = (value: number) => LEFT + (WIDE - LEFT - RIGHT) * part(value);
  const y = (value: number) => tall - BOTTOM - (tall - TOP - BOTTOM) * Math.max(-0.02, Math.min(1.02, (value - from[1]) / (to[1] - from[1])));
  return (
    <figure class="curves">
      <svg viewBox={`0 0 ${WIDE} ${tall}`} role="img" aria-label={title}>
        {[0, 0.25, 0.5, 0.75, 1].map((share) => {
          const value = from[1] + (to[1] - from[1]) * share;
          return <g key={share}><line class="mark" x1={LEFT} y1={y(value)} x2={WIDE - RIGHT} y2={y(value)} /><text x={LEFT - 6} y={y(value) + 4} text-anchor="end">{Number(value.toFixed(3))}</text></g>;
        })}
        {marks.map(([value, text]) => <text key={value} x={x(value)} y={tall - BOTTOM + 15} text-anchor="middle">{text}</text>)}
        <text x={(LEFT + WIDE - RIGHT) / 2} y={tall - 4} text-anchor="middle">{across}</text>
        {at !== undefined && <line class="at" x1={x(at)} y1={TOP} x2={x(at)} y2={tall - BOTTOM} />}
        {series.map((one) => <polyline key={one.name} class={`line line${one.kind}`} points={one.points.map(([a, b]) => `${x(a).toFixed(1)},${y(b).toFixed(1)}`).join(" ")} />)}
      </svg>
      {series.length > 1 && <figcaption>{series.map((one) => (
        <span class="key" key={one.name}><svg viewBox="0 0 26 8" aria-hidden="true"><line class={`line line${one.kind}`} x1="0" y1="4" x2="26" y2="4" /></svg>{one.name}</span>
      ))}</figcaption>}
    </figure>
  );
}
