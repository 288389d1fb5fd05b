// Pairs (sin, cos) of a position as the hands of clocks, before and after a rotation.

const MOST = 8;

/** Evenly taken pairs, the fastest and the slowest included. */
function pairsOf(width: number): number[] {
  const count = Math.floor(width / 2);
  if (count <= MOST) return Array.from({ length: count }, (_, i) => i);
  return Array.from({ length: MOST }, (_, i) => Math.round((i * (count - 1)) / (MOST - 1)));
}

/** A hand at angle a points to (sin a, -cos a): up at 0, then clockwise. */
function Clock({ pair, here, there }: { pair: number; here: ArrayLike<number>; there: ArrayLike<number> }) {
  const hand = (values: ArrayLike<number>, length: number): [number, number] => [values[2 * pair]! * length, -values[2 * pair + 1]! * length];
  const [before, after] = [hand(here, 20), hand(there, 24)];
  const angle = (values: ArrayLike<number>) => Math.atan2(values[2 * pair]!, values[2 * pair + 1]!);
  const turn = (((angle(there) - angle(here)) % (2 * Math.PI)) + 2 * Math.PI) % (2 * Math.PI);
  const [from, to] = [hand(here, 12), hand(there, 12)];
  return (
    <figure class="clock">
      <svg viewBox="-30 -30 60 60" role="img" aria-label={`Pair ${pair + 1}: turns by ${Math.round((turn * 180) / Math.PI)} degrees`}>
        <circle r="27" />
        {turn > 0.01 && <path class="turn" d={`M ${from[0]} ${from[1]} A 12 12 0 ${turn > Math.PI ? 1 : 0} 1 ${to[0]} ${to[1]}`} />}
        <line class="before" x1="0" y1="0" x2={before[0]} y2={before[1]} />
        <line class="after" x1="0" y1="0" x2={after[0]} y2={after[1]} />
      </svg>
      <figcaption>dim {2 * pair}, {2 * pair + 1}</figcaption>
    </figure>
  );
}

export function Clocks({ here, there, width }: { here: ArrayLike<number>; there: ArrayLike<number>; width: number }) {
  return <div class="clocks">{pairsOf(width).map((pair) => <Clock key={pair} pair={pair} here={here} there={there} />)}</div>;
}
