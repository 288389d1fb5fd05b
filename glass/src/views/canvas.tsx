// One canvas: sharp on every screen, drawn again when a signal that the drawing reads changes, or its size.

import { effect, signal, type Signal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { palette, type Palette } from "./palette";

export type Drawing = (context: CanvasRenderingContext2D, width: number, height: number, colours: Palette) => void;

const printing = window.matchMedia("print");

/** Prepares the canvas for the pixels of the screen and draws in CSS pixels. */
export function paint(canvas: HTMLCanvasElement, draw: Drawing, width: number, height: number): void {
  const colours = palette.value;
  const context = canvas.getContext("2d");
  if (!colours || !context || width <= 0 || height <= 0) return;
  const density = window.devicePixelRatio || 1;
  const [across, down] = [Math.round(width * density), Math.round(height * density)];
  if (canvas.width !== across) canvas.width = across;
  if (canvas.height !== down) canvas.height = down;
  context.setTransform(across / width, 0, 0, down / height, 0, 0);
  context.clearRect(0, 0, width, height);
  draw(context, width, height, colours);
}

interface CanvasProps {
  draw: Drawing; // reads signals: it runs again when they change
  over?: Drawing; // on a second canvas above it: what changes more often
  label?: string; // for readers who cannot see it; without one the canvas is decoration
}

/** A canvas that fills its box. Printed, what is over it is drawn into it: on paper an empty canvas is white. */
export function Canvas({ draw, over, label }: CanvasProps) {
  const both = useMemo<Drawing>(() => (pen, width, height, colours) => {
    draw(pen, width, height, colours);
    if (printing.matches) over?.(pen, width, height, colours);
  }, [draw, over]);
  return <><OneCanvas draw={both} label={label} />{over && <OneCanvas draw={over} above />}</>;
}

function OneCanvas({ draw, label, above }: { draw: Drawing; label?: string | undefined; above?: boolean }) {
  const ref = useRef<HTMLCanvasElement>(null);
  const size = useRef(signal("")).current;
  useEffect(() => {
    const canvas = ref.current!;
    const watch = new ResizeObserver(() => { size.value = `${canvas.clientWidth} ${canvas.clientHeight}`; });
    watch.observe(canvas);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    const canvas = ref.current!;
    return effect(() => { if (size.value && canvas.isConnected) paint(canvas, draw, canvas.clientWidth, canvas.clientHeight); });
  }, [draw]);
  return label ? <canvas ref={ref} role="img" aria-label={label} /> : <canvas ref={ref} class={above ? "above" : undefined} aria-hidden="true" />;
}

const phone = window.matchMedia("(max-width: 700px)");

/** Whether the page has one column. */
export const narrow = signal(phone.matches);
phone.addEventListener("change", () => { narrow.value = phone.matches; });

/** The width in CSS pixels of the element that the ref is on. */
export function useWidth(): { ref: { current: HTMLDivElement | null }; width: Signal<number> } {
  const ref = useRef<HTMLDivElement>(null);
  const width = useRef(signal(0)).current;
  useEffect(() => {
    const element = ref.current!;
    const read = (): void => { width.value = element.clientWidth; };
    const watch = new ResizeObserver(read);
    watch.observe(element);
    read();
    return () => watch.disconnect();
  }, []);
  return { ref, width };
}
