// A page's data from a fixture: what Python would have written of this tiny model.

import { gzipSync } from "node:zlib";
import { Chunks } from "../src/engine/chunks";
import type { ArrayRef, Decoding, Header, Proof, TextRef, TokenizerInfo, TraceRecord } from "../src/engine/header";
import type { Tensor } from "../src/engine/tensor";
import { opTexts, type Fixture } from "./fixtures";

const CHUNK = 4096; // small, so that arrays continue in further chunks

/** Packs arrays and texts one after another. */
export class Packer {
  private bytes: number[] = [];

  array(x: Tensor, dtype: ArrayRef["dtype"] = "f32"): ArrayRef {
    const at = this.bytes.length;
    const data = dtype === "i32" ? Int32Array.from(x.data) : dtype === "f16" ? Uint16Array.from(x.data, toHalf) : x.data.slice();
    this.push(new Uint8Array(data.buffer));
    return { chunk: Math.floor(at / CHUNK), offset: at % CHUNK, shape: x.shape, dtype };
  }

  text(text: string): TextRef {
    const at = this.bytes.length;
    const bytes = new TextEncoder().encode(text);
    this.push(bytes);
    return { chunk: Math.floor(at / CHUNK), offset: at % CHUNK, length: bytes.length };
  }

  private push(bytes: Uint8Array): void {
    for (const byte of bytes) this.bytes.push(byte);
    while (this.bytes.length % 4) this.bytes.push(0);
  }

  async chunks(): Promise<Chunks> {
    const texts: string[] = [];
    for (let at = 0; at < this.bytes.length; at += CHUNK) {
      texts.push(gzipSync(Uint8Array.from(this.bytes.slice(at, at + CHUNK))).toString("base64"));
    }
    const chunks = new Chunks(texts.length, (chunk) => texts[chunk]!);
    await chunks.loadAll();
    return chunks;
  }
}

/** The 16 bits of a number that 16 bits can hold. */
export function toHalf(value: number): number {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const size = Math.abs(value);
  if (size === 0) return sign;
  if (size === Infinity) return sign | 0x7c00;
  const exponent = Math.max(-14, Math.floor(Math.log2(size)));
  const fraction = Math.round((size / 2 ** exponent) * 1024);
  return size < 2 ** -14 ? sign | Math.round(size * 2 ** 24) : sign | (((exponent + 15) << 10) + fraction - 1024);
}

export function proofOf(x: Tensor): Proof {
  const finite = [...x.data].filter(Number.isFinite);
  const count = Math.min(64, x.data.length);
  const at = Array.from({ length: count }, (_, i) => Math.floor((i * x.data.length) / count));
  return {
    max: finite.reduce((a, b) => Math.max(a, Math.abs(b)), 0),
    sum: finite.reduce((a, b) => a + b, 0),
    at,
    values: at.map((place) => (Number.isFinite(x.data[place]!) ? x.data[place]! : null)),
  };
}

export interface Wanted {
  tier?: Header["tier"];
  weights?: (name: string) => boolean; // those in the file
  stored?: (step: string, tapped: boolean) => boolean; // recorded steps
  tokenizers?: Record<string, { file: object; shown: string[] } & Omit<Partial<TokenizerInfo>, "file" | "shown">>;
  decoding?: Decoding;
  head?: Header["task"]["head"];
}

export async function pageOf(one: Fixture, wanted: Wanted = {}): Promise<{ header: Header; chunks: Chunks }> {
  const packer = new Packer();
  const inFile = wanted.weights ?? (() => true);
  const isStored = wanted.stored ?? ((_, tapped) => tapped);
  const weights: Header["weights"] = {};
  for (const [name, value] of Object.entries(one.weights)) if (inFile(name)) weights[name] = packer.array(value);
  const values: TraceRecord["values"] = {};
  const proof: TraceRecord["proof"] = {};
  for (const { name, tapped } of one.program.steps) {
    if (isStored(name, tapped)) values[name] = packer.array(one.values[name]!);
    proof[name] = proofOf(one.values[name]!);
  }
  const tokenizers: Header["tokenizers"] = {};
  for (const [name, { file, shown, ...info }] of Object.entries(wanted.tokenizers ?? {})) {
    const texts = { file: packer.text(JSON.stringify(file)), shown: packer.text(JSON.stringify(shown)) };
    tokenizers[name] = { before: [], after: [], probes: [], typed: true, ...texts, ...info };
  }
  const ids: Record<string, number[]> = {};
  for (const [name, kind] of Object.entries(one.program.sequences)) if (kind !== "image") ids[name] = [...one.inputs[name]!.data];
  const pieces = Object.fromEntries(Object.entries(ids).map(([name, own]) => [name, own.map((id) => `p${id}`)]));
  const words = Object.fromEntries(Object.entries(ids).map(([name, own]) => [name, own.map((_, i) => i)]));
  const trace: TraceRecord = { text: "recorded", answer: "answer", ids, pieces, words, values, proof };
  if (one.inputs["image"]) trace.image = packer.array(one.inputs["image"]);
  const header: Header = {
    format: 1,
    title: one.name,
    kind: one.program.kind,
    tier: wanted.tier ?? "live",
    precision: "float32",
    settings: {},
    program: one.program,
    ops: opTexts(),
    weights,
    task: { verb: "translate", head: wanted.head ?? "next" },
    tokenizers,
    ...(wanted.decoding && { decoding: wanted.decoding }),
    traces: [trace],
    left_out: [],
    provenance: {},
  };
  return { header, chunks: await packer.chunks() };
}
