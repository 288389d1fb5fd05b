// The model's own figure, from the parts of its program: towers of blocks, or layers unrolled in time. It is the navigation.

import { computed } from "@preact/signals";
import type { Place } from "../state/anatomy";
import { placeOf } from "../state/anatomy";
import { select, selection, type View } from "../state/selection";
import { attention, attentions, header, places, program, whatIf } from "../state/store";
import { T } from "../state/strings";

interface Box {
  place: Place;
  name: string;
  x: number;
  y: number;
  width: number;
  height: number;
}

interface Figure {
  width: number;
  height: number;
  boxes: Box[];
  lines: [number, number, number, number][];
  names: { text: string; x: number; y: number; width: number; kind: "stackname" | "blockno" }[];
}

const WIDTH = 222;

/** The name of a place as the figure writes it. */
export function nameOf(place: { what: string; stack: string }): string {
  const verb = header.value?.task.head;
  const names = T.rail.names;
  if (place.what === "output" && verb === "class") return T.rail.classes;
  if (place.what === "output" && verb === "vector") return T.rail.vector;
  if (place.what === "output" && verb === "number") return T.rail.number;
  if (place.what === "output" && verb === "words") return T.rail.word;
  if (place.what === "output" && verb === "tokens") return T.rail.labels;
  if (place.what === "output" && verb === "span") return T.rail.span;
  if (place.what === "inputs" && Object.values(program.value?.sequences ?? {})[0] === "image" && place.stack !== "decoder") return T.rail.image;
  if (place.what === "cross_attention" && Object.values(program.value?.sequences ?? {})[0] === "image") return T.rail.readsImage;
  return names[place.what] ?? place.what.replaceAll("_", " ");
}

/** Where a place leads: the view that shows what happens there. */
export function target(place: Place, now: View): Parameters<typeof select>[0] {
  const read = attentions.value.find((one) => one.id === place.id);
  const common = { stack: place.stack, layer: place.layer ?? selection.value.layer };
  if (read) return { ...common, kind: read.kind, layer: read.layer, tap: "", view: now === "heads" ? now : "head" };
  const views: Record<string, View> = { inputs: "pieces", output: "choice" };
  const tap = place.steps.at(-1)?.name ?? "";
  return { stack: place.stack, layer: common.layer, tap, row: selection.value.query, column: 0, view: views[place.what] ?? "stream" };
}

/** The places of one stack in rows from the bottom up: a block may be one row of narrow boxes where there are many. */
function tower(all: Place[], left: number, width: number, figure: Figure, bottom: number, name: string): Map<string, number> {
  const blocks = [...new Set(all.map((place) => place.layer).filter((layer) => layer !== null))];
  const tight = blocks.length > 4;
  const height = 26;
  const middles = new Map<string, number>();
  let y = bottom - height;
  const middle = left + width / 2;
  const put = (place: Place, x: number, wide: number): void => {
    figure.boxes.push({ place, name: nameOf(place), x, y, width: wide, height });
    if (/recurrent|forwards|backwards/.test(place.what)) figure.lines.push([x - 8, y + height / 2, x, y + height / 2], [x + wide, y + height / 2, x + wide + 8, y + height / 2]);
    middles.set(place.id, y + height / 2);
  };
  let layer: number | null = null;
  for (let i = 0; i < all.length; i++) {
    const place = all[i]!;
    if (place.layer !== layer) y -= tight ? 4 : 8;
    layer = place.layer;
    if (!tight || layer === null) { put(place, left, width); y -= height + 2; continue; }
    const together = all.filter((other) => other.layer === layer);
    const wide = (width - 16) / together.length;
    figure.names.push({ text: String(layer + 1), x: left, y: y + 7, width: 14, kind: "blockno" });
    together.forEach((one, at) => put(one, left + 16 + at * wide, wide - 2));
    i += together.length - 1;
    y -= height;
  }
  figure.lines.unshift([middle, y + height + 2, middle, bottom]);
  figure.names.push({ text: T.rail.stack(name, blocks.length), x: left, y: bottom + 4, width, kind: "stackname" });
  return middles;
}

function towerHeight(all: Place[]): number {
  const blocks = new Set(all.map((place) => place.layer)).size;
  const tight = blocks > 5;
  const rows = tight ? all.filter((place) => place.layer === null).length + blocks : all.length;
  return rows * 28 + blocks * 8 + 8;
}

/** Arrows from the encoder's last place to every place of the decoder that reads it. */
function reading(figure: Figure, left: Map<string, number>, right: Map<string, number>, leftEnd: number, rightStart: number): void {
  const top = Math.min(...left.values());
  const readers = [...right].filter(([id]) => placeOf(id).what.includes("cross"));
  const first = [...right].filter(([id]) => placeOf(id).what.includes("recurrent")).slice(0, 1);
  for (const [, y] of readers.length ? readers : first) figure.lines.push([leftEnd, top, rightStart, y]);
}

function figureOf(all: Place[]): Figure {
  const stacks = [...new Set(all.map((place) => place.stack))].filter((stack) => stack !== "");
  const last = all.filter((place) => place.stack === "");
  const figure: Figure = { width: WIDTH, height: 0, boxes: [], lines: [], names: [] };
  if (stacks.length < 2) {
    figure.height = towerHeight(all) + 24;
    tower(all, 30, WIDTH - 60, figure, figure.height - 22, stacks[0] ?? program.value?.kind ?? "");
    return figure;
  }
  const [one, two] = stacks.map((stack) => all.filter((place) => place.stack === stack)) as [Place[], Place[]];
  const second = [...two, ...last];
  figure.height = Math.max(towerHeight(one), towerHeight(second)) + 24;
  const wide = (WIDTH - 22) / 2;
  const lefts = tower(one, 0, wide, figure, figure.height - 22, stacks[0]!);
  const rights = tower(second, wide + 22, wide, figure, figure.height - 22, stacks[1]!);
  reading(figure, lefts, rights, wide, wide + 22);
  return figure;
}

const figure = computed(() => figureOf(places.value));

/** The place that the selection is in. */
export const here = computed(() => {
  const chosen = selection.value;
  if (chosen.view === "pieces") {
    const inputs = places.value.filter((place) => place.what === "inputs");
    return (inputs.find((place) => place.steps.some((one) => one.name === chosen.tap)) ?? inputs[0])?.id;
  }
  if (chosen.view === "choice") return places.value.find((place) => place.what === "output")?.id;
  const step = chosen.tap ? places.value.find((place) => place.steps.some((one) => one.name === chosen.tap)) : undefined;
  return step?.id ?? attention.value?.id;
});

const patched = computed(() => {
  const changedSteps = new Set(whatIf.value.patches.map((patch) => patch.step));
  return new Set(places.value.filter((place) => place.steps.some((step) => changedSteps.has(step.name))).map((place) => place.id));
});

/** A place in words: "decoder, block 2, reads the encoder". */
export function placeInWords(place: Place): string {
  const block = place.layer === null ? [] : [T.rail.block(place.layer + 1)];
  return [...(place.stack ? [place.stack] : []), ...block, nameOf(place)].join(", ");
}

function BoxOf({ box }: { box: Box }) {
  const { place } = box;
  const name = box.width < 60 ? box.name.slice(0, Math.max(1, Math.floor(box.width / 8))) : box.name;
  return (
    <button
      type="button" class={patched.value.has(place.id) ? "patched" : undefined} aria-current={here.value === place.id ? "true" : undefined}
      style={{ left: `${box.x}px`, top: `${box.y}px`, width: `${box.width}px`, height: `${box.height}px` }}
      aria-label={placeInWords(place)} title={placeInWords(place)} onClick={() => select(target(place, selection.peek().view))}
    >{name}</button>
  );
}

export function Rail() {
  const drawn = figure.value;
  return (
    <nav class="rail" aria-label={T.figure} style={{ width: `${drawn.width}px`, height: `${drawn.height}px` }}>
      <svg aria-hidden="true" width={drawn.width} height={drawn.height}>
        {drawn.lines.map(([x1, y1, x2, y2], i) => <line key={i} x1={x1} y1={y1} x2={x2} y2={y2} />)}
      </svg>
      {drawn.names.map((name) => <span class={name.kind} key={`${name.x} ${name.y}`} aria-hidden="true" style={{ left: `${name.x}px`, top: `${name.y}px`, width: `${name.width}px` }}>{name.text}</span>)}
      {drawn.boxes.map((box) => <BoxOf box={box} key={box.place.id} />)}
    </nav>
  );
}
