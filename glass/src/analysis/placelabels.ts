// Where the names of points go in a chart, so that they cover no point and no other name.

export interface Label {
  x: number;
  y: number; // of the baseline
  anchor: "start" | "middle" | "end";
}

interface Point {
  key: string;
  x: number;
  y: number;
}

interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

const LETTER = 6.1; // mean width of a letter at 11.5 px
const RADIUS = 6; // of a point

function boxOf({ x, y, anchor }: Label, text: string): Box {
  const wide = text.length * LETTER;
  const left = anchor === "start" ? x : anchor === "end" ? x - wide : x - wide / 2;
  return { left, right: left + wide, top: y - 10, bottom: y + 3 };
}

function meet(one: Box, other: Box): boolean {
  return one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
}

/** The nearest free place of each name; names that find none are left out. The first names choose first. */
export function placeLabels(names: readonly (Point & { text: string })[], points: readonly Point[], within: Box): Map<string, Label> {
  const dots = points.map(({ key, x, y }) => ({ key, left: x - RADIUS, right: x + RADIUS, top: y - RADIUS, bottom: y + RADIUS }));
  const taken: Box[] = [];
  const found = new Map<string, Label>();
  for (const { key, x, y, text } of names) {
    const around: Label[] = [0, -14, 14, -28, 28].flatMap((by): Label[] => [
      { x: x + 8, y: y + 4 + by, anchor: "start" }, { x: x - 8, y: y + 4 + by, anchor: "end" }, ...(by ? [{ x, y: y + 4 + by, anchor: "middle" as const }] : []),
    ]);
    const free = around.find((label) => {
      const box = boxOf(label, text);
      const inside = box.left >= within.left && box.right <= within.right && box.top >= within.top && box.bottom <= within.bottom;
      return inside && !taken.some((other) => meet(box, other)) && !dots.some((dot) => meet(box, dot));
    });
    if (!free) continue;
    taken.push(boxOf(free, text));
    found.set(key, free);
  }
  return found;
}
