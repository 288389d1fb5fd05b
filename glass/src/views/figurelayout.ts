// Where the boxes and arrows of the figure are, in CSS pixels.

import type { Box, Figure, Tower } from "../analysis/figure";

export interface Placed {
  box: Box;
  tower: Tower;
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Fold {
  x: number;
  y: number;
  width: number;
  count: number; // of blocks that are not drawn
}

export type Line = [number, number][];

export interface Layout {
  width: number;
  height: number;
  columns: number[]; // widths of the towers
  gap: number;
  boxes: Placed[];
  folds: Fold[];
  lines: Line[];
}

const BOX = 44;
const ARROW = 30; // between two boxes, with its strip
const FOLD = 30;
const HEAD = 78; // above the highest box: what the model says
const MOST = 4; // blocks; where a tower has more, those between the first and the last are folded

type Item = { box: Box } | { fold: number };

/** Boxes from the bottom up; the middle blocks of a high tower are one line. */
function itemsOf(tower: Tower, open: boolean): Item[] {
  const blocks = [...new Set(tower.boxes.map((box) => box.layer).filter((layer) => layer !== null))];
  if (open || blocks.length <= MOST) return tower.boxes.map((box) => ({ box }));
  const [first, last] = [blocks[0]!, blocks.at(-1)!];
  const items: Item[] = [];
  for (const box of tower.boxes) {
    if (box.layer === null || box.layer === first || box.layer === last) items.push({ box });
    else if (!items.some((item) => "fold" in item)) items.push({ fold: blocks.length - 2 });
  }
  return items;
}

function heightOf(items: Item[]): number {
  return items.reduce((sum, item) => sum + ARROW + ("box" in item ? BOX : FOLD), 0);
}

function placeTower(layout: Layout, tower: Tower, items: Item[], x: number, width: number): void {
  let bottom = layout.height;
  const middle = x + width / 2;
  for (const item of items) {
    bottom -= ARROW;
    const height = "box" in item ? BOX : FOLD;
    layout.lines.push([[middle, bottom + ARROW], [middle, bottom + 1]]);
    bottom -= height;
    if ("box" in item) layout.boxes.push({ box: item.box, tower, x, y: bottom, width, height });
    else layout.folds.push({ x, y: bottom, width, count: item.fold });
  }
}

/** Arrows from the last box of another tower to the boxes that read its result. */
function placeReading(layout: Layout): void {
  for (const placed of layout.boxes) {
    if (!placed.box.reads) continue;
    const own = layout.boxes.find((other) => other.box.part === placed.box.reads);
    if (!own) continue;
    const y = placed.y + placed.height / 2;
    const [middle, bend, above] = [own.x + own.width / 2, own.x + own.width + layout.gap / 2, own.y - ARROW];
    layout.lines.push([[middle, own.y], [middle, above], [bend, above], [bend, y], [placed.x - 1, y]]);
  }
}

export function layoutOf(figure: Figure, available: number, open: boolean): Layout {
  const count = figure.towers.length;
  const gap = available < 480 ? 20 : 48;
  const width = Math.min(count === 1 ? 420 : 340, Math.floor((available - gap * (count - 1)) / count));
  const items = figure.towers.map((tower) => itemsOf(tower, open));
  const height = Math.max(...items.map(heightOf)) + HEAD;
  const layout: Layout = { width: width * count + gap * (count - 1), height, columns: figure.towers.map(() => width), gap, boxes: [], folds: [], lines: [] };
  figure.towers.forEach((tower, at) => placeTower(layout, tower, items[at]!, at * (width + gap), width));
  placeReading(layout);
  return layout;
}
