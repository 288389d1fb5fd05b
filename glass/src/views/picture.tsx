// A picture as the model sees it: cut into patches, each of them a piece.

import { computed } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { Run } from "../engine/header";
import { grid, type Grid } from "../state/image";
import { T } from "../state/strings";
import { Canvas, type Drawing } from "./canvas";
import { InputRows } from "./inputrows";
import { choosePiece, placeIn } from "./piecechoice";

/** The pixels as colours. Images are normalised in many ways: the smallest number is black, the largest white. */
function pixels({ image }: Grid): ImageData {
  const [channels = 1, high = 1, wide = 1] = image.shape;
  const [low, top] = image.data.reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [Infinity, -Infinity] as [number, number]);
  const data = new ImageData(wide, high);
  for (let at = 0; at < high * wide; at++) {
    for (let channel = 0; channel < 3; channel++) {
      const value = image.data[Math.min(channel, channels - 1) * high * wide + at]!;
      data.data[at * 4 + channel] = top > low ? ((value - low) / (top - low)) * 255 : 0;
    }
    data.data[at * 4 + 3] = 255;
  }
  return data;
}

function drawing(grid: Grid, place: () => number, part: boolean): Drawing {
  const still = document.createElement("canvas");
  const data = pixels(grid);
  [still.width, still.height] = [data.width, data.height];
  still.getContext("2d")!.putImageData(data, 0, 0);
  const { across: columns, down: rows } = grid;
  const [wide, high] = [grid.width / columns, grid.height / rows]; // pixels of a patch
  return (pen, width, height, colours) => {
    pen.imageSmoothingEnabled = false;
    const [row, column] = [Math.floor(place() / columns), place() % columns];
    if (part) { pen.drawImage(still, column * wide, row * high, wide, high, 0, 0, width, height); return; }
    pen.drawImage(still, 0, 0, grid.width, grid.height, 0, 0, width, height);
    const [across, down] = [width / columns, height / rows];
    pen.fillStyle = colours.paper;
    for (let at = 1; at < columns; at++) pen.fillRect(at * across - 0.75, 0, 1.5, height);
    for (let at = 1; at < rows; at++) pen.fillRect(0, at * down - 0.75, width, 1.5);
    pen.strokeStyle = colours.pick;
    pen.lineWidth = 3;
    pen.strokeRect(column * across + 1.5, row * down + 1.5, across - 3, down - 3);
  };
}

function Patches({ grid, of, sequence }: { grid: Grid; of: Run; sequence: string }) {
  const { down: rows, across: columns } = grid;
  const place = useMemo(() => computed(() => placeIn(of, sequence, rows * columns)), [rows, columns, of, sequence]);
  const [whole, part] = useMemo(() => [drawing(grid, () => place.value, false), drawing(grid, () => place.value, true)], [grid, place]);
  const key = (event: KeyboardEvent): void => {
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[event.key];
    if (!by) return;
    event.preventDefault();
    const next = place.peek() + by;
    if (next >= 0 && next < rows * columns) choosePiece(sequence, next);
  };
  const click = (event: MouseEvent): void => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const [x, y] = [Math.floor(((event.clientX - box.left) / box.width) * columns), Math.floor(((event.clientY - box.top) / box.height) * rows)];
    choosePiece(sequence, Math.max(0, Math.min(rows * columns - 1, y * columns + x)));
  };
  const said = T.pieces.picture.label(Math.floor(place.value / columns) + 1, (place.value % columns) + 1);
  return (
    <div class="row picture">
      <div class="image" style={{ aspectRatio: `${grid.width} / ${grid.height}` }} tabIndex={0} role="application" aria-label={`${T.pieces.picture.title} ${said}`} onKeyDown={key} onClick={click}><Canvas draw={whole} /></div>
      <figure><div class="patch"><Canvas draw={part} /></div><figcaption class="note" aria-live="polite">{T.pieces.picture.enlarged}: {said}</figcaption></figure>
    </div>
  );
}

export function Picture({ of, sequence }: { of: Run; sequence: string }) {
  const cut = grid.value;
  if (!cut) return <p class="lead">{T.pieces.picture.recorded}</p>;
  const { down, across, width, height, image } = cut;
  const place = placeIn(of, sequence, down * across);
  const pixels = (width / across) * (height / down) * (image.shape[0] ?? 1);
  return (
    <>
      <p class="lead">{T.pieces.picture.lead(down, across, `${width / across} × ${height / down}`, pixels)}</p>
      <Patches grid={cut} of={of} sequence={sequence} />
      <InputRows sequence={sequence} place={place} piece={T.pieces.picture.label(Math.floor(place / across) + 1, (place % across) + 1)} />
    </>
  );
}
