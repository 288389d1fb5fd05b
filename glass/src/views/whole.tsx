// View 1: what is this machine? The model's own figure; on every arrow the actual row of the piece that is followed.

import { computed, signal, type Signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { countText, figureOf, inOrder, sizesOf, type Box, type Figure, type Tower } from "../analysis/figure";
import { rowOf } from "../analysis/boxes";
import type { Run } from "../engine/header";
import { spoken } from "../state/labels";
import { select, selection } from "../state/selection";
import { header, isOutputRow, places, program, run, showing, tensorShown } from "../state/store";
import { T } from "../state/strings";
import { useWidth } from "./canvas";
import { cellsOf, EMPTY, largest, type Cells } from "./cells";
import { BoxCaption, topCandidates } from "./boxcaption";
import { layoutOf, type Layout, type Placed } from "./figurelayout";
import { percent } from "./format";
import { nameOf, target } from "./rail";
import { Strip } from "./strip";
import { Piece } from "./tokens";

export const figure = computed<Figure | null>(() => {
  const about = header.value;
  return about ? figureOf(about.program, sizesOf(about)) : null;
});

/** How many rows a tower has in this run, and what they are called. */
export function namesOf(tower: Tower, of: Run): string[] {
  const known = of.pieces[tower.sequence];
  if (known?.length) return known;
  const value = of.pass.values(tower.boxes[0]!.result.name);
  return Array.from({ length: value.shape[0] ?? 1 }, (_, i) => String(i + 1));
}

/** Whether the selected row of a tower is the one that reads or the one that is read. */
function isLast(tower: Tower): boolean {
  return figure.value?.towers.at(-1) === tower;
}

/** The piece of a tower that is followed. */
export function rowIn(tower: Tower, of: Run): number {
  const at = isLast(tower) ? selection.value.query : selection.value.key;
  return Math.max(0, Math.min(namesOf(tower, of).length - 1, at));
}

interface Player {
  now: Signal<number>; // the last box that has run; all of them: the number of boxes - 1
  playing: Signal<boolean>;
  order: Box[];
}

const STILL = window.matchMedia("(prefers-reduced-motion: reduce)");

function usePlayer(drawn: Figure): Player {
  const player = useMemo(() => {
    const order = inOrder(drawn, program.peek()!);
    return { now: signal(order.length - 1), playing: signal(false), order };
  }, [drawn]);
  useEffect(() => () => { player.playing.value = false; }, [player]);
  return player;
}

function Controls({ player }: { player: Player }) {
  const { now, playing, order } = player;
  const last = order.length - 1;
  const tick = (): void => {
    if (!playing.peek()) return;
    now.value = Math.min(last, now.peek() + 1);
    if (now.peek() >= last) playing.value = false;
    else setTimeout(tick, 900);
  };
  const play = (): void => {
    playing.value = !playing.peek();
    if (!playing.peek()) return;
    now.value = -1;
    setTimeout(tick, 300);
  };
  const step = (by: number) => (): void => { playing.value = false; now.value = by > 0 && now.peek() === last ? 0 : Math.max(0, Math.min(last, now.peek() + by)); };
  return (
    <div class="controls">
      <button type="button" disabled={now.value <= 0} onClick={step(-1)}>{T.whole.back}</button>
      <button type="button" onClick={step(1)}>{now.value === last ? T.whole.start : T.whole.step}</button>
      {!STILL.matches && <button type="button" onClick={play}>{playing.value ? T.whole.stop : T.whole.play}</button>}
      <span class="note">{T.whole.at(now.value + 1, order.length)}</span>
    </div>
  );
}

/** The row of the followed piece as it leaves a box. */
function Arrow({ box, tower, of, placed }: { box: Box; tower: Tower; of: Run; placed: Placed }) {
  const row = rowIn(tower, of);
  const cells = useMemo(() => computed<Cells | null>(() => {
    const now = run.value; // not `of`: the strip is drawn again before this component is, and another run may have fewer rows
    const shown = now && tensorShown(box.result.name);
    const part = shown && rowOf(shown, rowIn(tower, now), namesOf(tower, now).length);
    return part ? cellsOf({ data: part, shape: [1, part.length], signed: true }, [], largest(part) * 0.6) : null;
  }), [box, tower]);
  const data = cells.value;
  const there = useMemo(() => computed(() => cells.value ?? EMPTY), [cells]);
  if (!data || box.result.axes.at(-1) === "vocabulary") return null;
  return (
    <div class="arrowstrip" style={{ left: `${placed.x}px`, top: `${placed.y - 22}px`, width: `${placed.width}px` }}>
      <Strip cells={there} title={`${nameOf(box)}, ${spoken(namesOf(tower, of)[row] ?? "")}`} wide={(placed.width - 24) / data.columns} tall={12} />
    </div>
  );
}

function shapeText(box: Box, of: Run): string {
  const { shape } = of.pass.values(box.result.name);
  return shape.map((size) => size.toLocaleString("en-US")).join(" × ");
}

function BoxOf({ placed, of, player }: { placed: Placed; of: Run; player: Player }) {
  const { box } = placed;
  const at = player.order.indexOf(box);
  const state = at === player.now.value ? "now" : at < player.now.value ? "done" : "later";
  const parameters = box.parameters === null ? "" : box.parameters ? countText(box.parameters) : box.shared ? T.whole.shared : "";
  const go = (): void => {
    const place = places.value.find((one) => one.id === box.part);
    if (place) select(target(place, "whole"));
  };
  const title = `${nameOf(box)}. ${parameters ? T.whole.parameters(parameters) : T.whole.none}. ${T.whole.open}`;
  return (
    <button
      type="button" class={`box ${state}`} style={{ left: `${placed.x}px`, top: `${placed.y}px`, width: `${placed.width}px`, height: `${placed.height}px` }}
      title={title} onClick={go}
    >
      <b>{nameOf(box)}</b>
      <small><span>{shapeText(box, of)}</span>{parameters && <span>{parameters}</span>}</small>
    </button>
  );
}

/** What the model says at the followed row: its best candidates. */
function Says({ layout, of, tower }: { layout: Layout; of: Run; tower: Tower }) {
  const best = topCandidates(of, tower, rowIn(tower, of), 3);
  const top = layout.boxes.filter((placed) => placed.tower === tower).reduce((first, placed) => (placed.y < first.y ? placed : first));
  if (!best.length) return null;
  return (
    <ol class="says" style={{ left: `${top.x}px`, top: "0px", width: `${top.width}px` }}>
      {best.map(({ name, share }) => <li key={name}><Piece text={name} /> <i><i style={{ width: `${share * 100}%` }} /></i><span>{percent(share)}</span></li>)}
    </ol>
  );
}

function Feet({ layout, of }: { layout: Layout; of: Run }) {
  return (
    <div class="feet" style={{ width: `${layout.width}px`, gridTemplateColumns: layout.columns.map((width) => `${width}px`).join(" "), columnGap: `${layout.gap}px` }}>
      {figure.value!.towers.map((tower) => {
        const now = rowIn(tower, of);
        const choose = (row: number): void => select(isLast(tower) ? { query: row, ...(isOutputRow(tower.boxes.at(-1)!.result) ? { step: row } : {}) } : { key: row });
        return (
          <div key={tower.name} role="group" aria-label={`${T.whole.piece}, ${tower.name}`}>
            {namesOf(tower, of).map((name, row) => <button type="button" key={row} class="foot" aria-pressed={row === now} aria-label={T.whole.follow(spoken(name))} onClick={() => choose(row)}><Piece text={name} /></button>)}
          </div>
        );
      })}
    </div>
  );
}

function Lines({ layout }: { layout: Layout }) {
  return (
    <svg aria-hidden="true" width={layout.width} height={layout.height}>
      <defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0.5 7.5 4 0 7.5z" /></marker></defs>
      {layout.lines.map((points, i) => <path key={i} d={`M${points.map(([x, y]) => `${x} ${y}`).join("L")}`} marker-end="url(#tip)" />)}
    </svg>
  );
}

function Machine({ drawn, of, player }: { drawn: Figure; of: Run; player: Player }) {
  const { ref, width } = useWidth();
  const open = useMemo(() => signal(false), [drawn]);
  const layout = layoutOf(drawn, width.value, open.value);
  const last = drawn.towers.at(-1)!;
  return (
    <div ref={ref} class="machine">
      {width.value > 0 && (
        <>
          <div class="towers" style={{ width: `${layout.width}px`, height: `${layout.height}px` }}>
            <Lines layout={layout} />
            {player.now.value === player.order.length - 1 && <Says layout={layout} of={of} tower={last} />}
            {layout.boxes.map((placed) => player.order.indexOf(placed.box) <= player.now.value && <Arrow key={`s ${placed.box.part}`} box={placed.box} tower={placed.tower} of={of} placed={placed} />)}
            {layout.boxes.map((placed) => <BoxOf key={placed.box.part} placed={placed} of={of} player={player} />)}
            {layout.folds.map((fold) => <button type="button" key={`${fold.x}`} class="fold plain" style={{ left: `${fold.x}px`, top: `${fold.y}px`, width: `${fold.width}px` }} onClick={() => { open.value = true; }}>{T.whole.more(fold.count)}</button>)}
          </div>
          <Feet layout={layout} of={of} />
          {open.value && <button type="button" class="plain" onClick={() => { open.value = false; }}>{T.whole.fold}</button>}
        </>
      )}
    </div>
  );
}

export function Whole() {
  const [drawn, of, about] = [figure.value, run.value, header.value];
  if (!drawn || !of || !about) return null;
  return <Inside drawn={drawn} of={of} kind={about.kind} />;
}

function Inside({ drawn, of, kind }: { drawn: Figure; of: Run; kind: string }) {
  const player = usePlayer(drawn);
  const boxes = player.order.length;
  return (
    <>
      <h2>{T.whole.title(T.whole.kinds[kind] ?? T.whole.other)}</h2>
      <p class="lead">{showing.value === "B-A" ? T.whole.difference : T.whole.lead(drawn.parameters === null ? "" : drawn.parameters.toLocaleString("en-US"), boxes)}</p>
      <Controls player={player} />
      <BoxCaption box={player.order[player.now.value] ?? null} figure={drawn} of={of} />
      <Machine drawn={drawn} of={of} player={player} />
    </>
  );
}

