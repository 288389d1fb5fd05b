// The colours that canvases draw with: read from the style sheet, and again whenever the theme changes.

import { signal } from "@preact/signals";

export type Rgb = readonly [number, number, number];

/** 256 colours from none to full, and for each the colour of text that can be read on it. */
export interface Scale {
  rgb: Uint8Array; // 256 * 3
  css: string[];
  text: string[];
}

export interface Palette {
  share: Scale;
  plus: Scale;
  minus: Scale;
  paper: string;
  ink: string;
  soft: string;
  line: string;
  pick: string;
  hatch: string;
  cell: string;
}

const BLACK: Rgb = [0, 0, 0]; // pure: with any other, no text reaches 4.5:1 on some colours
const WHITE: Rgb = [255, 255, 255];

export function parseColour(text: string): Rgb {
  const hex = text.trim().replace("#", "");
  const wide = hex.length === 3 ? [...hex].map((digit) => digit + digit).join("") : hex;
  const number = Number.parseInt(wide, 16);
  return [(number >> 16) & 255, (number >> 8) & 255, number & 255];
}

function linear(channel: number): number {
  const share = channel / 255;
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
}

/** Relative luminance (WCAG 2.2). */
export function luminance([red, green, blue]: Rgb): number {
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
}

export function contrast(one: Rgb, other: Rgb): number {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

function mixed(from: Rgb, to: Rgb, share: number): Rgb {
  return [0, 1, 2].map((i) => Math.round(from[i]! + (to[i]! - from[i]!) * share)) as unknown as Rgb;
}

function hex(colour: Rgb): string {
  return "#" + colour.map((channel) => channel.toString(16).padStart(2, "0")).join("");
}

/** From `none` over `middle` to `full`; text is black or white, whichever has the greater contrast. */
export function scaleOf(none: Rgb, middle: Rgb, full: Rgb): Scale {
  const scale: Scale = { rgb: new Uint8Array(768), css: [], text: [] };
  for (let i = 0; i < 256; i++) {
    const share = i / 255;
    const colour = share < 0.5 ? mixed(none, middle, share * 2) : mixed(middle, full, share * 2 - 1);
    scale.rgb.set(colour, i * 3);
    scale.css.push(hex(colour));
    scale.text.push(contrast(colour, BLACK) >= contrast(colour, WHITE) ? hex(BLACK) : hex(WHITE));
  }
  return scale;
}

export function readPalette(): Palette {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string): Rgb => parseColour(style.getPropertyValue(name));
  const css = (name: string): string => style.getPropertyValue(name).trim();
  const cell = colour("--cell");
  return {
    share: scaleOf(cell, colour("--share-mid"), colour("--share")),
    plus: scaleOf(cell, colour("--plus-mid"), colour("--plus")),
    minus: scaleOf(cell, colour("--minus-mid"), colour("--minus")),
    paper: css("--paper"), ink: css("--ink"), soft: css("--soft"), line: css("--line"),
    pick: css("--pick"), hatch: css("--hatch"), cell: css("--cell"),
  };
}

export const palette = signal<Palette | null>(null);

/** Reads the colours now and at every change of the theme, also for the printer. */
export function followTheme(): void {
  const read = (): void => { palette.value = readPalette(); };
  read();
  for (const query of ["(prefers-color-scheme: dark)", "print"]) window.matchMedia(query).addEventListener("change", read);
}
