// What one row of a pattern reads, drawn over the image whose patches are its keys.

import type { ReadonlySignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { grid, type Grid } from "../state/image";
import { T } from "../state/strings";
import { Canvas, type Drawing } from "./canvas";

let drawn: { of: Grid; canvas: HTMLCanvasElement } | null = null;

/** The image as it is: its values from the smallest to the largest become dark to light. */
export function imageOf(found: Grid): HTMLCanvasElement {
  if (drawn?.of === found) return drawn.canvas;
  const { image, width, height } = found;
  const [channels, rows, columns] = image.shape as [number, number, number];
  let [low, high] = [Infinity, -Infinity];
  for (const value of image.data) { low = Math.min(low, value); high = Math.max(high, value); }
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width, height];
  const picture = new ImageData(width, height);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      for (let c = 0; c < 3; c++) {
        const value = image.data[Math.min(c, channels - 1) * rows * columns + y * columns + x]!;
        picture.data[(y * width + x) * 4 + c] = Math.round((255 * (value - low)) / (high - low || 1));
      }
      picture.data[(y * width + x) * 4 + 3] = 255;
    }
  }
  canvas.getContext("2d")!.putImageData(picture, 0, 0);
  drawn = { of: found, canvas };
  return canvas;
}

/** Shares of the patches, row by row. */
export type Shares = ReadonlySignal<ArrayLike<number>>;

/** The image, bright where much is read. */
export function overlay(pen: CanvasRenderingContext2D, width: number, height: number, found: Grid, shares: ArrayLike<number>): void {
  pen.imageSmoothingEnabled = false;
  pen.drawImage(imageOf(found), 0, 0, width, height);
  let top = 0;
  for (let i = 0; i < shares.length; i++) top = Math.max(top, shares[i]!);
  const [w, h] = [width / found.across, height / found.down];
  for (let i = 0; i < found.down * found.across; i++) {
    const dim = 0.82 * (1 - (shares[i] ?? 0) / (top || 1));
    pen.fillStyle = `rgb(12 16 20 / ${dim.toFixed(3)})`;
    pen.fillRect((i % found.across) * w, Math.floor(i / found.across) * h, w + 0.5, h + 0.5);
  }
}

interface Props {
  shares: Shares;
  picked: ReadonlySignal<number>; // the selected patch; -1: none
  onPick(patch: number): void;
  label: string;
}

export function Overlay({ shares, picked, onPick, label }: Props) {
  const found = grid.value;
  const draw = useMemo((): Drawing => (pen, width, height, colours) => {
    const now = grid.value;
    if (!now) return;
    overlay(pen, width, height, now, shares.value);
    if (picked.value < 0) return;
    const [w, h] = [width / now.across, height / now.down];
    pen.strokeStyle = colours.pick;
    pen.lineWidth = 2.5;
    pen.strokeRect((picked.value % now.across) * w + 1.25, Math.floor(picked.value / now.across) * h + 1.25, w - 2.5, h - 2.5);
  }, [shares, picked]);
  if (!found) return null;
  const move = (event: KeyboardEvent): void => {
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -found.across, ArrowDown: found.across }[event.key];
    const next = picked.peek() + (by ?? 0);
    if (by === undefined || next < 0 || next >= found.down * found.across) return;
    event.preventDefault();
    onPick(next);
  };
  const click = (event: MouseEvent): void => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const part = (at: number, size: number, count: number): number => Math.max(0, Math.min(count - 1, Math.floor((at / size) * count)));
    onPick(part(event.clientY - box.top, box.height, found.down) * found.across + part(event.clientX - box.left, box.width, found.across));
  };
  return (
    <div
      class="overlay" style={{ aspectRatio: `${found.width} / ${found.height}` }} tabIndex={0} role="application" aria-roledescription="image"
      aria-label={`${label}. ${T.heads.overlayLabel(found.across, found.down)}. ${T.matrix.keys}`} onKeyDown={move} onClick={click}
    ><Canvas draw={draw} /></div>
  );
}
